//! Slots and the tree of paths they form.
//!
//! A *slot* is the permanent identity of one client message. A *node* is a slot at a place: a slot has two nodes when a
//! client compaction moved the tail under a new root. Every request is a path from a root to a tip; the *current* path
//! is the displayed one.
//!
//! This module grows the tree from the log; [`search`] queries it. [`crate::reconcile`] matches messages to slots.

mod search;

use crate::links;
use crate::message::{Anchor, Kind, Message, Role};
pub(crate) use search::{REACH, comes_and_goes, is_injected};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// Names a slot, in this conversation and its forks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SlotId(pub u64);

/// A place in the tree of one conversation. Assigned in order, so a replayed log gives the same.
pub type NodeIx = u32;

#[derive(Debug, PartialEq, Eq)]
pub struct Slot {
    pub id: SlotId,
    /// The newest version seen.
    pub message: Message,
    /// The number of versions before it.
    pub version: u32,
    /// Whether a version of it carried ids.
    identified: bool,
    nodes: Vec<NodeIx>,
}

#[derive(Debug, PartialEq, Eq)]
struct Node {
    parent: Option<NodeIx>,
    slot: u32,
    children: Vec<NodeIx>,
}

/// The slots of an anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnchorSlots {
    One(u32),
    Many,
}

/// A change of the current path.
#[derive(Debug, PartialEq, Eq)]
pub struct PathChange {
    /// The number of leading nodes that stayed.
    pub kept: usize,
    /// The nodes behind them that are no longer on the path.
    pub left: Vec<NodeIx>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Tree {
    seed: u64,
    /// The number the next new slot gets.
    next: u64,
    slots: Vec<Slot>,
    by_id: HashMap<SlotId, u32>,
    nodes: Vec<Node>,
    roots: Vec<NodeIx>,
    anchors: HashMap<Anchor, AnchorSlots>,
    current: Vec<NodeIx>,
}

impl Tree {
    /// An empty tree whose slot ids do not collide with those of other seeds.
    pub fn new(seed: u64) -> Tree {
        Tree {
            seed: seed << 24,
            next: 0,
            slots: Vec::new(),
            by_id: HashMap::new(),
            nodes: Vec::new(),
            roots: Vec::new(),
            anchors: HashMap::new(),
            current: Vec::new(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub fn node_count(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// The number of slots so far.
    pub fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// The number of slots that came before this one.
    pub fn number_of(&self, id: SlotId) -> Option<usize> {
        self.by_id.get(&id).map(|&ix| ix as usize)
    }

    /// The id for a new slot, after `ahead` reserved ones.
    pub fn next_slot(&self, ahead: usize) -> SlotId {
        SlotId(self.seed | (self.next + ahead as u64))
    }

    /// Excludes this id from new slots. Ids of other trees are ignored.
    pub fn reserve(&mut self, id: SlotId) {
        const NUMBER: u64 = (1 << 24) - 1;
        if id.0 & !NUMBER == self.seed {
            self.next = self.next.max((id.0 & NUMBER) + 1);
        }
    }

    pub fn slot(&self, id: SlotId) -> Option<&Slot> {
        self.by_id.get(&id).map(|&ix| &self.slots[ix as usize])
    }

    /// Records a version of a slot; the first one creates it.
    pub fn put(&mut self, id: SlotId, mut message: Message) {
        self.reserve(id);
        links::name_calls(&mut message, id);
        let ix = *self.by_id.entry(id).or_insert(self.slots.len() as u32);
        for &anchor in &message.anchors {
            self.anchors
                .entry(anchor)
                .and_modify(|found| {
                    if *found != AnchorSlots::One(ix) {
                        *found = AnchorSlots::Many;
                    }
                })
                .or_insert(AnchorSlots::One(ix));
        }
        let identified = message.anchors.iter().any(|anchor| matches!(anchor, Anchor::Id(_)));
        match self.slots.get_mut(ix as usize) {
            Some(slot) => {
                slot.message = message;
                slot.version += 1;
                slot.identified |= identified;
            }
            None => self.slots.push(Slot { id, message, version: 0, identified, nodes: Vec::new() }),
        }
        (0..self.slots[ix as usize].nodes.len()).for_each(|at| self.link(self.slots[ix as usize].nodes[at]));
    }

    /// Corrects the tokens of a block that its characters do not tell.
    pub fn set_fixed_tokens(&mut self, id: SlotId, block: usize, tokens: u32) {
        let slot = self.by_id.get(&id).and_then(|&ix| self.slots.get_mut(ix as usize));
        if let Some(block) = slot.and_then(|slot| slot.message.blocks.get_mut(block)) {
            block.fixed_tokens = tokens;
        }
    }

    /// Gives the calls at a node ids that no call before it has, and its results those of their calls.
    fn link(&mut self, node: NodeIx) {
        let slot = self.nodes[node as usize].slot as usize;
        let taken = self.taken(self.parent(node), &self.slots[slot].message, Some(slot as u32));
        let id = self.slots[slot].id;
        let is_taken = |id: &str| taken.iter().any(|taken| **taken == *id);
        if !taken.is_empty() && links::rename_calls(&mut self.slots[slot].message, id, is_taken) {
            let nodes = self.slots[slot].nodes.clone();
            nodes.into_iter().for_each(|node| self.link_results_behind(node));
        }
        self.link_results(node);
    }

    /// The ids of calls in a message behind `parent` that earlier calls of the path have. `own`: the slot of the message.
    fn taken(&self, parent: Option<NodeIx>, message: &Message, own: Option<u32>) -> Vec<Arc<str>> {
        // Only an id that another slot has needs a walk.
        let is_elsewhere = |id: &str| match self.anchors.get(&Anchor::of_call(id)) {
            Some(AnchorSlots::One(slot)) => Some(*slot) != own,
            Some(AnchorSlots::Many) => true,
            None => false,
        };
        let calls = message.blocks.iter().filter(|block| block.kind == Kind::ToolUse);
        let ids = calls.filter_map(|block| block.tool_use_id.clone());
        let is_before = |id: &str| {
            let mut calls = self.up_from(parent).flat_map(links::own_calls);
            calls.any(|call| call == id)
        };
        ids.filter(|id| !links::is_derived(id) && is_elsewhere(id) && is_before(id)).collect()
    }

    /// Names the calls of a message that follows the current path but has no slot yet. Returns whether an id changed.
    pub fn name_pending(&self, message: &mut Message, slot: SlotId) -> bool {
        let taken = self.taken(self.current.last().copied(), message, None);
        links::rename_calls(message, slot, |id| taken.iter().any(|taken| **taken == *id))
    }

    /// The messages from a node up to its root.
    fn up_from(&self, node: Option<NodeIx>) -> impl Iterator<Item = &Message> {
        std::iter::successors(node, |&node| self.parent(node)).map(|node| &self.slot_at(node).message)
    }

    /// Links the results of a step again, because a call at `node` has another id now.
    fn link_results_behind(&mut self, node: NodeIx) {
        let mut open = self.nodes[node as usize].children.clone();
        while let Some(node) = open.pop() {
            let message = &self.slot_at(node).message;
            let (is_answer, has_results) = (message.role == Role::Assistant, message.has_results());
            if message.role == Role::User && !has_results {
                continue;
            }
            self.link_results(node);
            let behind = self.nodes[node as usize].children.iter().copied();
            // An answer behind results begins the next step.
            let is_inside = |&node: &NodeIx| is_answer || self.slot_at(node).message.role != Role::Assistant;
            open.extend(behind.filter(is_inside).collect::<Vec<_>>());
        }
    }

    /// Links the results at a node with the calls before it.
    fn link_results(&mut self, node: NodeIx) {
        let slot = self.nodes[node as usize].slot as usize;
        let before = self.up_from(self.parent(node));
        for (at, id) in links::answered_calls(&self.slots[slot].message, before) {
            self.slots[slot].message.blocks[at].tool_use_id = Some(id);
        }
    }

    /// Adds known slots under `base`, reusing existing nodes. Returns `None`, without a change, if `base` or a slot is
    /// unknown.
    pub fn extend(&mut self, base: Option<NodeIx>, slots: &[SlotId]) -> Option<Option<NodeIx>> {
        if base.is_some_and(|base| base >= self.node_count()) {
            return None;
        }
        let slots: Vec<u32> = slots.iter().map(|id| self.by_id.get(id).copied()).collect::<Option<_>>()?;
        let mut at = base;
        for slot in slots {
            let child = self.children(at).iter().copied().find(|&child| self.nodes[child as usize].slot == slot);
            at = Some(child.unwrap_or_else(|| self.add(at, slot)));
        }
        Some(at)
    }

    fn add(&mut self, parent: Option<NodeIx>, slot: u32) -> NodeIx {
        let ix = self.nodes.len() as NodeIx;
        self.nodes.push(Node { parent, slot, children: Vec::new() });
        self.slots[slot as usize].nodes.push(ix);
        match parent {
            Some(parent) => self.nodes[parent as usize].children.push(ix),
            None => self.roots.push(ix),
        }
        self.link(ix);
        ix
    }

    /// Makes the path to `tip` the current one. Walks only the part that differs.
    pub fn set_current(&mut self, tip: Option<NodeIx>) -> PathChange {
        let mut tail = Vec::new();
        let mut kept = 0;
        let mut at = tip;
        while let Some(node) = at {
            if let Some(depth) = self.depth_on_current(node) {
                kept = depth + 1;
                break;
            }
            tail.push(node);
            at = self.nodes[node as usize].parent;
        }
        let left = self.current.split_off(kept);
        self.current.extend(tail.iter().rev());
        PathChange { kept, left }
    }

    /// The depth of `node` on the current path, if it is on it.
    pub fn depth_on_current(&self, node: NodeIx) -> Option<usize> {
        // Parents are created first, so node numbers rise along a path.
        self.current.binary_search(&node).ok()
    }

    /// The nodes of the current path, root first.
    pub fn current(&self) -> &[NodeIx] {
        &self.current
    }

    /// The slots of the current path, root first.
    pub fn path(&self) -> impl ExactSizeIterator<Item = &Slot> {
        self.current.iter().map(|&node| self.slot_at(node))
    }

    pub fn slot_at(&self, node: NodeIx) -> &Slot {
        &self.slots[self.nodes[node as usize].slot as usize]
    }

    pub fn parent(&self, node: NodeIx) -> Option<NodeIx> {
        self.nodes[node as usize].parent
    }

    /// The nodes from a root down to `tip`.
    pub fn path_to(&self, tip: Option<NodeIx>) -> Vec<NodeIx> {
        let mut path: Vec<NodeIx> = std::iter::successors(tip, |&node| self.parent(node)).collect();
        path.reverse();
        path
    }

    fn children(&self, at: Option<NodeIx>) -> &[NodeIx] {
        match at {
            Some(node) => &self.nodes[node as usize].children,
            None => &self.roots,
        }
    }
}

#[cfg(test)]
mod tests;
