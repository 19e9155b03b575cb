//! Frames that have left the current path: compacted by the client, or rewound.
//!
//! The tree keeps their messages, for listing, search, display and import. They are not sent and have no weight.

use crate::Refusal;
use ctx_api::frames::LeftReason;
use ctx_core::edit::address::{self, AddressRange};
use ctx_core::edit::fold::View;
use ctx_core::edit::frame_id::FrameId;
use ctx_core::fast_map::FastSet;
use ctx_core::hint::Command;
use ctx_core::message::{Message, Role};
use ctx_core::tree::PathChange;
use ctx_core::{ErrorCode, NodeIx, Numbers, SlotId, Tree, frames, hint};
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

/// The paths that the client has left, oldest first.
#[derive(Debug, Clone, Default)]
pub struct LeftPaths(Vec<LeftPath>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LeftPath {
    tip: NodeIx,
    left: LeftReason,
}

/// Adjacent frames of one path.
pub struct Run {
    /// The number of the first one.
    first: u32,
    pub slots: Vec<SlotId>,
}

/// All frames that have left the current path.
#[derive(Default)]
pub struct LeftFrames {
    /// Oldest first.
    pub runs: Vec<Run>,
    pub by_number: BTreeMap<u32, LeftReason>,
}

impl LeftPaths {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Remembers the path that the client has left, if it had frames of its own.
    pub fn leave(&mut self, tree: &Tree, numbers: &Numbers, moved: &PathChange, compacted: bool) {
        let left = if compacted { LeftReason::BeforeCompaction } else { LeftReason::Rewound };
        let path: FastSet<SlotId> = match moved.left.is_empty() {
            true => FastSet::default(),
            false => tree.path().map(|slot| slot.id).collect(),
        };
        let is_gone = |node: &NodeIx| {
            let slot = tree.slot_at(*node).id;
            numbers.of(slot).is_some() && !path.contains(&slot)
        };
        if moved.left.iter().any(is_gone) {
            self.0.extend(moved.left.last().map(|&tip| LeftPath { tip, left }));
        }
        // A path that the client returned to is not left.
        self.0.retain(|path| tree.depth_on_current(path.tip).is_none());
    }

    /// All frames of these paths that are not on the current one.
    pub fn frames(&self, tree: &Tree, numbers: &Numbers) -> LeftFrames {
        let mut taken: FastSet<SlotId> = tree.path().map(|slot| slot.id).collect();
        let mut found = LeftFrames::default();
        // A frame that was on several paths is shown as on the last of them.
        for LeftPath { tip, left } in self.0.iter().rev() {
            let (slots, messages) = path_to(tree, *tip);
            let frames = frames::frames(&messages);
            let wanted = frames.iter().filter(|frame| !taken.contains(&slots[frame.opening]));
            let mut runs: Vec<(u32, Range<usize>)> = Vec::new();
            for frame in wanted {
                let Some(number) = numbers.of(slots[frame.opening]) else { continue };
                found.by_number.insert(number, *left);
                let end = frame.end.message + usize::from(frame.end.block > 0);
                match runs.last_mut().filter(|(_, run)| run.end >= frame.start.message) {
                    Some((_, run)) => run.end = end,
                    None => runs.push((number, frame.start.message..end)),
                }
            }
            for (first, run) in runs {
                let free: Vec<SlotId> = slots[run].iter().copied().filter(|slot| taken.insert(*slot)).collect();
                found.runs.push(Run { first, slots: free });
            }
        }
        found.runs.sort_by_key(|run| run.first);
        found
    }

    /// The messages of the compacted paths, newest first.
    pub fn before_compactions<'t>(&self, tree: &'t Tree) -> impl Iterator<Item = Vec<&'t Message>> {
        let compacted = self.0.iter().rev().filter(|path| path.left == LeftReason::BeforeCompaction);
        compacted.map(|path| path_to(tree, path.tip).1)
    }
}

impl LeftFrames {
    /// Why a frame of the complete view is not on the current path; `None` if it is.
    pub fn of(&self, id: &FrameId, current: &HashSet<&FrameId>) -> Option<LeftReason> {
        let turn = self.by_number.get(&id.number).filter(|_| !id.added);
        (!current.contains(id)).then(|| turn.copied().unwrap_or(LeftReason::BeforeCompaction))
    }

    /// Why a change that names such a frame is refused.
    pub fn refusal(&self, conversation: &str, ids: &[String]) -> Option<Refusal> {
        let named = address::read(ids).ok()?;
        let mut frames = named.iter().flat_map(AddressRange::frames).filter(|id| !id.added);
        let (id, left) = frames.find_map(|id| Some((id, self.by_number.get(&id.number)?)))?;
        let message = match left {
            LeftReason::BeforeCompaction => format!("`{id}` is no longer sent: the agent compacted the conversation."),
            LeftReason::Rewound => format!("`{id}` is no longer sent: the agent rewound the conversation."),
        };
        let hint = hint![
            Command::Show.with(id.to_string()),
            " shows it; ",
            Command::Import.with(format!("{conversation} {id}")),
            " adds a copy."
        ];
        Some(Refusal::new(ErrorCode::Left, message, hint))
    }
}

fn path_to(tree: &Tree, tip: NodeIx) -> (Vec<SlotId>, Vec<&Message>) {
    let nodes = tree.path_to(Some(tip));
    nodes.into_iter().map(|node| tree.slot_at(node)).map(|slot| (slot.id, &slot.message)).unzip()
}

pub fn names<'v>(view: &'v View<'_>) -> HashSet<&'v FrameId> {
    view.frames.iter().map(|frame| &frame.id).collect()
}

/// Whether a history begins with the client's own summary: judged by its words, or by the answer that the client wrote
/// behind it.
pub fn begins_with_summary<'m>(mut messages: impl Iterator<Item = &'m Message>) -> bool {
    let (first, second) = (messages.next(), messages.next().filter(|second| second.role == Role::Assistant));
    let labels = second.into_iter().flat_map(|answer| &answer.blocks).filter_map(|block| block.label.as_deref());
    first.is_some_and(is_summary) || labels.into_iter().any(|label| ctx_clients::lexicon().acknowledges_summary(label))
}

/// Whether a message begins with the client's own summary of earlier messages.
fn is_summary(message: &Message) -> bool {
    let labels = message.blocks.iter().filter_map(|block| block.label.as_deref());
    labels.into_iter().any(|label| label == ctx_core::lexicon::SUMMARY_TITLE)
}
