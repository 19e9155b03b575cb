//! Lays active effects over a path.
//!
//! All blocks of the path are numbered consecutively; covers and replacements are stored by number. Frames are ranges
//! of numbers, so cutting, combining and moving them touches no block. The work is proportional to the blocks of the
//! path and the targets of the effects.

mod arrange;
mod view;

use super::effect::{self, Cover, Effect, EffectId, FrameKey, MessageRef, NewMessage, NewMessageId};
use super::frame_id::FrameId;
use super::weigh::LeftOut;
use crate::fast_map::{FastMap, FastSet, NameMap};
use crate::frames;
use crate::key::Key;
use crate::links::{own_calls, own_id};
use crate::message::{Message, Role};
use crate::numbers::Numbers;
use crate::replies::Replies;
use crate::tree::SlotId;
use std::cell::OnceCell;
pub use view::{Around, Became, Fate, Frame, Number, Segment, Status, Unit, View, ViewUnit, Visit};
use view::{MadeFates, MadeNumber};

/// The path that effects are laid over.
pub struct Source<'a> {
    /// The slot of each message; [`effect::PENDING`] for those of a pending reply.
    pub slots: &'a [SlotId],
    pub messages: &'a [&'a Message],
    /// The keys by which blocks of the system prompt and tools are found again.
    pub system: &'a [Key],
    pub tools: &'a [&'a str],
    pub numbers: &'a Numbers,
    /// The messages of replies that were pending, also of those behind messages that have left the path.
    pub replies: &'a Replies,
    /// Positions where messages of another path begin; no frame crosses one.
    pub seams: &'a [usize],
}

/// Lays `effects`, oldest first, over a path.
pub fn fold<'a>(source: &Source<'_>, effects: Vec<(EffectId, &'a Effect)>) -> View<'a> {
    let mut starts = Vec::with_capacity(source.messages.len() + 1);
    let mut next = 0;
    for message in source.messages {
        starts.push(next);
        next += message.blocks.len().max(1) as Number;
    }
    starts.push(next);
    let mut view = View {
        by_id: effects.iter().enumerate().map(|(at, (id, _))| (*id, at)).collect(),
        made: MadeFates::of(&effects),
        status: vec![Status::default(); effects.len()],
        effects,
        frames: base_frames(source, &starts),
        starts,
        fates: vec![Fate::default(); next as usize],
        before: FastMap::default(),
        system: vec![Around::default(); source.system.len()],
        tools: vec![Around::default(); source.tools.len()],
        left_out: LeftOut::default(),
        became: Vec::new(),
    };
    if !view.effects.is_empty() {
        let places: FastMap<SlotId, usize> = source.slots.iter().enumerate().map(|(at, slot)| (*slot, at)).collect();
        let held = vec![0; view.effects.len()];
        Folding { view: &mut view, source, places, held, by_id: OnceCell::new() }.run();
    }
    view
}

fn base_frames(source: &Source<'_>, starts: &[Number]) -> Vec<Frame> {
    // A path that is not in the tree, such as that of a side question, may have frames without a number.
    let mut beyond = source.numbers.last();
    let mut number_of = |slot: SlotId| {
        source.numbers.of(slot).unwrap_or_else(|| {
            beyond += 1;
            beyond
        })
    };
    let mut out = Vec::new();
    let ends = source.seams.iter().copied().chain([source.messages.len()]);
    let mut from = 0;
    for end in ends {
        let first = |border: frames::Border| starts[from + border.message] + border.block as Number;
        for frame in frames::frames(&source.messages[from..end]) {
            let opening = source.slots[from + frame.opening];
            out.push(Frame {
                id: FrameId::turn(number_of(opening)),
                key: FrameKey::Opened(opening),
                segments: vec![Segment::Source(first(frame.start)..first(frame.end))],
                title: None,
                summary: None,
                pinned: false,
                moved: false,
                combined: false,
                by: Vec::new(),
            });
        }
        from = end;
    }
    out
}

/// The first unit that an effect covers. Its messages stand before it.
#[derive(Clone, Copy)]
enum First {
    Block(Number),
    Made(MadeNumber),
}

struct Folding<'v, 'a, 's> {
    view: &'v mut View<'a>,
    source: &'s Source<'s>,
    places: FastMap<SlotId, usize>,
    /// The number of units of each effect that no later effect has covered.
    held: Vec<usize>,
    /// The messages by the calls in them. Computed on demand.
    by_id: OnceCell<NameMap<&'s str, usize>>,
}

impl Folding<'_, '_, '_> {
    /// The position of a message on the path.
    fn message(&self, of: &MessageRef) -> Option<usize> {
        match of {
            MessageRef::Slot(slot) => self.places.get(slot).copied(),
            MessageRef::Reply { after, nth, key } => {
                let reply = self.reply(*after);
                let is_named = |at: &usize| self.source.messages[*at].key == *key;
                let is_said = |at: &usize| self.source.messages[*at].role != Role::System;
                let expected = reply.iter().copied().filter(is_said).nth(*nth as usize);
                // The client may have left out other messages of the reply.
                expected.filter(is_named).or_else(|| reply.into_iter().find(is_named))
            }
        }
    }

    /// The messages of the reply after a slot: up to the next message of the user. If the slot has left the path, those
    /// that are still on it.
    fn reply(&self, after: SlotId) -> Vec<usize> {
        let Some(before) = self.places.get(&after) else {
            return self.source.replies.after(after).iter().filter_map(|slot| self.places.get(slot).copied()).collect();
        };
        let behind = self.source.messages.iter().enumerate().skip(before + 1);
        behind.take_while(|(_, message)| message.role != Role::User).map(|(at, _)| at).collect()
    }

    /// Finds a message of a reply that the client has rewritten since, by the ids of its calls, which are unique.
    fn rewritten(&self, of: &MessageRef, blocks: &[effect::BlockRef]) -> Option<usize> {
        let MessageRef::Reply { after, .. } = of else { return None };
        let has = |at: &usize, id: &str| self.source.messages[*at].blocks.iter().any(|block| own_id(block) == Some(id));
        let ids = blocks.iter().filter_map(|named| named.id.as_deref());
        let found = self.reply(*after).into_iter().find(|at| ids.clone().any(|id| has(at, id)));
        // A fork does not know what its parent's client sent back.
        let anywhere = || ids.clone().find_map(|id| self.calls().get(id).copied());
        found.or_else(|| anywhere().filter(|_| !self.places.contains_key(after)))
    }

    fn calls(&self) -> &NameMap<&str, usize> {
        self.by_id.get_or_init(|| {
            let messages = self.source.messages.iter().enumerate();
            messages.flat_map(|(at, message)| own_calls(message).map(move |id| (id, at))).collect()
        })
    }

    fn run(&mut self) {
        let effects = self.view.effects.clone();
        let restored: FastSet<EffectId> = self.view.restored().into_iter().collect();
        for (at, (id, effect)) in effects.into_iter().enumerate() {
            if restored.contains(&id) {
                continue;
            }
            let status = match effect {
                Effect::Replace { covers, by, .. } => self.replace(at, id, covers, by),
                Effect::Results { results, .. } => self.results(at, results),
                Effect::Restore { effects } => {
                    Status { awake: effects.iter().any(|id| self.view.by_id.contains_key(id)), ..Status::default() }
                }
                other => Status { awake: self.arrange(id, other), ..Status::default() },
            };
            self.view.status[at] = status;
        }
    }

    fn replace(&mut self, at: usize, id: EffectId, covers: &[Cover], by: &[NewMessage]) -> Status {
        let mut status = Status::default();
        // A replacement stands at the first unit that it covers.
        let mut first: Option<First> = None;
        let mut around: Option<(bool, usize)> = None;
        for cover in covers {
            match cover {
                Cover::Blocks(covered) => {
                    let effect::CoveredBlocks { of, key, blocks } = &**covered;
                    let Some(message) = self.message(of).or_else(|| self.rewritten(of, blocks)) else { continue };
                    let facts = self.source.messages[message];
                    let same = facts.key == *key;
                    status.source_changed |= !same;
                    if matches!(of, MessageRef::Reply { .. }) {
                        status.reply = Some(self.source.slots[message]);
                    }
                    let found = if blocks.is_empty() && facts.blocks.is_empty() {
                        vec![0]
                    } else {
                        effect::find(blocks, facts, same)
                    };
                    for block in found {
                        let number = self.view.number(message, block as usize);
                        let before = std::mem::replace(&mut self.view.fates[number as usize].covered, at as u32 + 1);
                        self.take_over(at, before.checked_sub(1).map(|before| before as usize));
                        first.get_or_insert(First::Block(number));
                    }
                    for block in effect::holders(blocks, facts) {
                        let number = self.view.number(message, block as usize);
                        self.view.fates[number as usize].result = at as u32 + 1;
                        first.get_or_insert(First::Block(number));
                    }
                }
                Cover::Made(made) => {
                    let known = self.view.by_id.get(&made.effect).copied();
                    let Some(of) = known.filter(|&of| self.view.status[of].awake) else { continue };
                    let Some(number) = self.view.made.number(of, made.message) else { continue };
                    let fate = &mut self.view.made.fates[number as usize];
                    let before = std::mem::replace(&mut fate.covered, at as u32 + 1);
                    self.take_over(at, before.checked_sub(1).map(|before| before as usize));
                    first.get_or_insert(First::Made(number));
                }
                Cover::System { at, key } => {
                    let by_place = Some(*at as usize).filter(|&at| at < self.source.system.len());
                    let unmoved = by_place.filter(|&at| self.source.system[at] == *key);
                    let by_text = unmoved.or_else(|| self.source.system.iter().position(|other| other == key));
                    status.source_changed |= by_text.is_none();
                    if let Some(found) = by_text.or(by_place) {
                        self.view.system[found] = Around { covered: Some(id), by: Vec::new() };
                        around.get_or_insert((true, found));
                    }
                }
                Cover::Tool { name } => {
                    for found in (0..self.source.tools.len()).filter(|&at| self.source.tools[at] == name) {
                        self.view.tools[found] = Around { covered: Some(id), by: Vec::new() };
                        around.get_or_insert((false, found));
                    }
                }
            }
        }
        status.awake = first.is_some() || around.is_some();
        let made = (0..by.len() as u32).map(|message| NewMessageId { effect: id, message });
        match (first, around) {
            (Some(First::Block(number)), _) => {
                self.view.before.entry(number).or_default().extend(self.view.made.numbers(at));
                self.view.fates[number as usize].behind = true;
            }
            (Some(First::Made(number)), _) => {
                let made = self.view.made.numbers(at);
                self.view.made.fates[number as usize].before.extend(made);
            }
            (None, Some((true, at))) => self.view.system[at].by.extend(made),
            (None, Some((false, at))) => self.view.tools[at].by.extend(made),
            (None, None) => {}
        }
        status
    }

    /// Effect `at` covers a unit. Once nothing is left of an earlier effect's units, the messages written for them are
    /// covered too.
    fn take_over(&mut self, at: usize, before: Option<usize>) {
        self.held[at] += 1;
        let Some(before) = before else { return };
        self.held[before] -= 1;
        if self.held[before] > 0 || before == at {
            return;
        }
        for number in self.view.made.numbers(before) {
            let fate = &mut self.view.made.fates[number as usize];
            if fate.covered == 0 {
                fate.covered = at as u32 + 1;
                self.held[at] += 1;
            }
        }
    }

    fn results(&mut self, at: usize, results: &[effect::NewResult]) -> Status {
        let mut status = Status::default();
        for (text, result) in (0..).zip(results) {
            let Some(message) = self.message(&result.of) else { continue };
            let facts = self.source.messages[message];
            for block in effect::find(std::slice::from_ref(&result.block), facts, false) {
                let number = self.view.number(message, block as usize);
                let fate = &mut self.view.fates[number as usize];
                (fate.result, fate.text) = (at as u32 + 1, text);
                status.awake = true;
                status.source_changed |= facts.blocks[block as usize].chars != result.block.chars;
            }
        }
        status
    }
}

#[cfg(test)]
mod tests;
