//! The view of a path under its effects: its frames, and the state of each block.

use crate::edit::effect::{DROPPED, Effect, EffectId, FrameKey, NewMessage, NewMessageId, Why};
use crate::edit::frame_id::FrameId;
use crate::edit::history::CommitId;
use crate::edit::weigh::LeftOut;
use crate::fast_map::{FastMap, FastSet};
use crate::message::Message;
use crate::tree::SlotId;
use std::ops::Range;

/// The number of a block on the path. A message without blocks has one number too.
pub type Number = u32;

/// The state of one client block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fate {
    /// The effect that covers it, counted from 1; 0 if it is sent.
    pub(super) covered: u32,
    /// The effect that replaced its content, counted from 1, and the index of the text.
    pub(super) result: u32,
    pub(super) text: u32,
    /// Synthetic content precedes it.
    pub(super) behind: bool,
}

/// The state of messages written by effects, grouped by effect. An edit of edited content covers everything written for
/// it, so there are many more covers than effects.
pub(super) struct MadeFates {
    /// The start of each effect's group, and the end of the last.
    pub(super) starts: Vec<MadeNumber>,
    pub(super) fates: Vec<MadeFate>,
}

#[derive(Clone)]
pub(super) struct MadeFate {
    pub(super) id: NewMessageId,
    /// The effect that covers it, counted from 1; 0 if it is sent.
    pub(super) covered: u32,
    /// The messages before it, in order.
    pub(super) before: Vec<MadeNumber>,
}

/// The index of a message in [`MadeFates`].
pub(super) type MadeNumber = u32;

impl MadeFates {
    pub(super) fn of(effects: &[(EffectId, &Effect)]) -> MadeFates {
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
    pub(super) fn numbers(&self, effect: usize) -> Range<MadeNumber> {
        self.starts[effect]..self.starts[effect + 1]
    }

    pub(super) fn number(&self, effect: usize, message: u32) -> Option<MadeNumber> {
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
    pub(super) effects: Vec<(EffectId, &'a Effect)>,
    pub(super) by_id: FastMap<EffectId, usize>,
    pub(super) starts: Vec<Number>,
    pub(super) fates: Vec<Fate>,
    /// The messages before a block, in order.
    pub(super) before: FastMap<Number, Vec<MadeNumber>>,
    pub(super) made: MadeFates,
    pub frames: Vec<Frame>,
    pub system: Vec<Around>,
    pub tools: Vec<Around>,
    pub(super) status: Vec<Status>,
    pub(in crate::edit) left_out: LeftOut,
    pub(super) became: Vec<Became>,
}

/// A frame whose name is no longer in use: it was split or combined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Became {
    pub id: FrameId,
    /// `None`: its parts are named after it.
    pub into: Option<FrameId>,
    pub by: EffectId,
}

impl<'a> View<'a> {
    pub fn effect(&self, id: EffectId) -> Option<&'a Effect> {
        self.by_id.get(&id).map(|&at| self.effects[at].1)
    }

    pub fn made(&self, id: NewMessageId) -> Option<&'a NewMessage> {
        self.effect(id.effect)?.made().get(id.message as usize)
    }

    /// The replaced content of a tool result, if any. One that has swallowed a covered text is cleared with it.
    pub fn new_result(&self, laid: &ViewUnit) -> Option<&'a str> {
        let (id, text) = laid.result?;
        match self.effect(id)? {
            Effect::Results { results, .. } => results.get(text as usize).map(|result| result.text.as_str()),
            Effect::Replace { .. } => Some(DROPPED),
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
    pub(in crate::edit) fn uncover(&mut self, message: usize, block: usize) {
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

    /// Walks through the client's messages from this one on, in the order of the path.
    pub fn walk_from(&self, message: usize, messages: &[&Message], meet: &mut dyn FnMut(Visit)) {
        if let (Some(&start), Some(&end)) = (self.starts.get(message), self.starts.last()) {
            self.walk_source(start..end, messages, meet);
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
                Some(Effect::Results { .. } | Effect::Replace { .. }) => add("results-dropped"),
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
