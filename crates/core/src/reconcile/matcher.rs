//! The rules for messages that the exact walk could not place, most trusted first.

use super::{Place, at_end, summary};
use crate::message::{Anchor, Block, Message, Role};
use crate::tree::{NodeIx, REACH, Slot, SlotId, Tree, comes_and_goes, is_injected};
use std::collections::HashSet;

pub(super) struct Matcher<'a> {
    tree: &'a Tree,
    base: Option<NodeIx>,
    rest: &'a [Message],
    placed: Vec<Option<SlotId>>,
    used: HashSet<SlotId>,
}

impl<'a> Matcher<'a> {
    pub fn new(tree: &'a Tree, base: Option<NodeIx>, rest: &'a [Message]) -> Self {
        Matcher { tree, base, rest, placed: vec![None; rest.len()], used: HashSet::new() }
    }

    pub fn run(mut self, compacted: bool, unanswered: bool) -> Vec<Place> {
        // A plain next turn: nothing was ever seen behind this place, so the rest is new. The rest of the tree is not
        // searched: a pasted prompt is a new message.
        let beyond = at_end(self.tree, self.base) && !self.tree.goes_on(self.base);
        if !beyond && !self.rest.is_empty() {
            let path = self.tree.path_to(self.base);
            self.used = path.into_iter().map(|node| self.tree.slot_at(node).id).collect();
            self.by_ids();
            if compacted {
                self.by_kept_prompts();
            }
            self.by_neighbours();
            if self.by_kept_end() || self.by_long_texts() {
                self.by_neighbours();
            }
            if unanswered {
                self.joined();
            }
        }
        self.rewritten();
        self.placed.into_iter().map(|slot| slot.map_or(Place::New, Place::Known)).collect()
    }

    fn take(&mut self, at: usize, slot: SlotId) {
        self.placed[at] = Some(slot);
        self.used.insert(slot);
    }

    fn is_free(&self, slot: &Slot) -> bool {
        !self.used.contains(&slot.id)
    }

    /// Whether the message can be another version of the slot.
    fn fits(&self, slot: &Slot, message: &Message) -> bool {
        slot.message.role == message.role && self.is_free(slot) && !self.tree.contradicts(slot, message)
    }

    /// By tool ids and signatures, none of which may name another slot. What follows a new answer is new too: some
    /// providers restart their ids from zero. Words without ids before a call are known with it.
    fn by_ids(&mut self) {
        let mut new_answer = false;
        for (at, message) in self.rest.iter().enumerate() {
            let mut ids = message.anchors.iter().filter(|anchor| matches!(anchor, Anchor::Id(_)));
            let slot = ids.find_map(|&anchor| self.tree.anchored(anchor)).filter(|slot| self.fits(slot, message));
            let words = slot.filter(|_| new_answer).and_then(|slot| self.words_before(at, slot));
            if let Some(slot) = slot.filter(|_| !new_answer || words.is_some()) {
                words.into_iter().for_each(|(before, words)| self.take(before, words));
                self.take(at, slot.id);
            }
            if !is_injected(message) {
                new_answer = message.role == Role::Assistant && self.placed[at].is_none();
            }
        }
    }

    /// The message without ids before `at`, and its slot if it stood before `slot`.
    fn words_before(&self, at: usize, slot: &Slot) -> Option<(usize, SlotId)> {
        let before = (0..at).rev().take(REACH).find(|&before| !is_injected(&self.rest[before]))?;
        let has_ids = self.rest[before].anchors.iter().any(|anchor| matches!(anchor, Anchor::Id(_)));
        let found = self.tree.before(slot.id, &self.rest[before], |slot| self.is_free(slot))?;
        (self.placed[before].is_none() && !has_ids).then_some((before, found))
    }

    /// By the human's words that the client kept in front of its summary: the last ones of the path, in order. The first
    /// of them may be cut, and the last one may be the prompt that the client summarised for.
    fn by_kept_prompts(&mut self) {
        let speaks = |message: &Message| message.speaks.is_some() && !summary::is_summary(message);
        let kept = 0..summary::place(self.rest).unwrap_or(0);
        let kept: Vec<usize> = kept.filter(|&at| speaks(&self.rest[at])).collect();
        let behind = self.tree.current_behind(self.base).iter().rev();
        let prompts: Vec<&Slot> =
            behind.map(|&node| self.tree.slot_at(node)).filter(|slot| speaks(&slot.message)).collect();
        let same = |(&at, slot): (&usize, &&Slot)| self.tree.is_same(slot, &self.rest[at]).then_some((at, slot.id));
        let aligned = |new: usize| -> Vec<(usize, SlotId)> {
            kept.iter().rev().skip(new).zip(&prompts).map_while(same).collect()
        };
        let (with_new, without_new) = (aligned(1), aligned(0));
        let is_new = with_new.len() > without_new.len();
        let pairs = if is_new { with_new } else { without_new };
        if pairs.len() + 1 + usize::from(is_new) < kept.len() {
            return;
        }
        for (at, slot) in pairs {
            if self.placed[at].is_none() && !self.used.contains(&slot) {
                self.take(at, slot);
            }
        }
    }

    /// By position next to a recognised message that was a neighbour before.
    fn by_neighbours(&mut self) {
        let mut previous = Some(self.base.map(|node| self.tree.slot_at(node).id));
        for (at, message) in self.rest.iter().enumerate() {
            let known = self.placed[at].or_else(|| self.tree.after(previous?, message, |slot| self.is_free(slot)));
            if let Some(slot) = known.or_else(|| self.changed_results(previous??, at)) {
                self.take(at, slot);
                previous = Some(Some(slot));
            } else if !is_injected(message) {
                previous = None;
            }
        }
        let mut next = None;
        for (at, message) in self.rest.iter().enumerate().rev() {
            let known = self.placed[at].or_else(|| self.tree.before(next?, message, |slot| self.is_free(slot)));
            if let Some(slot) = known {
                self.take(at, slot);
                next = Some(slot);
            } else if !is_injected(message) {
                next = None;
            }
        }
    }

    /// Results without ids that the client cleared or doubled: behind the same call, before the same message.
    fn changed_results(&self, call: SlotId, at: usize) -> Option<SlotId> {
        let has_ids = |message: &Message| message.anchors.iter().any(|anchor| matches!(anchor, Anchor::Id(_)));
        let message = self.rest.get(at).filter(|message| message.has_results() && !has_ids(message))?;
        let next = self.rest[at + 1..].iter().find(|message| !comes_and_goes(message))?;
        let is_before = |slot: &&Slot| self.tree.after(Some(slot.id), next, |_| true).is_some();
        let behind = self.tree.followers(call).find(|slot| {
            slot.message.has_results() && !has_ids(&slot.message) && self.fits(slot, message) && is_before(slot)
        });
        behind.map(|slot| slot.id)
    }

    /// By the kept end of the path after a different front, as after a client's summary. Everything the model said was
    /// seen before, except its reply to the last request: so the kept end stands before that reply, or at the end of
    /// the request.
    fn by_kept_end(&mut self) -> bool {
        let is_answer = |at: &usize| self.rest[*at].role == Role::Assistant;
        let is_long = |at: &usize| self.rest[*at].anchors.iter().any(|anchor| matches!(anchor, Anchor::Text(_)));
        let reply = (0..self.rest.len()).rev().find(is_answer).filter(|&at| self.placed[at].is_none());
        let before_reply = self.kept_before(reply.unwrap_or(0));
        let mut at_end = self.kept_before(self.rest.len());
        // Without a reply behind them, a few short words prove nothing: they may be new.
        if !(at_end.iter().any(|(at, _)| is_answer(at)) && at_end.iter().any(|(at, _)| is_long(at))) {
            at_end.clear();
        }
        let kept = match (before_reply.is_empty(), at_end.is_empty()) {
            (false, true) => before_reply,
            (true, false) => at_end,
            _ => return false, // neither, or no way to tell
        };
        kept.iter().for_each(|&(at, slot)| self.take(at, slot));
        true
    }

    /// Pairs the messages before `end` with the end of the current path. All of them must match, except the new front.
    fn kept_before(&self, end: usize) -> Vec<(usize, SlotId)> {
        let said = |at: &usize| !comes_and_goes(&self.rest[*at]);
        let path = self.tree.current().iter().rev().map(|&node| self.tree.slot_at(node));
        let pairs = (0..end).rev().filter(said).zip(path.filter(|slot| !comes_and_goes(&slot.message)));
        let kept: Vec<(usize, SlotId)> = pairs
            .take_while(|&(at, slot)| self.placed[at].is_none() && self.is_free(slot))
            .take_while(|&(at, slot)| self.tree.is_same(slot, &self.rest[at]))
            .map(|(at, slot)| (at, slot.id))
            .collect();
        let first = kept.last().map_or(0, |&(at, _)| at);
        // The model acknowledges a summary that some clients send.
        let is_receipt = self.rest.first().is_some_and(summary::is_summary)
            && self.rest.get(1).is_some_and(|message| message.role == Role::Assistant);
        let front = if is_receipt { 2 } else { 1 };
        let unexplained = (0..first).filter(said).filter(|&at| self.placed[at].is_none()).count();
        if self.base.is_none() && unexplained <= front { kept } else { Vec::new() }
    }

    /// By long texts without a recognised neighbour: accepted if a neighbour in the request has the same text as a
    /// neighbour of the slot. The text alone may be a repetition.
    fn by_long_texts(&mut self) -> bool {
        let before = self.used.len();
        for (at, message) in self.rest.iter().enumerate().filter(|(_, message)| !is_injected(message)) {
            let texts = message.anchors.iter().filter(|anchor| matches!(anchor, Anchor::Text(_)));
            let slot = texts
                .filter_map(|&anchor| self.tree.anchored(anchor))
                .find(|slot| self.placed[at].is_none() && self.is_free(slot) && self.tree.is_same(slot, message));
            if let Some(slot) = slot.filter(|slot| self.is_supported(at, slot)) {
                self.take(at, slot.id);
            }
        }
        self.used.len() > before
    }

    fn is_supported(&self, at: usize, slot: &Slot) -> bool {
        let said = |message: &&Message| !comes_and_goes(message);
        let previous = self.rest[..at].iter().rev().take(REACH).find(said);
        let next = self.rest[at + 1..].iter().take(REACH).find(said);
        previous.is_some_and(|message| self.tree.before(slot.id, message, |_| true).is_some())
            || next.is_some_and(|message| self.tree.after(Some(slot.id), message, |_| true).is_some())
    }

    /// A last message that was never answered, with more behind its words: some clients put the next prompt there.
    fn joined(&mut self) {
        let said = |message: &Message| !is_injected(message);
        let behind = self.tree.current_behind(self.base).iter().map(|&node| self.tree.slot_at(node));
        let behind: Vec<&Slot> = behind.filter(|slot| said(&slot.message)).collect();
        let (&[last], Some(at)) = (behind.as_slice(), self.rest.iter().position(said)) else { return };
        let message = &self.rest[at];
        if self.placed[at].is_none() && self.fits(last, message) && begins_with(message, &last.message) {
            self.take(at, last.id);
        }
    }

    /// By position between the same neighbours: such messages are the old ones, rewritten.
    fn rewritten(&mut self) {
        let mut at = 0;
        while at < self.rest.len() {
            let end = (at..self.rest.len()).find(|&index| self.placed[index].is_some()).unwrap_or(self.rest.len());
            let run = &self.rest[at..end];
            let left = match at.checked_sub(1) {
                Some(before) => self.placed[before],
                None => self.base.map(|node| self.tree.slot_at(node).id),
            };
            let old = match (left, self.placed.get(end).copied().flatten()) {
                // Another front may be a summary of everything before.
                (None, _) if !run.iter().all(is_injected) => None,
                // A human may repeat the last words with another attachment.
                (_, Some(_)) if end + 1 == self.rest.len() && run.iter().any(|one| one.role == Role::User) => None,
                (left, Some(right)) => self.tree.between(left, right, run.len()),
                (Some(left), None) => self.notes_behind(left, run),
                (None, None) => None,
            };
            self.take_all(at, &old.unwrap_or_default());
            at = end + 1;
        }
    }

    /// The system messages that end the current path behind `left`, if their number is the same now.
    fn notes_behind(&self, left: SlotId, run: &[Message]) -> Option<Vec<SlotId>> {
        let is_note = |message: &&Message| message.role == Role::System;
        let behind = self.tree.current_behind(Some(self.tree.on_current(left)?));
        let old: Vec<&Slot> = behind.iter().take(REACH).map(|&node| self.tree.slot_at(node)).collect();
        let same_count = old.len() == run.iter().take_while(is_note).count();
        (same_count && old.iter().all(|slot| is_note(&&slot.message))).then(|| old.iter().map(|slot| slot.id).collect())
    }

    fn take_all(&mut self, at: usize, slots: &[SlotId]) {
        let fits =
            |(id, message): (&SlotId, &Message)| self.tree.slot(*id).is_some_and(|slot| self.fits(slot, message));
        if slots.iter().zip(&self.rest[at..]).all(fits) {
            slots.iter().enumerate().for_each(|(index, slot)| self.take(at + index, *slot));
        }
    }
}

/// Whether a message has all blocks of another one, and more behind them.
fn begins_with(message: &Message, old: &Message) -> bool {
    let identity = |block: &Block| (block.kind, block.chars, block.label.clone(), block.tool_use_id.clone());
    let is_longer = message.blocks.len() > old.blocks.len() && !old.blocks.is_empty();
    is_longer && old.blocks.iter().zip(&message.blocks).all(|(old, new)| identity(old) == identity(new))
}
