//! Carries effects over to another conversation with the same history. On another wire one message may be several, so
//! every block is looked up by what it says; a block that is not found there is not touched.

use super::effect::{BlockRef, PENDING, find};
use super::effect::{
    Cover, CutPoint, Effect, EffectId, FrameKey, FrameRef, MessageRef, NewMessage, NewMessageId, NewResult, Place, Why,
};
use crate::content::{Content, WireId};
use crate::links::own_id;
use crate::message::{Block, Kind, Message, Role};
use crate::tree::SlotId;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// The messages of a conversation, with their slots.
pub type Path<'a> = [(SlotId, &'a Message)];

/// Effects for the other conversation, and what stays behind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CarryPlan {
    pub effects: Vec<Effect>,
    /// Effects on a system prompt: each conversation has its own.
    pub on_system: usize,
    /// Effects on content that the other conversation does not have.
    pub gone: usize,
    /// Effects with content in the format of the wire that they come from.
    pub foreign: usize,
    /// Blocks that effects covered and the other conversation does not have.
    pub missing: usize,
}

/// The target of carried effects.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    pub path: &'a Path<'a>,
    pub wire: WireId,
    /// The name of the first effect, and the number of the first frame that is added.
    pub first: EffectId,
    pub next_added: u32,
}

/// Why an effect stays behind.
enum StayReason {
    System,
    Gone,
    Foreign,
}

/// Carries the effects of the conversation `from` over.
pub fn carry(effects: &[(EffectId, Effect)], from: &Path<'_>, to: Target<'_>) -> CarryPlan {
    let mut carrier = Carrier { from, to, pairs: pairs(from, to.path), names: HashMap::new(), missing: 0, added: 0 };
    let mut carried = CarryPlan::default();
    for (id, effect) in effects {
        match carrier.effect(effect) {
            Ok(effect) => {
                let index = to.first.index + carried.effects.len() as u32;
                carrier.names.insert(*id, EffectId { commit: to.first.commit, index });
                carried.effects.push(effect);
            }
            Err(StayReason::System) => carried.on_system += 1,
            Err(StayReason::Gone) => carried.gone += 1,
            Err(StayReason::Foreign) => carried.foreign += 1,
        }
    }
    carried.missing = carrier.missing;
    carried
}

/// A block by its message and its place there.
type At = (usize, usize);

struct Carrier<'a> {
    from: &'a Path<'a>,
    to: Target<'a>,
    pairs: HashMap<At, At>,
    /// The effects that were carried, by their old names.
    names: HashMap<EffectId, EffectId>,
    missing: usize,
    added: u32,
}

impl Carrier<'_> {
    fn effect(&mut self, effect: &Effect) -> Result<Effect, StayReason> {
        Ok(match effect {
            Effect::Replace { why, covers, by } => {
                let covers = self.covers(*why, covers)?;
                Effect::Replace { why: *why, covers, by: self.made(by)? }
            }
            Effect::Results { results, summarized } => {
                let found: Vec<NewResult> = results.iter().filter_map(|result| self.result(result)).collect();
                self.missing += results.len() - found.len();
                Effect::Results { results: not_empty(found)?, summarized: *summarized }
            }
            Effect::Restore { effects } => {
                let known = effects.iter().filter_map(|id| self.names.get(id).copied()).collect();
                Effect::Restore { effects: not_empty(known)? }
            }
            Effect::Insert { messages, to, title, .. } => {
                let (messages, to) = (self.made(messages)?, self.place(to)?);
                self.added += 1;
                Effect::Insert { number: self.to.next_added + self.added - 1, messages, to, title: title.clone() }
            }
            Effect::Move { frames, to } => Effect::Move { frames: self.frames(frames)?, to: self.place(to)? },
            Effect::Combine { frames } => Effect::Combine { frames: self.frames(frames)? },
            Effect::Split { frame, before } => {
                let cuts = before.iter().filter_map(|cut| self.cut(cut)).collect();
                Effect::Split { frame: self.key(frame)?, before: not_empty(cuts)? }
            }
            Effect::Title { frame, title, summary } => {
                Effect::Title { frame: self.key(frame)?, title: title.clone(), summary: summary.clone() }
            }
            Effect::Pin { frames, pinned } => {
                let known = frames.iter().filter_map(|key| self.key(key).ok()).collect();
                Effect::Pin { frames: not_empty(known)?, pinned: *pinned }
            }
        })
    }

    /// The place of a message among those that effects are carried from.
    fn message(&self, of: &MessageRef) -> Option<usize> {
        let place = |slot: SlotId| self.from.iter().position(|(known, _)| *known == slot);
        match of {
            MessageRef::Slot(slot) => place(*slot),
            MessageRef::Reply { after, nth, key } => {
                let is_said = |at: &usize| self.from[*at].1.role != Role::System;
                let at = (place(*after)? + 1..self.from.len()).filter(is_said).nth(*nth as usize)?;
                let (slot, message) = &self.from[at];
                (*slot == PENDING || message.key == *key).then_some(at)
            }
        }
    }

    fn covers(&mut self, why: Why, covers: &[Cover]) -> Result<Vec<Cover>, StayReason> {
        let mut blocks: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut carried = Vec::new();
        let mut left = StayReason::Gone;
        for cover in covers {
            match cover {
                Cover::Blocks(covered) => {
                    let Some(at) = self.message(&covered.of) else {
                        self.missing += covered.blocks.len();
                        continue;
                    };
                    let message = self.from[at].1;
                    for block in find(&covered.blocks, message, covered.key == message.key) {
                        match self.pairs.get(&(at, block as usize)) {
                            Some((message, block)) => blocks.entry(*message).or_default().push(*block),
                            None if message.blocks[block as usize].kind == Kind::Thinking => {}
                            None => self.missing += 1,
                        }
                    }
                }
                Cover::Made(made) => carried.extend(self.made_id(made).map(Cover::Made)),
                Cover::System { .. } => left = StayReason::System,
                Cover::Tool { name } => carried.push(Cover::Tool { name: name.clone() }),
            }
        }
        if why != Why::Edited {
            self.with_thinking(&mut blocks);
        }
        for (at, mut blocks) in blocks {
            let (slot, message) = self.to.path[at];
            blocks.sort_unstable();
            let named = blocks.into_iter().filter_map(|block| BlockRef::within(message, block as u32));
            carried.push(Cover::blocks(MessageRef::Slot(slot), message.key, named.collect()));
        }
        if carried.is_empty() { Err(left) } else { Ok(carried) }
    }

    /// Reasoning goes with what it led to: with the next block that is none.
    fn with_thinking(&self, blocks: &mut BTreeMap<usize, Vec<usize>>) {
        let all: Vec<At> = places(self.to.path).collect();
        let mut is_next_covered = false;
        for (at, block) in all.into_iter().rev() {
            if self.to.path[at].1.blocks[block].kind != Kind::Thinking {
                is_next_covered = blocks.get(&at).is_some_and(|blocks| blocks.contains(&block));
            } else if is_next_covered {
                blocks.entry(at).or_default().push(block);
            }
        }
    }

    /// Content of ours without what only the other wire can send. Something that would become nothing stays behind.
    fn made(&self, made: &[NewMessage]) -> Result<Vec<NewMessage>, StayReason> {
        let fits = |content: &&Content| !matches!(content, Content::Raw { wire, .. } if *wire != self.to.wire);
        let fitting = |made: &NewMessage| NewMessage {
            role: made.role,
            content: made.content.iter().filter(fits).cloned().collect(),
        };
        let carried: Vec<NewMessage> = made.iter().map(fitting).collect();
        let is_empty = carried.iter().zip(made).any(|(now, was)| now.content.is_empty() && !was.content.is_empty());
        if is_empty { Err(StayReason::Foreign) } else { Ok(carried) }
    }

    fn result(&self, result: &NewResult) -> Option<NewResult> {
        let at = self.message(&result.of)?;
        let block = *find(std::slice::from_ref(&result.block), self.from[at].1, false).first()?;
        let (at, block) = *self.pairs.get(&(at, block as usize))?;
        let (slot, message) = self.to.path[at];
        let block = BlockRef::of(block as u32, message.blocks.get(block)?);
        Some(NewResult { of: MessageRef::Slot(slot), block, text: result.text.clone() })
    }

    fn made_id(&self, made: &NewMessageId) -> Option<NewMessageId> {
        Some(NewMessageId { effect: *self.names.get(&made.effect)?, message: made.message })
    }

    fn key(&self, key: &FrameKey) -> Result<FrameKey, StayReason> {
        let carried = match key {
            FrameKey::Opened(slot) => self.from.iter().position(|(known, _)| known == slot).and_then(|at| {
                let speaks = self.from[at].1.speaks.unwrap_or(0) as usize;
                let (message, _) = self.pairs.get(&(at, speaks))?;
                Some(FrameKey::Opened(self.to.path[*message].0))
            }),
            FrameKey::Made { effect, part } => {
                self.names.get(effect).map(|effect| FrameKey::Made { effect: *effect, part: *part })
            }
        };
        carried.ok_or(StayReason::Gone)
    }

    /// A frame up to the last of its blocks that is there.
    fn frame(&self, frame: &FrameRef) -> Result<FrameRef, StayReason> {
        let until = frame.until.as_ref().and_then(|(of, block)| {
            let last = (self.message(of)?, *block as usize);
            let known = self.pairs.iter().filter(|(from, _)| **from <= last).max_by_key(|(from, _)| **from);
            let (_, (message, block)) = known?;
            Some((MessageRef::Slot(self.to.path[*message].0), *block as u32))
        });
        Ok(FrameRef { key: self.key(&frame.key)?, until })
    }

    fn frames(&self, frames: &[FrameRef]) -> Result<Vec<FrameRef>, StayReason> {
        frames.iter().map(|frame| self.frame(frame)).collect()
    }

    fn place(&self, place: &Place) -> Result<Place, StayReason> {
        match place {
            Place::Start => Ok(Place::Start),
            Place::After(frame) => self.frame(frame).map(Place::After),
        }
    }

    fn cut(&self, cut: &CutPoint) -> Option<CutPoint> {
        match cut {
            CutPoint::Block(of, block) => {
                let (message, block) = self.pairs.get(&(self.message(of)?, *block as usize))?;
                Some(CutPoint::Block(MessageRef::Slot(self.to.path[*message].0), *block as u32))
            }
            CutPoint::Made(made) => self.made_id(made).map(CutPoint::Made),
        }
    }
}

fn not_empty<T>(list: Vec<T>) -> Result<Vec<T>, StayReason> {
    if list.is_empty() { Err(StayReason::Gone) } else { Ok(list) }
}

fn places(path: &Path<'_>) -> impl Iterator<Item = At> {
    let counts = path.iter().map(|(_, message)| message.blocks.len()).enumerate();
    counts.flat_map(|(at, count)| (0..count).map(move |block| (at, block)))
}

fn block<'a>(path: &Path<'a>, (at, block): At) -> &'a Block {
    &path[at].1.blocks[block]
}

/// Which block of one path is which of the other: calls by their ids, else everything by its words, in order; results
/// by their calls.
fn pairs(from: &Path<'_>, to: &Path<'_>) -> HashMap<At, At> {
    let (said, there) = (said(from), said(to));
    let (own, by_id) = (by_id(from, &said), by_id(to, &there));
    let known = |at: &At| call_id(block(from, *at)).and_then(|id| own.get(id).and(by_id.get(id).copied()));
    let taken: HashSet<At> = said.iter().filter_map(known).collect();
    let mut by_words: HashMap<Words, VecDeque<At>> = HashMap::new();
    for at in there.into_iter().filter(|at| !taken.contains(at)) {
        by_words.entry(words(to, at)).or_default().push_back(at);
    }
    let mut found = Vec::new();
    for at in said {
        let same = || by_words.get_mut(&words(from, at))?.pop_front();
        found.extend(known(&at).or_else(same).map(|same| (at, same)));
    }
    let mut pairs: HashMap<At, At> = in_order(found).into_iter().collect();
    let id = |path, at| block(path, at).tool_use_id.as_deref();
    let calls: HashMap<&str, &str> =
        pairs.iter().filter_map(|(one, other)| Some((id(from, *one)?, id(to, *other)?))).collect();
    let (results, there) = (results(from), results(to));
    let answers = results.into_iter().filter_map(|(id, at)| Some((at, *there.get(calls.get(id)?)?)));
    pairs.extend(answers.collect::<Vec<_>>());
    pairs
}

/// Everything but reasoning, which no other wire takes, and results.
fn said(path: &Path<'_>) -> Vec<At> {
    places(path).filter(|at| !matches!(block(path, *at).kind, Kind::Thinking | Kind::ToolResult)).collect()
}

/// The calls by their ids, without those whose id several have.
fn by_id<'a>(path: &Path<'a>, places: &[At]) -> HashMap<&'a str, At> {
    let mut found: HashMap<&str, Option<At>> = HashMap::new();
    for (id, at) in places.iter().filter_map(|at| Some((call_id(block(path, *at))?, *at))) {
        found.entry(id).and_modify(|known| *known = None).or_insert(Some(at));
    }
    found.into_iter().filter_map(|(id, at)| Some((id, at?))).collect()
}

fn call_id(block: &Block) -> Option<&str> {
    own_id(block).filter(|_| block.kind == Kind::ToolUse)
}

/// The results of a path by the calls that they answer.
fn results<'a>(path: &Path<'a>) -> HashMap<&'a str, At> {
    let results = places(path).filter(|at| block(path, *at).kind == Kind::ToolResult);
    results.filter_map(|at| Some((block(path, at).tool_use_id.as_deref()?, at))).collect()
}

/// Identifies a block where it has no id of its own: who says it, and how it begins. Texts also by their length; the
/// arguments of a call are spelled differently on each wire.
type Words = (Role, Kind, Option<Arc<str>>, Option<Box<str>>, u32);

fn words(path: &Path<'_>, at: At) -> Words {
    let (role, block) = (path[at.0].1.role, block(path, at));
    let chars = if matches!(block.kind, Kind::Text | Kind::Reminder) { block.chars } else { 0 };
    (role, block.kind, block.tool.clone(), block.label.clone(), chars)
}

/// The longest part of these pairs in which both sides keep their order: the others were said twice.
fn in_order(pairs: Vec<(At, At)>) -> Vec<(At, At)> {
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, (_, to)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < *to);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut chain: Vec<(At, At)> =
        std::iter::successors(ends.last().copied(), |at| before[*at]).map(|at| pairs[at]).collect();
    chain.reverse();
    chain
}

#[cfg(test)]
mod tests;
