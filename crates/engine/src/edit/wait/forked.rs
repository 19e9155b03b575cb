//! A fork inherits the pending changes of its parent, and the results and thinking that users chose to keep.

use super::notes;
use crate::automatic::restored::BlockPlace;
use crate::conversation::Conversation;
use crate::conversation::policy::AUTHOR;
use crate::conversation::policy::calls::calls;
use crate::conversation::waiting::State;
use crate::log::{self, Automatic, DeferredEdit, Wait};
use crate::{Engine, record};
use ctx_store::Step;
use ctx_wire::Wire;
use std::borrow::Cow;
use std::collections::HashSet;

/// Copied from the parent of a fork.
pub struct PendingForFork {
    /// Calls whose results stay.
    kept: Vec<String>,
    /// Thinking that stays.
    kept_thinking: Vec<BlockPlace>,
    /// The pending changes of the current branch.
    waiting: Vec<DeferredEdit>,
    /// Until when the parent's content in the provider's cache is warm.
    pub warm_until: u64,
}

impl Conversation {
    pub fn pending_for_fork(&self) -> PendingForFork {
        let waiting = self.waiting.iter().filter(|waiting| waiting.state == State::Waiting);
        let on_branch = waiting.filter(|waiting| waiting.edit.branch == self.history.current());
        PendingForFork {
            kept: self.wanted_back().into_iter().map(Cow::into_owned).collect(),
            kept_thinking: self.wanted_back_thinking().into_iter().collect(),
            waiting: on_branch.map(|waiting| waiting.edit.clone()).collect(),
            warm_until: self.warm_until(),
        }
    }
}

impl Engine {
    pub fn inherit_pending(&self, fork: &mut Conversation, of: &PendingForFork, at: u64, step: &mut Step) {
        let there: HashSet<String> = fork
            .messages
            .tree
            .path()
            .flat_map(|slot| &slot.message.blocks)
            .filter_map(|block| block.tool_use_id.as_deref().map(str::to_owned))
            .collect();
        let mut kept: Vec<String> = of.kept.iter().filter(|call| there.contains(*call)).cloned().collect();
        kept.sort_unstable();
        let path: HashSet<u64> = fork.messages.tree.path().map(|slot| slot.id.0).collect();
        let mut thinking: Vec<BlockPlace> =
            of.kept_thinking.iter().filter(|(slot, _)| path.contains(&slot.0)).copied().collect();
        thinking.sort_unstable();
        if !kept.is_empty() || !thinking.is_empty() {
            let kept = Automatic::Kept { calls: kept, thinking };
            step.records.push(record(fork.id(), at, log::AUTOMATIC, &kept, Vec::new()));
            fork.automatic(&kept);
        }
        let taken = of.waiting.iter().filter_map(|deferred| taken_over(fork.wire(), deferred, &path, &there));
        let taken: Vec<DeferredEdit> = taken.collect();
        for deferred in taken {
            let id = fork.waiting.next_id();
            let wait =
                Wait::Deferred(Box::new(DeferredEdit { id, branch: fork.history.current().to_owned(), ..deferred }));
            step.records.push(record(fork.id(), at, log::WAIT, &wait, Vec::new()));
            fork.wait(&wait, at);
        }
        if fork.waits() {
            step.notes.extend(notes(fork));
        }
    }
}

/// A pending change adapted to the fork; `None` if its content is not there. The parent's commits are not in the fork's
/// history, so changes that deactivate them stay with the parent.
fn taken_over(
    wire: &dyn Wire,
    deferred: &DeferredEdit,
    path: &HashSet<u64>,
    there: &HashSet<String>,
) -> Option<DeferredEdit> {
    if deferred.reverts.is_some() || !deferred.slots.iter().all(|slot| path.contains(slot)) {
        return None;
    }
    let mut own = deferred.clone();
    if own.author == AUTHOR {
        let fits = |index: &usize| {
            deferred
                .operations
                .get(*index)
                .is_some_and(|one| calls(wire, std::slice::from_ref(one)).all(|call| there.contains(&*call)))
        };
        let fitting: Vec<usize> = (0..deferred.operations.len()).filter(fits).collect();
        own.operations = fitting.iter().filter_map(|at| deferred.operations.get(*at).cloned()).collect();
        own.reasons = fitting.iter().map(|at| deferred.reasons.get(*at).cloned().flatten()).collect();
    }
    (!own.operations.is_empty()).then_some(own)
}
