//! Tool results that a person wants to keep: clearing them was declined or reverted. Derived from the history, so it
//! survives a restart.

use crate::conversation::Conversation;
use crate::conversation::policy::AUTHOR;
use crate::conversation::policy::calls::calls;
use crate::conversation::waiting::State;
use ctx_core::edit::CommitId;
use ctx_core::edit::history::Change;
use std::borrow::Cow;
use std::collections::HashSet;

impl Conversation {
    /// The calls whose results stay.
    pub fn wanted_back(&self) -> HashSet<Cow<'_, str>> {
        let declined = self.waiting.iter().filter(|waiting| {
            waiting.edit.author == AUTHOR && !matches!(waiting.state, State::Waiting | State::Made(_))
        });
        let declined = declined.flat_map(|waiting| calls(self.wire(), &waiting.edit.operations));
        let head = self.history.head();
        let ours = self.history.line(head).filter(|commit| commit.author == AUTHOR);
        let active: HashSet<CommitId> = self.history.active(head).iter().map(|commit| commit.id).collect();
        // Only a person deactivates a commit.
        let back = ours.filter(|commit| !active.contains(&commit.id)).flat_map(|commit| match &commit.change {
            Change::Edit { operations, .. } => operations.as_slice(),
            Change::Revert { .. } | Change::Inherit { .. } => &[],
        });
        let back = back.flat_map(|operation| calls(self.wire(), std::slice::from_ref(operation)));
        declined.chain(back).chain(self.policy.noted.kept().map(Cow::Borrowed)).collect()
    }
}
