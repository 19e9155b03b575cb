//! Effects that cut, combine, move and add frames. They change no block.

use super::{Became, Folding, Frame, FrameId, FrameKey, Number, Segment};
use crate::edit::effect::{CutPoint, Effect, EffectId, FrameRef, MessageRef, NewMessageId, Place};

/// Parts that arose because a frame kept growing are counted from here, those of a split from 1.
const REST: u32 = 1 << 16;

impl Folding<'_, '_, '_> {
    /// Applies the effect; false if it is asleep, because its targets are not on this path.
    pub(super) fn arrange(&mut self, id: EffectId, effect: &Effect) -> bool {
        match effect {
            Effect::Insert { number, messages, to, title } => {
                let Some(at) = self.after(id, to) else { return false };
                let frame = Frame {
                    id: FrameId::added(*number),
                    key: FrameKey::Made { effect: id, part: 0 },
                    segments: vec![Segment::Made(id, 0..messages.len() as u32)],
                    title: title.clone(),
                    summary: None,
                    pinned: false,
                    moved: false,
                    combined: false,
                    by: vec![id],
                };
                self.view.frames.insert(at, frame);
                true
            }
            Effect::Move { frames, to } => self.shift(id, frames, to),
            Effect::Combine { frames } => self.combine(id, frames),
            Effect::Split { frame, before } => self.split(id, *frame, before),
            Effect::Title { frame, title, summary } => {
                let Some(at) = self.locate(*frame) else { return false };
                let frame = &mut self.view.frames[at];
                frame.title = title.clone().or(frame.title.take());
                frame.summary = summary.clone().or(frame.summary.take());
                frame.by.push(id);
                true
            }
            Effect::Pin { frames, pinned } => {
                let found: Vec<usize> = frames.iter().filter_map(|key| self.locate(*key)).collect();
                for &at in &found {
                    self.view.frames[at].pinned = *pinned;
                    self.view.frames[at].by.push(id);
                }
                !found.is_empty()
            }
            Effect::Replace { .. } | Effect::Results { .. } | Effect::Restore { .. } => false,
        }
    }

    /// The frame of that name, else the one that contains its message.
    fn locate(&self, key: FrameKey) -> Option<usize> {
        let frames = &self.view.frames;
        if let Some(at) = frames.iter().position(|frame| frame.key == key) {
            return Some(at);
        }
        let FrameKey::Opened(slot) = key else { return None };
        let message = *self.places.get(&slot)?;
        // The human's words come last in their message.
        let number = self.view.starts[message + 1] - 1;
        frames.iter().position(|frame| frame.holds(number))
    }

    /// Finds the named frame. If the client has rewound behind the frame's end, the named content is gone: the frame
    /// now grows with other content, and nothing may stand in its way.
    fn named(&self, frame: &FrameRef) -> Option<usize> {
        match frame.until {
            Some((of, _)) => self.message(&of).and_then(|_| self.locate(frame.key)),
            None => self.locate(frame.key),
        }
    }

    /// Finds the named frame, cut off behind the last block it had when it was named.
    fn exactly(&mut self, id: EffectId, part: u32, frame: &FrameRef) -> Option<usize> {
        let at = self.named(frame)?;
        if let Some((of, _)) = frame.until
            && let Some(message) = self.message(&of)
        {
            // The client may have rewritten the message; a frame ends with it, or where a human speaks in it.
            let end = self.view.starts[message + 1] - 1;
            let until = match self.source.messages[message].speaks {
                Some(speaks) if speaks > 0 && !self.view.frames[at].ends_around(end) => {
                    self.view.number(message, speaks as usize) - 1
                }
                _ => end,
            };
            if let Some(segments) = self.view.frames[at].cut_behind(until) {
                // The first part keeps its name, and so do the parts of a split: the rest is `t3.0`.
                let mut name = self.view.frames[at].id.part(0);
                while self.view.frames.iter().any(|frame| frame.id == name) {
                    name = name.part(0);
                }
                let rest = Frame {
                    id: name,
                    key: FrameKey::Made { effect: id, part: REST + part },
                    segments,
                    title: None,
                    summary: None,
                    pinned: self.view.frames[at].pinned,
                    moved: false,
                    combined: false,
                    by: vec![id],
                };
                self.view.frames.insert(at + 1, rest);
            }
        }
        Some(at)
    }

    /// The index at which to insert content for `place`.
    fn after(&mut self, id: EffectId, place: &Place) -> Option<usize> {
        match place {
            Place::Start => Some(0),
            Place::After(frame) => self.exactly(id, REST, frame).map(|at| at + 1),
        }
    }

    fn shift(&mut self, id: EffectId, frames: &[FrameRef], to: &Place) -> bool {
        let anchor = match to {
            Place::Start => None,
            Place::After(anchor) => match self.named(anchor) {
                Some(at) => Some((anchor, at)),
                None => return false,
            },
        };
        // Everything combined with the anchor stays there.
        let moves = |frame: &FrameRef| self.named(frame).is_some_and(|at| anchor.is_none_or(|(_, other)| other != at));
        let frames: Vec<(u32, &FrameRef)> = (0..).zip(frames).filter(|(_, frame)| moves(frame)).collect();
        if frames.is_empty() {
            return false;
        }
        let mut moving: Vec<FrameKey> = Vec::new();
        for (part, frame) in frames {
            moving.extend(self.exactly(id, part, frame).map(|at| self.view.frames[at].key));
        }
        // The anchor is cut before anything moves, so that its rest stays in place.
        let anchor = anchor.and_then(|(anchor, _)| self.exactly(id, REST, anchor)).map(|at| self.view.frames[at].key);
        let mut taken = Vec::new();
        for key in &moving {
            if let Some(at) = self.view.frames.iter().position(|frame| frame.key == *key) {
                let mut frame = self.view.frames.remove(at);
                frame.by.push(id);
                taken.push(Frame { moved: true, ..frame });
            }
        }
        let at = anchor.and_then(|key| self.view.frames.iter().position(|frame| frame.key == key));
        let at = at.map_or(0, |at| at + 1);
        self.view.frames.splice(at..at, taken);
        true
    }

    fn combine(&mut self, id: EffectId, frames: &[FrameRef]) -> bool {
        let mut keys: Vec<FrameKey> = Vec::new();
        for (part, frame) in (0..).zip(frames) {
            if let Some(at) = self.exactly(id, part, frame) {
                keys.push(self.view.frames[at].key);
            }
        }
        keys.dedup();
        let Some((first, others)) = keys.split_first().filter(|(_, others)| !others.is_empty()) else { return false };
        let (mut joined, mut by) = (Vec::new(), Vec::new());
        let mut pinned = false;
        let into = self.view.frames.iter().find(|frame| frame.key == *first).map(|frame| frame.id.clone());
        for key in others.iter().filter(|key| *key != first) {
            if let Some(at) = self.view.frames.iter().position(|frame| frame.key == *key) {
                let frame = self.view.frames.remove(at);
                pinned |= frame.pinned;
                by.extend(frame.by);
                self.view.became.push(Became { id: frame.id, into: into.clone(), by: id });
                joined.extend(frame.segments);
            }
        }
        if let Some(at) = self.view.frames.iter().position(|frame| frame.key == *first) {
            let frame = &mut self.view.frames[at];
            frame.segments.extend(joined);
            frame.pinned |= pinned;
            frame.combined = true;
            frame.by.extend(by);
            frame.by.push(id);
        }
        true
    }

    fn split(&mut self, id: EffectId, key: FrameKey, before: &[CutPoint]) -> bool {
        let Some(at) = self.locate(key) else { return false };
        let mut whole = self.view.frames[at].clone();
        whole.by.push(id);
        let mut parts = vec![Frame { id: whole.id.part(1), ..whole.clone() }];
        // A part is named by its cut, even if another cut is not on this path.
        for (part, cut) in (1..).zip(before) {
            let Some(last) = parts.last_mut() else { continue };
            let rest = match cut {
                CutPoint::Block(of, block) => self.number_of(of, *block).and_then(|number| last.cut_before(number)),
                CutPoint::Made(made) => last.cut_before_made(*made),
            };
            let Some(segments) = rest else { continue };
            let key = FrameKey::Made { effect: id, part };
            parts.push(Frame {
                id: whole.id.part(part + 1),
                key,
                segments,
                title: None,
                summary: None,
                ..whole.clone()
            });
        }
        if parts.len() < 2 {
            return false;
        }
        self.view.became.push(Became { id: whole.id, into: None, by: id });
        self.view.frames.splice(at..=at, parts);
        true
    }

    /// The block before which to cut. Inside a message, a human always speaks there.
    fn number_of(&self, of: &MessageRef, block: u32) -> Option<Number> {
        let message = self.message(of)?;
        let block = match block {
            0 => 0,
            _ => self.source.messages[message].speaks?,
        };
        Some(self.view.number(message, block as usize))
    }
}

impl Frame {
    pub(super) fn holds(&self, number: Number) -> bool {
        self.segments.iter().any(|segment| matches!(segment, Segment::Source(range) if range.contains(&number)))
    }

    /// Splits off everything from `number` on; `None` if either side would be empty.
    fn cut_before(&mut self, number: Number) -> Option<Vec<Segment>> {
        let at = self
            .segments
            .iter()
            .position(|segment| matches!(segment, Segment::Source(range) if range.contains(&number)))?;
        let Segment::Source(range) = self.segments[at].clone() else { return None };
        let mut rest = self.segments.split_off(at);
        if range.start < number {
            self.segments.push(Segment::Source(range.start..number));
            rest[0] = Segment::Source(number..range.end);
        }
        self.keep_some(rest)
    }

    /// The same from a message of an inserted frame on.
    fn cut_before_made(&mut self, made: NewMessageId) -> Option<Vec<Segment>> {
        let holds = |segment: &Segment| matches!(segment, Segment::Made(effect, messages) if *effect == made.effect && messages.contains(&made.message));
        let at = self.segments.iter().position(holds)?;
        let Segment::Made(effect, messages) = self.segments[at].clone() else { return None };
        let mut rest = self.segments.split_off(at);
        if messages.start < made.message {
            self.segments.push(Segment::Made(effect, messages.start..made.message));
            rest[0] = Segment::Made(effect, made.message..messages.end);
        }
        self.keep_some(rest)
    }

    /// Puts `rest` back if nothing would be left without it.
    fn keep_some(&mut self, rest: Vec<Segment>) -> Option<Vec<Segment>> {
        if self.segments.is_empty() {
            self.segments = rest;
            return None;
        }
        Some(rest)
    }

    /// Splits off everything behind `number`, the last block of the original frame.
    fn cut_behind(&mut self, number: Number) -> Option<Vec<Segment>> {
        // Only the end of a frame grows.
        let grown = self.ends_around(number) && self.ends_around(number + 1);
        if grown { self.cut_before(number + 1) } else { None }
    }

    fn ends_around(&self, number: Number) -> bool {
        matches!(self.segments.last(), Some(Segment::Source(range)) if range.contains(&number))
    }
}
