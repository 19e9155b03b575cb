//! Lays active effects over a path.
//!
//! All blocks of the path are numbered consecutively; covers and replacements are stored by number. Frames are ranges
//! of numbers, so cutting, combining and moving them touches no block. The work is proportional to the blocks of the
//! path and the targets of the effects.

mod arrange;

use super::effect::{self, Cover, Effect, EffectId, FrameKey, MessageRef, NewMessage, NewMessageId, Why};
use super::frame_id::FrameId;
use super::history::CommitId;
use super::weigh::LeftOut;
use crate::fast_map::{FastMap, FastSet};
use crate::frames;
use crate::key::Key;
use crate::message::{Message, Role};
use crate::numbers::Numbers;
use crate::tree::SlotId;
use std::ops::Range;

/// The path that effects are laid over.
pub struct Source<'a> {
    /// The slot of each message; [`effect::PENDING`] for those of a pending reply.
    pub slots: &'a [SlotId],
    pub messages: &'a [&'a Message],
    /// The keys by which blocks of the system prompt and tools are found again.
    pub system: &'a [Key],
    pub tools: &'a [&'a str],
    pub numbers: &'a Numbers,
    /// Positions where messages of another path begin; no frame crosses one.
    pub seams: &'a [usize],
}

/// The number of a block on the path. A message without blocks has one number too.
pub type Number = u32;

/// The state of one client block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fate {
    /// The effect that covers it, counted from 1; 0 if it is sent.
    covered: u32,
    /// The effect that replaced its content, counted from 1, and the index of the text.
    result: u32,
    text: u32,
    /// Synthetic content precedes it.
    behind: bool,
}

/// The state of messages written by effects, grouped by effect. An edit of edited content covers everything written for
/// it, so there are many more covers than effects.
struct MadeFates {
    /// The start of each effect's group, and the end of the last.
    starts: Vec<MadeNumber>,
    fates: Vec<MadeFate>,
}

#[derive(Clone)]
struct MadeFate {
    id: NewMessageId,
    /// The effect that covers it, counted from 1; 0 if it is sent.
    covered: u32,
    /// The messages before it, in order.
    before: Vec<MadeNumber>,
}

/// The index of a message in [`MadeFates`].
type MadeNumber = u32;

impl MadeFates {
    fn of(effects: &[(EffectId, &Effect)]) -> MadeFates {
        let mut starts = Vec::with_capacity(effects.len() + 1);
        let mut fates = Vec::with_capacity(effects.len());
        for (effect, what) in effects {
            starts.push(fates.len() as MadeNumber);
            let ids = (0..what.made().len() as u32).map(|message| NewMessageId { effect: *effect, message });
            fates.extend(ids.map(|id| MadeFate { id, covered: 0, before: Vec::new() }));
        }
        starts.push(fates.len() as MadeNumber);
        MadeFates { starts, fates }
    }

    /// The messages written by the effect at this index.
    fn numbers(&self, effect: usize) -> Range<MadeNumber> {
        self.starts[effect]..self.starts[effect + 1]
    }

    fn number(&self, effect: usize, message: u32) -> Option<MadeNumber> {
        let numbers = self.numbers(effect);
        numbers.start.checked_add(message).filter(|number| numbers.contains(number))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    Source(Range<Number>),
    /// Messages of an inserted frame.
    Made(EffectId, Range<u32>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub id: FrameId,
    pub key: FrameKey,
    pub segments: Vec<Segment>,
    pub title: Option<String>,
    pub summary: Option<String>,
    pub pinned: bool,
    pub moved: bool,
    pub combined: bool,
    /// The effects that added, cut, combined, moved, titled or pinned it, oldest first.
    pub by: Vec<EffectId>,
}

/// One unit of a frame, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// A client block; without a block, a message that has none.
    Source {
        message: usize,
        block: Option<usize>,
    },
    Made(NewMessageId),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViewUnit {
    pub unit: Unit,
    /// The effect that covers it; a covered unit is not sent.
    pub covered: Option<EffectId>,
    /// The effect that replaced the content of this tool result, and the index of the text.
    pub result: Option<(EffectId, u32)>,
}

/// A unit met on a walk through a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visit {
    /// A whole, unedited message of the client.
    Untouched(usize),
    Unit(ViewUnit),
}

/// The state of an effect on this path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Status {
    /// It touches something on this path; otherwise it is asleep.
    pub awake: bool,
    /// A message that it names has changed since.
    pub source_changed: bool,
    /// The slot of the reply that was pending when it named it.
    pub reply: Option<SlotId>,
}

/// A block of the system prompt or a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Around {
    pub covered: Option<EffectId>,
    /// The messages in its place.
    pub by: Vec<NewMessageId>,
}

pub struct View<'a> {
    effects: Vec<(EffectId, &'a Effect)>,
    by_id: FastMap<EffectId, usize>,
    starts: Vec<Number>,
    fates: Vec<Fate>,
    /// The messages before a block, in order.
    before: FastMap<Number, Vec<MadeNumber>>,
    made: MadeFates,
    pub frames: Vec<Frame>,
    pub system: Vec<Around>,
    pub tools: Vec<Around>,
    status: Vec<Status>,
    pub(super) left_out: LeftOut,
    became: Vec<Became>,
}

/// A frame whose name is no longer in use: it was split or combined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Became {
    pub id: FrameId,
    /// `None`: its parts are named after it.
    pub into: Option<FrameId>,
    pub by: EffectId,
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
        Folding { view: &mut view, source, places, held }.run();
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

impl<'a> View<'a> {
    pub fn effect(&self, id: EffectId) -> Option<&'a Effect> {
        self.by_id.get(&id).map(|&at| self.effects[at].1)
    }

    pub fn made(&self, id: NewMessageId) -> Option<&'a NewMessage> {
        self.effect(id.effect)?.made().get(id.message as usize)
    }

    /// The replaced content of a tool result, if any.
    pub fn new_result(&self, laid: &ViewUnit) -> Option<&'a str> {
        let (id, text) = laid.result?;
        match self.effect(id)? {
            Effect::Results { results, .. } => results.get(text as usize).map(|result| result.text.as_str()),
            _ => None,
        }
    }

    pub fn status(&self, id: EffectId) -> Status {
        self.by_id.get(&id).map_or_else(Status::default, |&at| self.status[at])
    }

    pub fn effects(&self) -> impl Iterator<Item = (EffectId, &'a Effect)> {
        self.effects.iter().copied()
    }

    /// Effects that another effect deactivated.
    pub fn restored(&self) -> Vec<EffectId> {
        let restored = self.effects.iter().filter_map(|(_, effect)| match effect {
            Effect::Restore { effects } => Some(effects),
            _ => None,
        });
        restored.flatten().copied().collect()
    }

    /// Whether the request equals the client's.
    pub fn is_untouched(&self) -> bool {
        let changes = |effect: &Effect| matches!(effect, Effect::Replace { .. } | Effect::Results { .. });
        if self.effects.iter().zip(&self.status).any(|((_, effect), status)| status.awake && changes(effect)) {
            return false;
        }
        let mut next = 0;
        self.frames.iter().flat_map(|frame| &frame.segments).all(|segment| match segment {
            Segment::Source(range) => std::mem::replace(&mut next, range.end) == range.start,
            Segment::Made(..) => false,
        })
    }

    /// The frame, or all its parts if it was split.
    pub fn find(&self, id: &FrameId) -> Vec<usize> {
        if let Some(at) = self.frames.iter().position(|frame| frame.id == *id) {
            return vec![at];
        }
        self.frames.iter().enumerate().filter(|(_, frame)| frame.id.is_in(id)).map(|(at, _)| at).collect()
    }

    /// The fate of a frame whose name is no longer in use, and the frames that contain it now.
    pub fn became(&self, id: &FrameId) -> Option<(&Became, Vec<usize>)> {
        let of = |id: &FrameId| self.became.iter().rev().find(|became| became.id == *id);
        let first = of(id)?;
        let mut here = first;
        // A frame may have been combined several times. No frame becomes part of itself.
        for _ in 0..=self.became.len() {
            let name = here.into.as_ref().unwrap_or(&here.id);
            let found = self.find(name);
            if !found.is_empty() {
                return Some((first, found));
            }
            here = of(name)?;
        }
        None
    }

    /// The commits of these effects, newest first.
    pub fn commits(&self, effects: impl Iterator<Item = EffectId>) -> Vec<CommitId> {
        let mut places: Vec<usize> = effects.filter_map(|id| self.by_id.get(&id).copied()).collect();
        places.sort_unstable_by(|one, other| other.cmp(one));
        let mut known: FastSet<CommitId> = FastSet::default();
        let commits = places.into_iter().map(|at| self.effects[at].0.commit);
        commits.filter(|commit| known.insert(*commit)).collect()
    }

    /// The message and block with this number.
    pub fn place(&self, number: Number) -> (usize, usize) {
        let message = self.starts.partition_point(|&start| start <= number).saturating_sub(1);
        (message, (number - self.starts[message]) as usize)
    }

    /// Marks a block as sent.
    pub(super) fn uncover(&mut self, message: usize, block: usize) {
        let number = self.starts.get(message).map_or(usize::MAX, |start| *start as usize + block);
        self.fates.get_mut(number).into_iter().for_each(|fate| fate.covered = 0);
    }

    /// The number of a block of a message on the path.
    pub fn number(&self, message: usize, block: usize) -> Number {
        self.starts[message] + block as Number
    }

    /// All units of a frame, including covered ones.
    pub fn units(&self, frame: &Frame, messages: &[&Message]) -> Vec<ViewUnit> {
        let length = |segment: &Segment| match segment {
            Segment::Source(range) => range.len(),
            Segment::Made(_, messages) => messages.len(),
        };
        let mut units = Vec::with_capacity(frame.segments.iter().map(length).sum());
        self.walk(frame, messages, &mut |met| match met {
            Visit::Unit(laid) => units.push(laid),
            Visit::Untouched(message) => {
                let count = messages.get(message).map_or(0, |message| message.blocks.len());
                let laid = |block| ViewUnit { unit: Unit::Source { message, block }, covered: None, result: None };
                if count == 0 {
                    units.push(laid(None));
                }
                units.extend((0..count).map(|block| laid(Some(block))));
            }
        });
        units
    }

    /// Walks through a frame, unedited messages as a whole.
    pub fn walk(&self, frame: &Frame, messages: &[&Message], meet: &mut dyn FnMut(Visit)) {
        for segment in &frame.segments {
            match segment {
                Segment::Source(range) => self.walk_source(range.clone(), messages, meet),
                Segment::Made(effect, messages) => {
                    let Some(&at) = self.by_id.get(effect) else { continue };
                    let numbers = messages.clone().filter_map(|message| self.made.number(at, message));
                    numbers.for_each(|number| self.meet_made(number, meet));
                }
            }
        }
    }

    fn walk_source(&self, range: Range<Number>, messages: &[&Message], meet: &mut dyn FnMut(Visit)) {
        let (mut message, _) = self.place(range.start);
        let mut at = range.start;
        while at < range.end {
            let (start, end) = (self.starts[message], self.starts[message + 1]);
            let here = at..end.min(range.end);
            let fates = &self.fates[here.start as usize..here.end as usize];
            if (start..end) == here && fates.iter().all(|fate| *fate == Fate::default()) {
                meet(Visit::Untouched(message));
            } else {
                let has_blocks = messages.get(message).is_some_and(|message| !message.blocks.is_empty());
                for (number, fate) in here.clone().zip(fates) {
                    if let Some(made) = self.before.get(&number).filter(|_| fate.behind) {
                        made.iter().for_each(|made| self.meet_made(*made, meet));
                    }
                    let effect = |at: u32| at.checked_sub(1).map(|at| self.effects[at as usize].0);
                    let block = has_blocks.then(|| (number - start) as usize);
                    meet(Visit::Unit(ViewUnit {
                        unit: Unit::Source { message, block },
                        covered: effect(fate.covered),
                        result: effect(fate.result).map(|effect| (effect, fate.text)),
                    }));
                }
            }
            at = here.end;
            message += 1;
        }
    }

    fn meet_made(&self, number: MadeNumber, meet: &mut dyn FnMut(Visit)) {
        let fate = &self.made.fates[number as usize];
        fate.before.iter().for_each(|earlier| self.meet_made(*earlier, meet));
        let covered = fate.covered.checked_sub(1).map(|at| self.effects[at as usize].0);
        meet(Visit::Unit(ViewUnit { unit: Unit::Made(fate.id), covered, result: None }));
    }
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
}

impl Folding<'_, '_, '_> {
    /// The position of a message on the path.
    fn message(&self, of: &MessageRef) -> Option<usize> {
        match of {
            MessageRef::Slot(slot) => self.places.get(slot).copied(),
            MessageRef::Reply { after, nth, key } => {
                let mut reply = self.reply(*after)?;
                let is_named = |at: &usize| self.source.messages[*at].key == *key;
                let expected = reply.start + *nth as usize;
                // The client may have left out other messages of the reply.
                Some(expected).filter(|at| reply.contains(at) && is_named(at)).or_else(|| reply.find(is_named))
            }
        }
    }

    /// The messages of the reply after a slot: up to the next message of the user.
    fn reply(&self, after: SlotId) -> Option<Range<usize>> {
        let start = self.places.get(&after)? + 1;
        let behind = self.source.messages.get(start..)?;
        let count = behind.iter().take_while(|message| message.role != Role::User).count();
        Some(start..start + count)
    }

    /// Finds a message of a reply that the client has rewritten since, by the ids of its calls, which are unique.
    fn rewritten(&self, of: &MessageRef, blocks: &[effect::BlockRef]) -> Option<usize> {
        let MessageRef::Reply { after, .. } = of else { return None };
        let has = |at: &usize, id: &str| {
            self.source.messages[*at].blocks.iter().any(|block| block.tool_use_id.as_deref() == Some(id))
        };
        let ids = blocks.iter().filter_map(|named| named.id.as_deref());
        self.reply(*after)?.find(|at| ids.clone().any(|id| has(at, id)))
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

impl ViewUnit {
    /// The effects that produced it.
    pub fn by(&self) -> impl Iterator<Item = EffectId> {
        let made = match self.unit {
            Unit::Made(made) => Some(made.effect),
            Unit::Source { .. } => None,
        };
        [made, self.covered, self.result.map(|(id, _)| id)].into_iter().flatten()
    }
}

impl Around {
    /// The effects that produced it.
    pub fn by(&self) -> impl Iterator<Item = EffectId> {
        self.covered.into_iter().chain(self.by.iter().map(|made| made.effect))
    }
}

impl Frame {
    /// The status labels for people.
    pub fn chips(&self, view: &View<'_>, units: &[ViewUnit]) -> Vec<&'static str> {
        let mut chips: Vec<&'static str> = Vec::new();
        let mut add = |chip: &'static str| {
            if !chips.contains(&chip) {
                chips.push(chip);
            }
        };
        let gone = !units.is_empty() && units.iter().all(|laid| laid.covered.is_some());
        if gone {
            let whys = units.iter().filter_map(|laid| match view.effect(laid.covered?) {
                Some(Effect::Replace { why, .. }) => Some(*why),
                _ => None,
            });
            // Content that a summary replaces elsewhere does not count as deleted.
            add(whys.max_by_key(|why| *why != Why::Deleted).unwrap_or(Why::Deleted).name());
        }
        if matches!(self.key, FrameKey::Made { part: 0, .. }) && self.id.added {
            add("added");
        }
        for laid in units {
            match laid.covered.and_then(|id| view.effect(id)) {
                Some(Effect::Replace { why: Why::Deleted, .. }) if gone => {}
                Some(Effect::Replace { why: Why::Deleted, .. }) => add("trimmed"),
                Some(Effect::Replace { why, .. }) if !gone => add(why.name()),
                _ => {}
            }
            match laid.result.and_then(|(id, _)| view.effect(id)) {
                Some(Effect::Results { summarized: true, .. }) => add("results-summarized"),
                Some(Effect::Results { .. }) => add("results-dropped"),
                _ => {}
            }
            let touched = laid.covered.or(laid.result.map(|(id, _)| id));
            if touched.is_some_and(|id| view.status(id).source_changed && !gone) {
                add("source-changed");
            }
        }
        for (is, chip) in [(self.moved, "moved"), (self.combined, "combined"), (!self.id.parts.is_empty(), "split")] {
            if is {
                add(chip);
            }
        }
        chips
    }
}

#[cfg(test)]
mod tests;
