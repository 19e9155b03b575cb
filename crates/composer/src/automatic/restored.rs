//! Tool results that a person wants to keep: those they declined to clear, and those they brought back. Derived from the
//! history each time, so it holds after a restart.

use super::AUTHOR;
use crate::conversation::Conversation;
use crate::edit::wait::State;
use ctx_core::edit::history::Change;
use ctx_core::edit::{CommitId, Operation};
use std::collections::HashSet;

impl Conversation {
    /// The calls that stay, with their results.
    pub(crate) fn wanted_back(&self) -> HashSet<&str> {
        let declined = self.waiting.iter().filter(|waiting| {
            waiting.wished.author == AUTHOR && !matches!(waiting.state, State::Waiting | State::Made(_))
        });
        let declined = declined.flat_map(|waiting| calls(&waiting.wished.operations));
        let head = self.history.head();
        let ours = self.history.line(head).filter(|commit| commit.author == AUTHOR);
        let active: HashSet<CommitId> = self.history.active(head).iter().map(|commit| commit.id).collect();
        // Nobody but a person switches a commit off.
        let back = ours.filter(|commit| !active.contains(&commit.id)).flat_map(|commit| match &commit.change {
            Change::Edit { operations, .. } => operations.as_slice(),
            Change::Revert { .. } | Change::Inherit { .. } => &[],
        });
        let back = back.flat_map(|operation| calls(std::slice::from_ref(operation)));
        declined.chain(back).chain(self.noted.kept()).collect()
    }
}

/// The calls whose results, or whose inputs, operations of ours change.
pub(crate) fn calls(operations: &[Operation]) -> impl Iterator<Item = &str> {
    operations.iter().flat_map(|operation| {
        let (calls, input) = match operation {
            Operation::SummarizeResults { select, .. } | Operation::DropResults { select, .. } => {
                (select.calls.as_slice(), None)
            }
            operation => (&[][..], input(operation)),
        };
        calls.iter().map(String::as_str).chain(input)
    })
}

/// The call whose input an operation of ours shortens.
pub(super) fn input(operation: &Operation) -> Option<&str> {
    match operation {
        Operation::Edit { raw: Some(block), .. } if block["type"] == "tool_use" => block["id"].as_str(),
        _ => None,
    }
}
