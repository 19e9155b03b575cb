//! Effects that cut, join, move and add frames. Blocks stay what they are.

use super::{Folding, Frame, FrameId, FrameKey, Number, Segment};
use crate::edit::effect::{Effect, EffectId, FrameRef, MessageRef, Place};

/// Parts that came to be because a frame went on growing are counted from here, those of a split from 1.
const REST: u32 = 1 << 16;

impl Folding<'_, '_, '_> {
    /// False when it sleeps: what it names is not on this path.
    pub(super) fn arrange(&mut self, id: EffectId, effect: &Effect) -> bool {
        match effect {
            Effect::Insert { number, to, title, .. } => {
                let Some(at) = self.after(id, to) else { return false };
                let frame = Frame {
                    id: FrameId::added(*number),
                    key: FrameKey::Made { effect: id, part: 0 },
                    segments: vec![Segment::Made(id)],
                    title: title.clone(),
                    summary: None,
                    pinned: false,
                    moved: false,
                    combined: false,
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
                true
            }
            Effect::Pin { frames, pinned } => {
                let found: Vec<usize> = frames.iter().filter_map(|key| self.locate(*key)).collect();
                found.iter().for_each(|&at| self.view.frames[at].pinned = *pinned);
                !found.is_empty()
            }
            Effect::Replace { .. } | Effect::Results { .. } | Effect::Restore { .. } => false,
        }
    }

    /// The frame of that name, else the one that its message lies in.
    fn locate(&self, key: FrameKey) -> Option<usize> {
        let frames = &self.view.frames;
        if let Some(at) = frames.iter().position(|frame| frame.key == key) {
            return Some(at);
        }
        let FrameKey::Opened(slot) = key else { return None };
        let message = *self.places.get(&slot)?;
        // The words of the human come last in their message.
        let number = self.view.starts[message + 1] - 1;
        frames.iter().position(|frame| frame.holds(number))
    }

    /// The frame that is meant, cut off behind the last block it had when it was named.
    fn exactly(&mut self, id: EffectId, part: u32, frame: &FrameRef) -> Option<usize> {
        let at = self.locate(frame.key)?;
        if let Some((of, block)) = frame.until
            && let Some(message) = self.message(&of)
        {
            let until = self.view.number(message, block as usize).min(self.view.starts[message + 1] - 1);
            if let Some(rest) = self.view.frames[at].cut_behind(until) {
                let whole = self.view.frames[at].id.clone();
                let taken = self.view.frames.iter().filter(|frame| frame.id.is_in(&whole)).count() as u32;
                let rest = Frame {
                    id: whole.part(taken + 1),
                    key: FrameKey::Made { effect: id, part: REST + part },
                    segments: rest,
                    ..self.view.frames[at].clone()
                };
                self.view.frames.insert(at + 1, Frame { moved: false, combined: false, title: None, ..rest });
            }
        }
        Some(at)
    }

    /// Where something that goes to `place` is inserted.
    fn after(&mut self, id: EffectId, place: &Place) -> Option<usize> {
        match place {
            Place::Start => Some(0),
            Place::After(frame) => self.exactly(id, REST, frame).map(|at| at + 1),
        }
    }

    fn shift(&mut self, id: EffectId, frames: &[FrameRef], to: &Place) -> bool {
        if let Place::After(anchor) = to
            && (self.locate(anchor.key).is_none() || frames.iter().any(|frame| frame.key == anchor.key))
        {
            return false;
        }
        let moving: Vec<FrameKey> = (0..)
            .zip(frames)
            .filter_map(|(part, frame)| {
                let at = self.exactly(id, part, frame)?;
                Some(self.view.frames[at].key)
            })
            .collect();
        if moving.is_empty() {
            return false;
        }
        // The anchor is cut before anything leaves, so that its rest stays where it is.
        let _ = self.after(id, to);
        let mut taken = Vec::new();
        for key in &moving {
            if let Some(at) = self.view.frames.iter().position(|frame| frame.key == *key) {
                taken.push(Frame { moved: true, ..self.view.frames.remove(at) });
            }
        }
        let at = match to {
            Place::Start => 0,
            Place::After(anchor) => self.locate(anchor.key).map_or(self.view.frames.len(), |at| at + 1),
        };
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
        let mut joined = Vec::new();
        let mut pinned = false;
        for key in others.iter().filter(|key| *key != first) {
            if let Some(at) = self.view.frames.iter().position(|frame| frame.key == *key) {
                let frame = self.view.frames.remove(at);
                pinned |= frame.pinned;
                joined.extend(frame.segments);
            }
        }
        if let Some(at) = self.view.frames.iter().position(|frame| frame.key == *first) {
            let frame = &mut self.view.frames[at];
            frame.segments.extend(joined);
            frame.pinned |= pinned;
            frame.combined = true;
        }
        true
    }

    fn split(&mut self, id: EffectId, key: FrameKey, before: &[(MessageRef, u32)]) -> bool {
        let Some(at) = self.locate(key) else { return false };
        let mut cuts: Vec<Number> = before
            .iter()
            .filter_map(|(of, block)| Some(self.view.number(self.message(of)?, *block as usize)))
            .filter(|&number| self.view.frames[at].holds(number))
            .collect();
        cuts.dedup();
        let whole = self.view.frames[at].clone();
        let mut parts = vec![whole.clone()];
        for cut in cuts {
            let Some(rest) = parts.last_mut().and_then(|last| last.cut_before(cut)) else { continue };
            let key = FrameKey::Made { effect: id, part: parts.len() as u32 };
            parts.push(Frame { key, segments: rest, title: None, ..whole.clone() });
        }
        if parts.len() < 2 {
            return false;
        }
        for (number, part) in (1..).zip(&mut parts) {
            part.id = whole.id.part(number);
        }
        self.view.frames.splice(at..=at, parts);
        true
    }
}

impl Frame {
    pub(super) fn holds(&self, number: Number) -> bool {
        self.segments.iter().any(|segment| matches!(segment, Segment::Source(range) if range.contains(&number)))
    }

    /// Takes off what stands from `number` on; `None` when nothing would be left on either side.
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
        if self.segments.is_empty() {
            self.segments = rest;
            return None;
        }
        Some(rest)
    }

    /// Takes off what has arrived behind `number`, the last block that was there.
    fn cut_behind(&mut self, number: Number) -> Option<Vec<Segment>> {
        // Only the end of a frame grows.
        match self.segments.last() {
            Some(Segment::Source(range)) if range.contains(&number) && number + 1 < range.end => {
                self.cut_before(number + 1)
            }
            _ => None,
        }
    }
}
