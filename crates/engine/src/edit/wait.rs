//! Pending changes: deferred edits, which wait for a moment, and proposals, which wait for a decision.
//!
//! [`moment`] decides when a moment has come; [`made`] then turns the change into a commit. A change that no longer
//! fits is kept, with the reason.

pub mod forked;
pub mod made;
pub mod moment;

pub use crate::Moments;
use crate::compose::Ground;
use crate::conversation::Conversation;
use crate::conversation::policy::AUTHOR;
use crate::conversation::policy::calls::calls;
use crate::conversation::waiting::{State, WAITING};
use crate::edit::imports::Imports;
use crate::log::DeferredEdit;
use crate::{EDITED, Engine, Refusal, mark};
use ctx_api::edit::When;
use ctx_core::edit::effect::{Cover, Effect, FrameKey, FrameRef, MessageRef, PENDING, Place};
use ctx_core::edit::fold::{Unit, ViewUnit};
use ctx_core::edit::history::Change;
use ctx_core::edit::{Commit, Operation};
use ctx_core::hint::Command;
use ctx_core::{ErrorCode, SlotId, hint};
use ctx_store::Note;
pub use forked::PendingForFork;
pub use moment::Situation;
use std::collections::HashSet;

impl Conversation {
    /// The pending changes that name any of these units.
    pub fn pending_in(&self, ground: &Ground<'_>, units: &[ViewUnit]) -> Vec<String> {
        let waiting: Vec<&DeferredEdit> = self
            .waiting
            .iter()
            .filter(|waiting| waiting.state == State::Waiting)
            .map(|waiting| &waiting.edit)
            .collect();
        if waiting.is_empty() {
            return Vec::new();
        }
        let sources = || {
            units.iter().filter_map(|laid| match laid.unit {
                Unit::Source { message, block } => Some((message, block)),
                Unit::Made(_) => None,
            })
        };
        let slots: HashSet<u64> = sources().filter_map(|(message, _)| Some(ground.slots.get(message)?.0)).collect();
        let own: HashSet<&str> = sources()
            .filter_map(|(message, block)| ground.messages.get(message)?.blocks.get(block?)?.tool_use_id.as_deref())
            .collect();
        let names = |deferred: &&&DeferredEdit| {
            deferred.slots.iter().any(|slot| slots.contains(slot))
                || calls(self.wire(), &deferred.operations).any(|call| own.contains(&*call))
        };
        waiting.iter().filter(names).map(|deferred| deferred.id.clone()).collect()
    }

    /// Removes rewound content from a proposal: the rest still fits.
    pub fn leave_what_is_gone(&self, deferred: &mut DeferredEdit) -> Result<(), Refusal> {
        if deferred.author != AUTHOR {
            return Ok(());
        }
        let there: HashSet<&str> = self
            .messages
            .tree
            .path()
            .flat_map(|slot| &slot.message.blocks)
            .filter_map(|block| block.tool_use_id.as_deref())
            .collect();
        let is_there = |operation: &Operation| {
            calls(self.wire(), std::slice::from_ref(operation)).all(|call| there.contains(&*call))
        };
        let keep: Vec<bool> = deferred.operations.iter().map(is_there).collect();
        let mut kept = keep.iter();
        deferred.operations.retain(|_| *kept.next().unwrap_or(&true));
        let mut kept = keep.iter();
        deferred.reasons.retain(|_| *kept.next().unwrap_or(&true));
        if deferred.operations.is_empty() {
            let message = "The conversation took another path: it no longer contains the proposed content.";
            return Err(Refusal::new(
                ErrorCode::Gone,
                message,
                hint![Command::Waiting.with("cancel"), " removes the proposal."],
            ));
        }
        Ok(())
    }
}

impl Engine {
    /// Whether the moment has already come.
    pub fn has_come(&self, conversation: &Conversation, when: When, now: u64) -> bool {
        when == When::Now || self.situation(conversation, now).has(when)
    }

    /// The messages that an edit request names. Selected content may be gone by its moment.
    pub fn named(&self, conversation: &Conversation, commit: &Commit, imports: &Imports) -> Vec<u64> {
        let Change::Edit { operations, effects } = &commit.change else { return Vec::new() };
        let names = |operation: &&Operation| !operation.ids().is_empty() || matches!(operation, Operation::Add { .. });
        let of = |effects: &[Effect]| {
            let slots = effects.iter().flat_map(slots).filter(|slot| *slot != PENDING);
            let mut slots: Vec<u64> = slots.map(|slot| slot.0).collect();
            slots.sort_unstable();
            slots.dedup();
            slots
        };
        let naming: Vec<Operation> = operations.iter().filter(names).cloned().collect();
        match naming.len() {
            0 => Vec::new(),
            count if count == operations.len() => of(effects),
            _ => {
                let effects = self.would_be(conversation, commit.id, &naming, imports);
                effects.map(|effects| of(&effects)).unwrap_or_default()
            }
        }
    }
}

/// The notes on a conversation: whether its requests are held, and whether changes are pending.
pub fn notes(conversation: &Conversation) -> Vec<Note> {
    let id = conversation.id();
    vec![mark(id, EDITED, conversation.is_held()), mark(id, WAITING, conversation.waits())]
}

/// The client messages that an effect names.
fn slots(effect: &Effect) -> Vec<SlotId> {
    let of_message = |message: &MessageRef| match message {
        MessageRef::Slot(slot) => *slot,
        MessageRef::Reply { after, .. } => *after,
    };
    let of_key = |key: &FrameKey| match key {
        FrameKey::Opened(slot) => Some(*slot),
        FrameKey::Made { .. } => None,
    };
    let of_frames = |frames: &[FrameRef]| frames.iter().filter_map(|frame| of_key(&frame.key)).collect::<Vec<_>>();
    let of_place = |place: &Place| match place {
        Place::After(frame) => of_key(&frame.key),
        Place::Start => None,
    };
    match effect {
        Effect::Replace { covers, .. } => {
            let of_cover = |cover: &Cover| match cover {
                Cover::Blocks(covered) => Some(of_message(&covered.of)),
                Cover::Made(_) | Cover::System { .. } | Cover::Tool { .. } => None,
            };
            covers.iter().filter_map(of_cover).collect()
        }
        Effect::Results { results, .. } => results.iter().map(|result| of_message(&result.of)).collect(),
        Effect::Restore { .. } => Vec::new(),
        Effect::Insert { to, .. } => of_place(to).into_iter().collect(),
        Effect::Move { frames, to } => of_frames(frames).into_iter().chain(of_place(to)).collect(),
        Effect::Combine { frames } => of_frames(frames),
        Effect::Split { frame, .. } | Effect::Title { frame, .. } => of_key(frame).into_iter().collect(),
        Effect::Pin { frames, .. } => frames.iter().filter_map(of_key).collect(),
    }
}
