//! Operations on the order and the borders of frames.

use super::target::{count, nothing_named};
use super::{Desk, Scope, Target};
use crate::edit::effect::{Effect, FrameKey, FrameRef, Made, MessageRef, Place};
use crate::edit::fold::{Frame, Segment, Unit};
use crate::edit::layout::{Group, Layout};
use crate::edit::operation::{Select, Where};
use crate::edit::refusal::{NOTHING, Refusal};
use crate::message::{Block, Kind, Role};
use std::collections::HashMap;

impl Desk<'_> {
    /// The frames that ids name; nothing smaller.
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
                        "not-a-turn",
                        format!("`{}` has its own place in a request; one cannot {verb} it.", target.name),
                        format!("One can {verb} frames such as `t2`."),
                    ));
                }
                _ => {
                    return Err(Refusal::new(
                        "not-a-frame",
                        format!("`{}` is a part of a frame; one can {verb} whole frames only.", target.name),
                        "Cut it out first with `ctx split`, then name the part.",
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

    /// The last of its blocks as the client sent them: a client that goes back behind it leaves this frame.
    fn end_of(&self, frame: &Frame) -> Option<(MessageRef, u32)> {
        let ends = frame.segments.iter().filter_map(|segment| match segment {
            Segment::Source(range) => Some(range.end),
            Segment::Made(_) => None,
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
                "no-place",
                "No position was given.",
                "Give one of `--after ID`, `--start` and `--end`.",
            )),
        }
    }

    pub fn insert(&self, messages: Vec<Made>, to: &Where, title: Option<String>) -> Result<Vec<Effect>, Refusal> {
        let place = self.place(to)?;
        if place == Place::Start && messages.first().and_then(|made| made.role) != Some(Role::User) {
            return Err(not_first("The new frame"));
        }
        Ok(vec![Effect::Insert { number: self.next_added, messages, to: place, title }])
    }

    pub(super) fn shift(&self, ids: &[String], to: &Where) -> Result<Vec<Effect>, Refusal> {
        let frames = self.frames(ids, "move")?;
        let stays = (0..self.view.frames.len()).rev().find(|at| !frames.contains(at));
        let there = frames.is_sorted() && stays.is_none_or(|at| frames.iter().all(|moved| *moved > at));
        let place = match (self.place(to)?, stays) {
            // Behind the last one that is not moved itself.
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
                "nowhere",
                "A frame cannot be moved behind itself.",
                "Name another frame with `--after`.",
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
        Ok(vec![Effect::Move { frames: references, to: place }])
    }

    fn is_there(&self, frames: &[usize]) -> Refusal {
        let names: Vec<String> = frames.iter().map(|&at| format!("`{}`", self.view.frames[at].id)).collect();
        let stands = if names.len() == 1 { "stands" } else { "stand" };
        Refusal::nothing(format!("{} {stands} there already.", names.join(", ")))
    }

    pub(super) fn combine(&self, ids: &[String], after: Option<&str>) -> Result<Vec<Effect>, Refusal> {
        let mut frames = self.frames(ids, "combine")?;
        frames.sort_unstable();
        if frames.len() < 2 {
            return Err(Refusal::new(
                "too-few",
                "Combining takes at least two frames.",
                "Name them all, as in `ctx combine t2 t3` or `ctx combine t2..t5`.",
            ));
        }
        let references: Vec<FrameRef> = frames.iter().map(|&at| self.reference(at)).collect();
        let mut effects = Vec::new();
        if let Some(after) = after {
            let to = Where { after: Some(after.to_owned()), ..Where::default() };
            match self.shift(ids, &to) {
                Err(refusal) if refusal.code == NOTHING => {}
                moved => effects.extend(moved?),
            }
        } else if frames.windows(2).any(|pair| pair[1] != pair[0] + 1) {
            // Those that lie apart come together behind the first one.
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
            return Err(Refusal::new("ambiguous-id", format!("`{id}` is already cut."), "Name one of its parts."));
        };
        let frame = &self.view.frames[*frame];
        let (_, layout) = self.single(&frame.id)?;
        let whole = self.whole_until(&layout);
        let starts = self.cuts(&layout);
        let possible = || {
            let numbers: Vec<String> = starts.iter().map(|group| group.number.to_string()).collect();
            match numbers.as_slice() {
                [] => format!("`{}` cannot be cut.", frame.id),
                _ => format!("`{}` can be cut before message {}.", frame.id, numbers.join(", ")),
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
                        "cuts-a-pair",
                        format!(
                            "A cut before `{}#{number}` would part a tool call from its result: rule A38.",
                            frame.id
                        ),
                        possible(),
                    ));
                }
                None => {
                    return Err(Refusal::new(
                        "bad-cut",
                        format!("`{}` cannot be cut before message {number}.", frame.id),
                        possible(),
                    ));
                }
            }
        }
        let steps: Vec<usize> = if each_step { (1..=layout.steps).collect() } else { at_step.to_vec() };
        for step in steps {
            match starts.iter().find(|group| group.step == step && group.role == Role::Assistant) {
                Some(group) => chosen.push(group),
                None if each_step => {}
                None => {
                    return Err(Refusal::new(
                        "bad-cut",
                        format!("`{}` cannot be cut before step {step}.", frame.id),
                        format!("It has {}.", count(layout.steps, "step")),
                    ));
                }
            }
        }
        let mut before: Vec<(MessageRef, u32)> = Vec::new();
        let mut places: Vec<usize> = chosen.iter().map(|group| group.units.start).collect();
        places.sort_unstable();
        places.dedup();
        for place in places {
            if let Unit::Source { message, block } = layout.units[place].unit {
                before.push((self.message_ref(message), block.unwrap_or(0) as u32));
            }
        }
        if before.is_empty() {
            return Err(Refusal::new("no-cut", format!("No position to cut `{}` at was given.", frame.id), possible()));
        }
        Ok(vec![Effect::Split { frame: frame.key, before }])
    }

    /// The numbers of the messages before which a frame can be cut.
    pub fn cut_before(&self, layout: &Layout) -> Vec<usize> {
        self.cuts(layout).into_iter().map(|group| group.number).collect()
    }

    /// The messages of the client's before which a frame can be cut.
    fn cuts<'l>(&self, layout: &'l Layout) -> Vec<&'l Group> {
        let whole = self.whole_until(layout);
        let mut last = layout.groups.first().map(|group| (group.number, group.step));
        let mut cuts = Vec::new();
        for group in layout.groups.iter().filter(|group| group.source.is_some()) {
            let begins = last != Some((group.number, group.step));
            last = Some((group.number, group.step));
            // A system message belongs to what it follows.
            if begins && group.role != Role::System && !self.parts_a_pair(&whole, layout, group) {
                cuts.push(group);
            }
        }
        cuts
    }

    /// Whether a cut before it would.
    fn parts_a_pair(&self, whole: &[bool], layout: &Layout, group: &Group) -> bool {
        let answers = self.block_at(layout, group.units.start).is_some_and(|block| block.kind == Kind::ToolResult);
        group.source.is_some() && (answers || !whole[group.units.start])
    }

    fn block_at(&self, layout: &Layout, at: usize) -> Option<&Block> {
        match layout.units[at].unit {
            Unit::Source { message, block: Some(block) } => self.source.messages[message].blocks.get(block),
            _ => None,
        }
    }

    /// Whether a cut before a unit leaves all pairs of calls and results whole.
    fn whole_until(&self, layout: &Layout) -> Vec<bool> {
        let block = |at: usize| self.block_at(layout, at);
        let result_at: HashMap<&str, usize> = (0..layout.units.len())
            .filter_map(|at| Some((at, block(at).filter(|block| block.kind == Kind::ToolResult)?)))
            .filter_map(|(at, block)| Some((block.tool_use_id.as_deref()?, at)))
            .collect();
        let mut open_until = 0;
        let mut whole = Vec::with_capacity(layout.units.len());
        for at in 0..layout.units.len() {
            whole.push(open_until < at || at == 0);
            let call = block(at).filter(|block| block.kind == Kind::ToolUse);
            let result = call.and_then(|call| result_at.get(call.tool_use_id.as_deref()?));
            open_until = open_until.max(result.copied().unwrap_or(0));
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
                "no-content",
                "No title and no summary was given.",
                "Give `--title` or `--summary`.",
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
        // A pin can be taken from a frame that is gone: it would come back with it.
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
        "not-first",
        format!("{what} does not begin with a user message, and a conversation must: rule A3."),
        "Put it behind a frame with `--after`.",
    )
}
