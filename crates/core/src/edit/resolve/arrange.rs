//! Operations on the order and the borders of frames.

use super::target::{count, nothing_named};
use super::{Desk, Scope, Target};
use crate::ErrorCode;
use crate::edit::effect::{CutPoint, Effect, FrameKey, FrameRef, MessageRef, NewMessage, NewMessageId, Place};
use crate::edit::fold::{Frame, Segment, Unit, ViewUnit};
use crate::edit::layout::{Group, Layout};
use crate::edit::operation::{Select, Where};
use crate::edit::refusal::Refusal;
use crate::hint;
use crate::hint::{Argument, Command};
use crate::message::{Kind, Role};
use std::collections::HashMap;

impl Desk<'_> {
    /// The frames named by ids; refuses smaller parts.
    fn frames(&self, ids: &[String], verb: &str) -> Result<Vec<usize>, Refusal> {
        self.whole_frames(self.targets(ids, &Select::default())?, verb)
    }

    fn whole_frames(&self, targets: Vec<Target>, verb: &str) -> Result<Vec<usize>, Refusal> {
        let mut frames = Vec::new();
        for target in targets {
            match (target.scope, target.frame) {
                (Scope::Frame, Some(at)) => {
                    if !frames.contains(&at) {
                        frames.push(at);
                    }
                }
                (Scope::System | Scope::Tool, _) => {
                    return Err(Refusal::new(
                        ErrorCode::NotATurn,
                        format!("`{}` has a fixed place in the request; you cannot {verb} it.", target.name),
                        format!("You can {verb} frames such as `t2`."),
                    ));
                }
                _ => {
                    return Err(Refusal::new(
                        ErrorCode::NotAFrame,
                        format!("`{}` is part of a frame; you can {verb} only whole frames.", target.name),
                        hint!["Separate it first with ", Command::Split, ", then name the new frame."],
                    ));
                }
            }
        }
        Ok(frames)
    }

    fn reference(&self, at: usize) -> FrameRef {
        let frame = &self.view.frames[at];
        FrameRef { key: frame.key, until: self.end_of(frame) }
    }

    /// The last client block of the frame. A client that rewinds behind it leaves this frame.
    fn end_of(&self, frame: &Frame) -> Option<(MessageRef, u32)> {
        let ends = frame.segments.iter().filter_map(|segment| match segment {
            Segment::Source(range) => Some(range.end),
            Segment::Made(..) => None,
        });
        let (message, block) = self.view.place(ends.max()?.checked_sub(1)?);
        Some((self.message_ref(message), block as u32))
    }

    fn place(&self, to: &Where) -> Result<Place, Refusal> {
        let last = || self.view.frames.len().checked_sub(1);
        match (&to.after, to.start, to.end) {
            (None, true, false) => Ok(Place::Start),
            (None, false, true) => Ok(last().map_or(Place::Start, |at| Place::After(self.reference(at)))),
            (Some(id), false, false) => {
                let frames = self.frames(std::slice::from_ref(id), "put something after")?;
                Ok(Place::After(self.reference(frames.last().copied().unwrap_or(0))))
            }
            _ => Err(Refusal::new(
                ErrorCode::NoPlace,
                "No position was given.",
                hint![
                    "Use one of ",
                    Argument::new("after").with("ID"),
                    ", ",
                    Argument::new("start"),
                    " and ",
                    Argument::new("end"),
                    "."
                ],
            )),
        }
    }

    pub fn insert(&self, messages: Vec<NewMessage>, to: &Where, title: Option<String>) -> Result<Vec<Effect>, Refusal> {
        let place = self.place(to)?;
        if place == Place::Start && messages.first().and_then(|made| made.role) != Some(Role::User) {
            return Err(not_first("The new frame"));
        }
        Ok(vec![Effect::Insert { number: self.next_added, messages, to: place, title }])
    }

    pub(super) fn shift(&self, ids: &[String], to: &Where) -> Result<Vec<Effect>, Refusal> {
        let frames = self.frames(ids, "move")?;
        self.refuse_settings(&frames)?;
        let stays = (0..self.view.frames.len()).rev().find(|at| !frames.contains(at));
        let there = frames.is_sorted() && stays.is_none_or(|at| frames.iter().all(|moved| *moved > at));
        let place = match (self.place(to)?, stays) {
            // Behind the last frame that does not move itself.
            (Place::After(_), stays) if to.end && !there => {
                stays.map_or(Place::Start, |at| Place::After(self.reference(at)))
            }
            (place, _) => place,
        };
        let references: Vec<FrameRef> = frames.iter().map(|&at| self.reference(at)).collect();
        if there && to.end {
            return Err(self.is_there(&frames));
        }
        if let Place::After(anchor) = &place
            && references.iter().any(|frame| frame.key == anchor.key)
        {
            return Err(Refusal::new(
                ErrorCode::Nowhere,
                "A frame cannot be moved after itself.",
                hint!["Name another frame with ", Argument::new("after"), "."],
            ));
        }
        if place == Place::Start
            && let Some(&first) = frames.first()
        {
            let units = self.view.units(&self.view.frames[first], self.source.messages);
            if self.first_role(&units) != Some(Role::User) {
                return Err(not_first(&format!("`{}`", self.view.frames[first].id)));
            }
        }
        let anchor = match &place {
            Place::Start => None,
            Place::After(anchor) => self.view.frames.iter().position(|frame| frame.key == anchor.key),
        };
        let mut order: Vec<usize> = (0..self.view.frames.len()).filter(|at| !frames.contains(at)).collect();
        let at = order.iter().position(|at| Some(*at) == anchor).map_or(0, |at| at + 1);
        order.splice(at..at, frames.iter().copied());
        if order.is_sorted() {
            return Err(self.is_there(&frames));
        }
        self.refuse_crossing(&order)?;
        Ok(vec![Effect::Move { frames: references, to: place }])
    }

    /// Refuses to move a setting with a frame: what the provider reads depends on its place.
    fn refuse_settings(&self, frames: &[usize]) -> Result<(), Refusal> {
        for &at in frames {
            let frame = &self.view.frames[at];
            let units = self.view.units(frame, self.source.messages);
            let sent: Vec<&ViewUnit> = units.iter().filter(|laid| laid.covered.is_none()).collect();
            let settings: Vec<&str> = sent.iter().filter_map(|laid| self.setting(laid)).collect();
            let Some(kind) = settings.first().filter(|_| settings.len() < sent.len()) else { continue };
            return Err(Refusal::new(
                ErrorCode::Protected,
                format!("`{}` contains `{kind}`, and everything behind it depends on its place.", frame.id),
                hint!["Separate it with ", Command::Split, ", then move the other parts."],
            ));
        }
        Ok(())
    }

    /// Refuses an order of all frames in which something has passed a provider's summary: the provider reads nothing
    /// before it.
    fn refuse_crossing(&self, order: &[usize]) -> Result<(), Refusal> {
        let is_crossed = |at: &usize| {
            let before = order.iter().take_while(|other| *other != at);
            before.clone().count() != *at || before.into_iter().any(|other| other > at)
        };
        let Some(at) = (0..order.len()).filter(|at| self.sums_up(*at)).find(is_crossed) else { return Ok(()) };
        Err(Refusal::new(
            ErrorCode::Protected,
            format!(
                "`{}` contains the provider's summary, which replaces everything before it.",
                self.view.frames[at].id
            ),
            "Name a place on the same side of that frame.",
        ))
    }

    /// Whether a frame contains the provider's summary of what is before it.
    fn sums_up(&self, frame: usize) -> bool {
        let sums_up = |laid: &ViewUnit| match laid.unit {
            Unit::Source { message, block: Some(block) } => {
                let block = self.source.messages[message].blocks.get(block);
                self.summed_up.contains(&message) || block.is_some_and(|block| block.sums_up)
            }
            _ => false,
        };
        let units = self.view.units(&self.view.frames[frame], self.source.messages);
        units.iter().any(|laid| laid.covered.is_none() && sums_up(laid))
    }

    fn is_there(&self, frames: &[usize]) -> Refusal {
        let names: Vec<String> = frames.iter().map(|&at| format!("`{}`", self.view.frames[at].id)).collect();
        let stands = if names.len() == 1 { "is" } else { "are" };
        Refusal::nothing(format!("{} {stands} already there.", names.join(", ")))
    }

    pub(super) fn combine(&self, ids: &[String], after: Option<&str>) -> Result<Vec<Effect>, Refusal> {
        let mut frames = self.frames(ids, "combine")?;
        frames.sort_unstable();
        if frames.len() < 2 {
            return Err(Refusal::new(
                ErrorCode::TooFew,
                "Combining needs at least two frames.",
                hint![
                    "Name all of them, as in ",
                    Command::Combine.with("t2 t3"),
                    " or ",
                    Command::Combine.with("t2..t5"),
                    "."
                ],
            ));
        }
        let references: Vec<FrameRef> = frames.iter().map(|&at| self.reference(at)).collect();
        let mut effects = Vec::new();
        if let Some(after) = after {
            let to = Where { after: Some(after.to_owned()), ..Where::default() };
            match self.shift(ids, &to) {
                Err(refusal) if refusal.code == ErrorCode::NothingToDo => {}
                moved => effects.extend(moved?),
            }
        } else if frames.windows(2).any(|pair| pair[1] != pair[0] + 1) {
            // Frames that are apart come together behind the first one.
            self.refuse_settings(&frames[1..])?;
            let mut order: Vec<usize> = (0..self.view.frames.len()).filter(|at| !frames[1..].contains(at)).collect();
            let at = order.partition_point(|at| *at <= frames[0]);
            order.splice(at..at, frames[1..].iter().copied());
            self.refuse_crossing(&order)?;
            let rest = references[1..].to_vec();
            effects.push(Effect::Move { frames: rest, to: Place::After(references[0]) });
        }
        effects.push(Effect::Combine { frames: references });
        Ok(effects)
    }

    pub(super) fn split(
        &self,
        id: &str,
        at: &[usize],
        at_step: &[usize],
        each_step: bool,
    ) -> Result<Vec<Effect>, Refusal> {
        let frames = self.frames(&[id.to_owned()], "split")?;
        let [frame] = frames.as_slice() else {
            return Err(Refusal::new(
                ErrorCode::AmbiguousId,
                format!("`{id}` is already split."),
                "Name one of its parts.",
            ));
        };
        let frame = &self.view.frames[*frame];
        let (_, layout) = self.single(&frame.id)?;
        let whole = self.whole_until(&layout);
        let starts = self.cuts(&layout);
        let possible = || {
            let numbers: Vec<String> = starts.iter().map(|group| group.number.to_string()).collect();
            match numbers.as_slice() {
                [] if layout.groups.iter().all(|group| group.number == 0) => {
                    format!("`{}` is a single message; frames are split between messages.", frame.id)
                }
                [] => {
                    format!(
                        "`{}` cannot be split: every split would separate a tool call from its result: \
                        rule A38.",
                        frame.id
                    )
                }
                _ => format!("`{}` can be split before message {}.", frame.id, numbers.join(", ")),
            }
        };
        let mut chosen: Vec<&Group> = Vec::new();
        for &number in at {
            match starts.iter().find(|group| group.number == number) {
                Some(group) => chosen.push(group),
                None if number > 0
                    && layout.groups.iter().any(|g| g.number == number && self.parts_a_pair(&whole, &layout, g)) =>
                {
                    return Err(Refusal::new(
                        ErrorCode::CutsAPair,
                        format!(
                            "A split before `{}#{number}` would separate a tool call from its result: rule A38.",
                            frame.id
                        ),
                        possible(),
                    ));
                }
                None => {
                    return Err(Refusal::new(
                        ErrorCode::BadCut,
                        format!("`{}` cannot be split before message {number}.", frame.id),
                        possible(),
                    ));
                }
            }
        }
        if each_step {
            // In combined frames, a human speaks again between two steps.
            let follows_a_step = |group: &&&Group| {
                let before = layout.groups.iter().rev().find(|other| other.units.start < group.units.start);
                group.step == 0 && before.is_some_and(|before| before.step > 0)
            };
            chosen.extend(starts.iter().filter(follows_a_step));
        }
        let steps: Vec<usize> = if each_step { (1..=layout.steps).collect() } else { at_step.to_vec() };
        for step in steps {
            match starts.iter().find(|group| group.step == step && group.role == Role::Assistant) {
                Some(group) => chosen.push(group),
                None if each_step => {}
                None => {
                    return Err(Refusal::new(
                        ErrorCode::BadCut,
                        format!("`{}` cannot be split before step {step}.", frame.id),
                        format!("It has {}.", count(layout.steps, "step")),
                    ));
                }
            }
        }
        let mut places: Vec<usize> = chosen.iter().map(|group| group.units.start).collect();
        places.sort_unstable();
        places.dedup();
        let cut = |place: usize| match layout.units[place].unit {
            Unit::Source { message, block } => CutPoint::Block(self.message_ref(message), block.unwrap_or(0) as u32),
            Unit::Made(made) => CutPoint::Made(made),
        };
        let before: Vec<CutPoint> = places.into_iter().map(cut).collect();
        if before.is_empty() {
            let message = match each_step {
                true => format!("`{}` has only one step.", frame.id),
                false => format!("No position to split `{}` was given.", frame.id),
            };
            return Err(Refusal::new(ErrorCode::NoCut, message, possible()));
        }
        Ok(vec![Effect::Split { frame: frame.key, before }])
    }

    /// The numbers of the messages before which a frame can be cut.
    pub fn cut_before(&self, layout: &Layout) -> Vec<usize> {
        self.cuts(layout).into_iter().map(|group| group.number).collect()
    }

    /// The messages before which a frame can be cut: the client's, and those of an insertion.
    fn cuts<'l>(&self, layout: &'l Layout) -> Vec<&'l Group> {
        let whole = self.whole_until(layout);
        let mut last = layout.groups.first().map(|group| (group.number, group.step));
        let mut cuts = Vec::new();
        for group in layout.groups.iter().filter(|group| self.counts(group)) {
            let begins = last != Some((group.number, group.step));
            last = Some((group.number, group.step));
            // A system message belongs to its predecessor.
            if begins && group.role != Role::System && !self.parts_a_pair(&whole, layout, group) {
                cuts.push(group);
            }
        }
        cuts
    }

    /// Whether it is a message of its own rather than a replacement.
    fn counts(&self, group: &Group) -> bool {
        let is_inserted = |made: &NewMessageId| matches!(self.view.effect(made.effect), Some(Effect::Insert { .. }));
        group.source.is_some() || group.made.as_ref().is_some_and(is_inserted)
    }

    /// Whether a cut before it would separate a call from its result.
    fn parts_a_pair(&self, whole: &[bool], layout: &Layout, group: &Group) -> bool {
        let answers = !self.pairs_at(layout, group.units.start).1.is_empty();
        self.counts(group) && (answers || !whole[group.units.start])
    }

    /// The ids of the calls that a unit makes and answers.
    fn pairs_at(&self, layout: &Layout, at: usize) -> (Vec<String>, Vec<String>) {
        match layout.units[at].unit {
            Unit::Source { message, block: Some(block) } => {
                let block = self.source.messages[message].blocks.get(block);
                let id_of = |kind: Kind| {
                    let block = block.filter(|block| block.kind == kind);
                    block.and_then(|block| Some(block.tool_use_id.as_deref()?.to_owned())).into_iter().collect()
                };
                (id_of(Kind::ToolUse), id_of(Kind::ToolResult))
            }
            Unit::Source { block: None, .. } => (Vec::new(), Vec::new()),
            Unit::Made(made) => {
                let ids = |made: &NewMessage| {
                    (made.calls().map(str::to_owned).collect(), made.answers().map(str::to_owned).collect())
                };
                self.view.made(made).map(ids).unwrap_or_default()
            }
        }
    }

    /// For each unit, whether a cut before it keeps all pairs of calls and results together.
    fn whole_until(&self, layout: &Layout) -> Vec<bool> {
        let pairs: Vec<_> = (0..layout.units.len()).map(|at| self.pairs_at(layout, at)).collect();
        let answers = pairs.iter().enumerate().flat_map(|(at, (_, answers))| answers.iter().map(move |id| (id, at)));
        let result_at: HashMap<&String, usize> = answers.collect();
        let mut open_until = 0;
        let mut whole = Vec::with_capacity(layout.units.len());
        for (at, (calls, _)) in pairs.iter().enumerate() {
            whole.push(open_until < at || at == 0);
            let results = calls.iter().filter_map(|call| result_at.get(call).copied());
            open_until = results.chain([open_until]).max().unwrap_or(0);
        }
        whole
    }

    pub(super) fn retitle(
        &self,
        id: &str,
        title: &Option<String>,
        summary: &Option<String>,
    ) -> Result<Vec<Effect>, Refusal> {
        if title.as_deref().unwrap_or_default().trim().is_empty() && summary.is_none() {
            return Err(Refusal::new(
                ErrorCode::NoContent,
                "No title or summary was given.",
                hint!["Give ", Argument::new("title"), " or ", Argument::new("summary"), "."],
            ));
        }
        let effects = self.keys(&[id.to_owned()], "retitle")?.into_iter().map(|frame| Effect::Title {
            frame,
            title: title.clone(),
            summary: summary.clone(),
        });
        Ok(effects.take(1).collect())
    }

    pub(super) fn pin(&self, ids: &[String], pinned: bool) -> Result<Vec<Effect>, Refusal> {
        // A pin can be removed from a deleted frame: it would return with the frame.
        let frames = match pinned {
            true => self.frames(ids, "pin")?,
            false => {
                let targets = self.named(ids)?;
                if targets.is_empty() {
                    return Err(nothing_named());
                }
                self.whole_frames(targets, "unpin")?
            }
        };
        let frames = frames.into_iter().map(|at| self.view.frames[at].key).collect();
        Ok(vec![Effect::Pin { frames, pinned }])
    }

    fn keys(&self, ids: &[String], verb: &str) -> Result<Vec<FrameKey>, Refusal> {
        Ok(self.frames(ids, verb)?.into_iter().map(|at| self.view.frames[at].key).collect())
    }
}

fn not_first(what: &str) -> Refusal {
    Refusal::new(
        ErrorCode::NotFirst,
        format!("{what} does not start with a user message, as the conversation must: rule A3."),
        hint!["Place it after a frame with ", Argument::new("after"), "."],
    )
}
