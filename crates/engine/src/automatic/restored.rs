//! Tool results and thinking that a person wants to keep: clearing them was declined or reverted. Derived from the
//! history, so it survives a restart.

use crate::conversation::Conversation;
use crate::conversation::policy::AUTHOR;
use crate::conversation::policy::calls::calls;
use crate::conversation::waiting::State;
use ctx_core::edit::effect::{Cover, Effect, MessageRef};
use ctx_core::edit::history::Change;
use ctx_core::edit::{Commit, CommitId, Operation};
use ctx_core::message::Kind;
use ctx_core::{SlotId, Tree};
use std::borrow::Cow;
use std::collections::HashSet;

/// A block: its message, and its index there.
pub type BlockPlace = (SlotId, usize);

impl Conversation {
    /// The calls whose results stay.
    pub fn wanted_back(&self) -> HashSet<Cow<'_, str>> {
        let declined = self.waiting.iter().filter(|waiting| {
            waiting.edit.author == AUTHOR && !matches!(waiting.state, State::Waiting | State::Made(_))
        });
        let declined = declined.flat_map(|waiting| calls(self.wire(), &waiting.edit.operations));
        let back = self.taken_back().flat_map(|(_, operations, _)| calls(self.wire(), operations));
        declined.chain(back).chain(self.policy.noted.kept().map(Cow::Borrowed)).collect()
    }

    /// The blocks of thinking that stay: those behind the first change of a reverted commit when it was made. It had
    /// dropped them all, because thinking is bound to everything before it.
    pub fn wanted_back_thinking(&self) -> HashSet<BlockPlace> {
        let mut wanted: HashSet<BlockPlace> = self.policy.noted.kept_thinking().collect();
        for (commit, _, effects) in self.taken_back() {
            let places = effects.iter().flat_map(places);
            let first = places.filter_map(|(slot, block)| Some((self.messages.tree.depth_of(slot)?, block))).min();
            let Some(first) = first else { continue };
            let dropped = thinking(&self.messages.tree, first).filter(|(slot, _)| {
                // Newer thinking was not there to be dropped.
                self.messages.was_there(*slot, commit.at)
            });
            wanted.extend(dropped);
        }
        wanted
    }

    /// The automatic editor's commits that are no longer active, with their operations and effects. Only a person
    /// deactivates a commit.
    fn taken_back(&self) -> impl Iterator<Item = (&Commit, &[Operation], &[Effect])> {
        let head = self.history.head();
        let active: HashSet<CommitId> = self.history.active(head).iter().map(|commit| commit.id).collect();
        let ours = self.history.line(head).filter(|commit| commit.author == AUTHOR);
        let back = ours.filter(move |commit| !active.contains(&commit.id));
        back.filter_map(|commit| match &commit.change {
            Change::Edit { operations, effects } => Some((commit, operations.as_slice(), effects.as_slice())),
            Change::Revert { .. } | Change::Inherit { .. } => None,
        })
    }
}

/// The thinking on the path from a place on.
fn thinking(tree: &Tree, (depth, block): (usize, usize)) -> impl Iterator<Item = BlockPlace> {
    let blocks = tree.path().enumerate().skip(depth).flat_map(move |(at, slot)| {
        let first = if at == depth { block } else { 0 };
        slot.message.blocks.iter().enumerate().skip(first).map(|(block, facts)| (slot.id, block, facts.kind))
    });
    blocks.filter(|(_, _, kind)| *kind == Kind::Thinking).map(|(slot, block, _)| (slot, block))
}

/// The blocks of the client that an effect of the automatic editor changes.
fn places(effect: &Effect) -> Vec<BlockPlace> {
    let place = |of: MessageRef, block: u32| match of {
        MessageRef::Slot(slot) => Some((slot, block as usize)),
        MessageRef::Reply { .. } => None,
    };
    match effect {
        Effect::Results { results, .. } => {
            results.iter().filter_map(|result| place(result.of, result.block.at)).collect()
        }
        Effect::Replace { covers, .. } => {
            let of_cover = |cover: &Cover| match cover {
                Cover::Blocks(covered) => {
                    place(covered.of, covered.blocks.iter().map(|block| block.at).min().unwrap_or(0))
                }
                Cover::Made(_) | Cover::System { .. } | Cover::Tool { .. } => None,
            };
            covers.iter().filter_map(of_cover).collect()
        }
        _ => Vec::new(),
    }
}
