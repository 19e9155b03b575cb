//! Recognising the resend: which message of a request is which slot.
//!
//! Order of trust: the exact prefix; then ids that the provider gave; then texts, but only beside
//! something already recognised. A wrong attachment is worse than a missed one: it would let an
//! edit hit a message that nobody edited.

use crate::key::Key;
use crate::message::{Anchor, Message, Role};
use crate::tree::{NodeIx, Slot, SlotId, Tree};
use std::collections::HashSet;

/// Where one message of the request belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Known(SlotId),
    New,
}

/// What the client did, as far as its request tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The first request of a conversation.
    New,
    /// The known history and something new behind it.
    Next,
    /// The same messages again.
    Retry,
    /// The history was cut back; what follows, if anything, is new.
    Rewind,
    /// A branch that had been left is taken up again.
    Return,
    /// The client summarised its history; the tail it kept was recognised.
    Compaction,
    /// The history was rendered anew (another model, a fall-back); it was recognised by anchors.
    Rerender,
    /// Nothing of it was seen before in this conversation.
    Unrelated,
}

impl Verdict {
    pub fn name(self) -> &'static str {
        match self {
            Verdict::New => "new",
            Verdict::Next => "next",
            Verdict::Retry => "retry",
            Verdict::Rewind => "rewind",
            Verdict::Return => "return",
            Verdict::Compaction => "compaction",
            Verdict::Rerender => "rerender",
            Verdict::Unrelated => "unrelated",
        }
    }
}

/// The request as a path: known nodes down to `base`, then `places`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reconciled {
    pub base: Option<NodeIx>,
    /// Messages covered by `base`.
    pub depth: usize,
    /// One for each message behind `base`.
    pub places: Vec<Place>,
    pub verdict: Verdict,
}

impl Reconciled {
    /// Messages recognised, `base` included.
    pub fn known(&self) -> usize {
        self.depth + self.places.iter().filter(|place| matches!(place, Place::Known(_))).count()
    }

    pub fn new_messages(&self) -> usize {
        self.places.iter().filter(|place| matches!(place, Place::New)).count()
    }
}

/// What the matcher is told of the request.
pub struct Sighting<'a> {
    /// Leading messages whose bytes equal those of the current path.
    pub same: usize,
    /// The messages behind them.
    pub rest: &'a [Message],
    /// The client said, or the first message shows, that it has just summarised its history.
    pub compacted: bool,
}

/// Places a request in the tree. Pure: the tree is changed only by who applies the result.
pub fn reconcile(tree: &Tree, sighting: &Sighting<'_>) -> Reconciled {
    let same = sighting.same.min(tree.current().len());
    let mut depth = same;
    let mut base = same.checked_sub(1).map(|last| tree.current()[last]);
    let mut rest = sighting.rest;
    while let Some((message, later)) = rest.split_first() {
        let Some(child) = tree.child_with_key(base, message.key) else { break };
        (base, rest, depth) = (Some(child), later, depth + 1);
    }
    let places = Matcher::new(tree, base, rest).run();
    let verdict = judge(tree, base, &places, sighting.compacted);
    Reconciled { base, depth, places, verdict }
}

fn judge(tree: &Tree, base: Option<NodeIx>, places: &[Place], compacted: bool) -> Verdict {
    let tip = tree.current().last().copied();
    let on_current = base.is_none_or(|node| tree.depth_on_current(node).is_some());
    let recognised = places.iter().any(|place| matches!(place, Place::Known(_)));
    match base {
        _ if tree.is_empty() => Verdict::New,
        None if compacted => Verdict::Compaction,
        None if matches!(places.first(), Some(Place::Known(_))) => Verdict::Rerender,
        None if recognised => Verdict::Compaction,
        None => Verdict::Unrelated,
        Some(_) if base == tip && places.is_empty() => Verdict::Retry,
        Some(_) if base == tip => Verdict::Next,
        Some(_) if recognised => Verdict::Rerender,
        Some(_) if on_current => Verdict::Rewind,
        Some(_) => Verdict::Return,
    }
}

/// Places the messages that the exact walk could not.
struct Matcher<'a> {
    tree: &'a Tree,
    base: Option<NodeIx>,
    rest: &'a [Message],
    placed: Vec<Option<SlotId>>,
    used: HashSet<SlotId>,
}

impl<'a> Matcher<'a> {
    fn new(tree: &'a Tree, base: Option<NodeIx>, rest: &'a [Message]) -> Self {
        Matcher { tree, base, rest, placed: vec![None; rest.len()], used: HashSet::new() }
    }

    fn run(mut self) -> Vec<Place> {
        if self.might_be_known() {
            let path = self.tree.path_to(self.base);
            self.used = path.into_iter().map(|node| self.tree.slot_at(node).id).collect();
            self.by_ids();
            self.by_neighbours();
            if self.by_long_texts() {
                self.by_neighbours();
            }
        }
        self.placed.into_iter().map(|slot| slot.map_or(Place::New, Place::Known)).collect()
    }

    /// A plain next turn ends here: at the tip, and with no anchor that was ever seen.
    fn might_be_known(&self) -> bool {
        let at_tip = self.base == self.tree.current().last().copied();
        let mut anchors = self.rest.iter().flat_map(|message| &message.anchors);
        !self.rest.is_empty() && (!at_tip || anchors.any(|&anchor| self.tree.anchored(anchor).is_some()))
    }

    fn take(&mut self, at: usize, slot: SlotId) {
        self.placed[at] = Some(slot);
        self.used.insert(slot);
    }

    fn free<'s>(&self, slot: &'s Slot, message: &Message) -> Option<&'s Slot> {
        (slot.message.role == message.role && !self.used.contains(&slot.id)).then_some(slot)
    }

    /// Tool ids and signatures: all that are known must name the same slot.
    fn by_ids(&mut self) {
        for (at, message) in self.rest.iter().enumerate() {
            let mut found: Option<&Slot> = None;
            let mut agreed = true;
            for &anchor in &message.anchors {
                if let (Anchor::Id(_), Some(slot)) = (anchor, self.tree.anchored(anchor)) {
                    agreed &= found.is_none_or(|other| other.id == slot.id);
                    found = Some(slot);
                }
            }
            if let Some(slot) = found.filter(|_| agreed).and_then(|slot| self.free(slot, message)) {
                self.take(at, slot.id);
            }
        }
    }

    /// Any message with a known key, beside a recognised one that it stood beside before.
    fn by_neighbours(&mut self) {
        loop {
            let before = self.used.len();
            for at in 0..self.rest.len() {
                self.after_known(at);
            }
            for at in (0..self.rest.len()).rev() {
                self.before_known(at);
            }
            if self.used.len() == before {
                return;
            }
        }
    }

    fn after_known(&mut self, at: usize) {
        if self.placed[at].is_some() {
            return;
        }
        let previous = match self.step_back(at) {
            Some(index) => match self.placed[index] {
                Some(slot) => Some(slot),
                None => return,
            },
            None => self.base.map(|node| self.tree.slot_at(node).id),
        };
        let known = self.tree.successors(previous);
        self.take_matching(at, &known);
    }

    fn before_known(&mut self, at: usize) {
        if self.placed[at].is_some() {
            return;
        }
        let next = self.step_on(at).and_then(|index| self.placed[index]);
        if let Some(next) = next {
            let known = self.tree.predecessors(next);
            self.take_matching(at, &known);
        }
    }

    fn take_matching(&mut self, at: usize, known: &[&Slot]) {
        let message = &self.rest[at];
        let slot =
            known.iter().find_map(|slot| self.free(slot, message).filter(|slot| slot.message.key == message.key));
        if let Some(slot) = slot {
            self.take(at, slot.id);
        }
    }

    /// Long texts that nothing recognised stands beside yet: believed when a neighbour in the
    /// request says the same as a neighbour of the slot did.
    fn by_long_texts(&mut self) -> bool {
        let mut any = false;
        for at in 0..self.rest.len() {
            let message = &self.rest[at];
            if self.placed[at].is_some() {
                continue;
            }
            let slot = message.anchors.iter().find_map(|&anchor| match anchor {
                Anchor::Text(_) => self.tree.anchored(anchor),
                Anchor::Id(_) => None,
            });
            let Some(slot) = slot.and_then(|slot| self.free(slot, message)) else { continue };
            if slot.message.key == message.key && self.supported(at, slot) {
                self.take(at, slot.id);
                any = true;
            }
        }
        any
    }

    fn supported(&self, at: usize, slot: &Slot) -> bool {
        let says = |index: Option<usize>| index.map(|index| self.rest[index].key);
        let among = |key: Option<Key>, slots: Vec<&Slot>| {
            key.is_some_and(|key| slots.iter().any(|slot| slot.message.key == key))
        };
        among(says(self.step_back(at)), self.tree.predecessors(slot.id))
            || among(says(self.step_on(at)), self.tree.successors(Some(slot.id)))
    }

    /// The neighbour before; system messages come and go between renderings and are passed over.
    fn step_back(&self, at: usize) -> Option<usize> {
        (0..at).rev().find(|&index| self.placed[index].is_some() || self.rest[index].role != Role::System)
    }

    fn step_on(&self, at: usize) -> Option<usize> {
        (at + 1..self.rest.len()).find(|&index| self.placed[index].is_some() || self.rest[index].role != Role::System)
    }
}
