//! Queries of the tree: candidates for a slot, and neighbours.

use super::{AnchorSlots, NodeIx, Slot, SlotId, Tree};
use crate::message::{Anchor, Kind, Message, Role};

/// The maximum run of injected messages and reasoning to look past.
pub(crate) const REACH: usize = 8;

/// The number of places of a slot to examine, newest first. Only a client that rewrites its whole history with every
/// request has more.
const PLACES: usize = 32;

/// Whether the client injected the message. Such messages come and go between two renderings of the same history, so
/// they do not separate neighbours.
pub(crate) fn is_injected(message: &Message) -> bool {
    match message.role {
        Role::System => true,
        Role::User => message.speaks.is_none() && !message.has_results(),
        Role::Assistant | Role::Other => false,
    }
}

/// Whether two renderings of the same history may differ by the message: the client injected it, or it is only reasoning,
/// which clients leave out for another model.
pub(crate) fn comes_and_goes(message: &Message) -> bool {
    is_injected(message) || is_reasoning(message)
}

fn is_reasoning(message: &Message) -> bool {
    let mut blocks = message.blocks.iter();
    message.role == Role::Assistant && !message.blocks.is_empty() && blocks.all(|block| block.kind == Kind::Thinking)
}

impl Tree {
    /// The only slot of `anchor`.
    pub(crate) fn anchored(&self, anchor: Anchor) -> Option<&Slot> {
        match self.anchors.get(&anchor)? {
            AnchorSlots::One(ix) => Some(&self.slots[*ix as usize]),
            AnchorSlots::Many => None,
        }
    }

    /// Whether `slot` holds this very message. The same words with other ids do not match, such as a regenerated
    /// answer.
    pub(crate) fn is_same(&self, slot: &Slot, message: &Message) -> bool {
        slot.message.key == message.key && !self.contradicts(slot, message)
    }

    /// Whether the message has an id that no version of the slot had. Ids may be missing: a client removes old
    /// thinking.
    pub(crate) fn contradicts(&self, slot: &Slot, message: &Message) -> bool {
        let leads_here = |anchor: &Anchor| match self.anchors.get(anchor) {
            Some(AnchorSlots::One(ix)) => self.slots[*ix as usize].id == slot.id,
            Some(AnchorSlots::Many) => true,
            None => false,
        };
        let mut ids = message.anchors.iter().filter(|anchor| matches!(anchor, Anchor::Id(_)));
        slot.identified && !ids.all(leads_here)
    }

    /// The child of `at` that holds `message`.
    pub(crate) fn child_like(&self, at: Option<NodeIx>, message: &Message) -> Option<NodeIx> {
        self.best(self.children(at), message, |_| true)
    }

    /// The nearest slot that ever followed `slot` (or began a path) and holds `message`.
    pub(crate) fn after(
        &self,
        slot: Option<SlotId>,
        message: &Message,
        free: impl Fn(&Slot) -> bool,
    ) -> Option<SlotId> {
        self.nearest(self.places(slot), |node| self.children(node).to_vec(), message, free)
    }

    /// The slots that ever followed `slot` directly, those on the current path first.
    pub(crate) fn followers(&self, slot: SlotId) -> impl Iterator<Item = &Slot> {
        let mut behind: Vec<NodeIx> =
            self.places(Some(slot)).into_iter().flat_map(|node| self.children(node)).copied().collect();
        behind.sort_by_key(|&node| std::cmp::Reverse((self.depth_on_current(node).is_some(), node)));
        behind.into_iter().map(|node| self.slot_at(node))
    }

    /// The nearest slot that ever stood before `slot` and holds `message`.
    pub(crate) fn before(&self, slot: SlotId, message: &Message, free: impl Fn(&Slot) -> bool) -> Option<SlotId> {
        let above = |node: Option<NodeIx>| node.and_then(|node| self.parent(node)).into_iter().collect();
        self.nearest(self.places(Some(slot)), above, message, free)
    }

    /// Whether anything but injected messages was ever seen behind `node`.
    pub(crate) fn goes_on(&self, node: Option<NodeIx>) -> bool {
        let mut from = self.places(node.map(|node| self.slot_at(node).id));
        for _ in 0..REACH {
            let level: Vec<NodeIx> = from.iter().flat_map(|&node| self.children(node)).copied().collect();
            if level.is_empty() {
                return false;
            }
            if level.iter().any(|&node| !is_injected(&self.slot_at(node).message)) {
                return true;
            }
            from = level.into_iter().map(Some).collect();
        }
        true
    }

    /// The current path behind `node`; empty if `node` is not on it.
    pub(crate) fn current_behind(&self, node: Option<NodeIx>) -> &[NodeIx] {
        let from = match node {
            Some(node) => self.depth_on_current(node).map_or(self.current.len(), |depth| depth + 1),
            None => 0,
        };
        &self.current[from..]
    }

    /// The depth of `slot` on the current path, if it is on it.
    pub fn depth_of(&self, slot: SlotId) -> Option<usize> {
        self.on_current(slot).and_then(|node| self.depth_on_current(node))
    }

    /// The node of `slot` on the current path.
    pub(crate) fn on_current(&self, slot: SlotId) -> Option<NodeIx> {
        self.slot(slot)?.nodes.iter().rev().copied().find(|&node| self.depth_on_current(node).is_some())
    }

    /// The slots that stood between two others, if there were exactly `count` of them. `None` on the left is the
    /// beginning.
    pub(crate) fn between(&self, left: Option<SlotId>, right: SlotId, count: usize) -> Option<Vec<SlotId>> {
        let newest = self.slot(right)?.nodes.iter().rev().take(PLACES).copied();
        let mut slots = self.on_current(right).into_iter().chain(newest).find_map(|node| {
            let mut above = std::iter::successors(self.parent(node), |&node| self.parent(node));
            let slots: Vec<SlotId> = above.by_ref().take(count).map(|node| self.slot_at(node).id).collect();
            (slots.len() == count && above.next().map(|node| self.slot_at(node).id) == left).then_some(slots)
        })?;
        slots.reverse();
        Some(slots)
    }

    /// The newest nodes of a slot; for `None`, the place before all roots.
    fn places(&self, slot: Option<SlotId>) -> Vec<Option<NodeIx>> {
        match slot {
            Some(id) => {
                let nodes = self.slot(id).map(|slot| slot.nodes.as_slice()).unwrap_or_default();
                nodes.iter().rev().take(PLACES).copied().map(Some).collect()
            }
            None => vec![None],
        }
    }

    /// Walks from place to place, past messages that come and go, until one holds `message`.
    fn nearest(
        &self,
        mut from: Vec<Option<NodeIx>>,
        step: impl Fn(Option<NodeIx>) -> Vec<NodeIx>,
        message: &Message,
        free: impl Fn(&Slot) -> bool,
    ) -> Option<SlotId> {
        for _ in 0..REACH {
            let level: Vec<NodeIx> = from.into_iter().flat_map(&step).collect();
            if let Some(node) = self.best(&level, message, &free) {
                return Some(self.slot_at(node).id);
            }
            from = level.into_iter().filter(|&node| comes_and_goes(&self.slot_at(node).message)).map(Some).collect();
            if from.is_empty() {
                break;
            }
        }
        None
    }

    /// The node that holds `message`: one on the current path if possible, else the newest.
    fn best(&self, nodes: &[NodeIx], message: &Message, free: impl Fn(&Slot) -> bool) -> Option<NodeIx> {
        let fits = |&node: &NodeIx| {
            let slot = self.slot_at(node);
            self.is_same(slot, message) && free(slot)
        };
        nodes.iter().copied().filter(fits).max_by_key(|&node| (self.depth_on_current(node).is_some(), node))
    }
}
