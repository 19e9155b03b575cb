//! Pending changes: deferred edits, which wait for a moment, and proposals, which wait for a decision.

use crate::Refusal;
use crate::log::{DeferredEdit, Wait};
use ctx_api::waiting::{DeferralFailure, WaitView};
use ctx_core::edit::CommitId;
use ctx_core::edit::refusal::{nearest, suggest};
use ctx_core::hint::Command;
use ctx_core::{ErrorCode, hint};
use std::ops::Deref;

/// The note that a conversation has pending changes.
pub const WAITING: &str = "waiting";

/// Pending changes and the outcome of earlier ones, in order of creation.
#[derive(Debug, Clone, Default)]
pub struct WaitingList(Vec<PendingEdit>);

impl Deref for WaitingList {
    type Target = [PendingEdit];

    fn deref(&self) -> &[PendingEdit] {
        &self.0
    }
}

impl WaitingList {
    /// Whether a change is pending.
    pub fn waits(&self) -> bool {
        self.iter().any(|waiting| waiting.state == State::Waiting)
    }

    pub fn next_id(&self) -> String {
        format!("w{}", self.len() + 1)
    }

    /// Finds a change by its id, in any state. For an unknown id, only changes in the wanted state are suggested.
    pub fn find(&self, id: &str, is_wanted: fn(&State) -> bool) -> Result<&PendingEdit, Refusal> {
        self.iter().find(|waiting| waiting.edit.id == id).ok_or_else(|| {
            let wanted = self.iter().filter(|waiting| is_wanted(&waiting.state));
            let near = nearest(id, wanted.map(|waiting| waiting.edit.id.as_str()));
            let message = format!("No deferred edit `{id}`.");
            Refusal::new(
                ErrorCode::UnknownDeferredEdit,
                message,
                suggest(&near, hint![Command::Waiting, " lists them."]),
            )
        })
    }

    /// Applies an event of a change.
    pub fn take(&mut self, wait: &Wait, at: u64) {
        let (id, state) = match wait {
            Wait::Deferred(deferred) => {
                let deferred = (**deferred).clone();
                match self.0.iter_mut().find(|known| known.edit.id == deferred.id) {
                    None => self.0.push(PendingEdit { edit: deferred, at, state: State::Waiting, ended: None }),
                    // A proposal that grows.
                    Some(known) if known.state == State::Waiting => known.edit = deferred,
                    Some(_) => {}
                }
                return;
            }
            Wait::Made { id, commit, .. } => (id, State::Made(*commit)),
            Wait::Failed { id, why } => (id, State::Failed(why.clone())),
            Wait::Cancelled { id, .. } => (id, State::Cancelled),
        };
        if let Some(waiting) = self.0.iter_mut().find(|waiting| waiting.edit.id == *id) {
            (waiting.state, waiting.ended) = (state, Some(at));
        }
    }
}

/// A pending or finished change.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingEdit {
    pub edit: DeferredEdit,
    pub at: u64,
    pub state: State,
    /// When it reached its final state.
    pub ended: Option<u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum State {
    Waiting,
    Made(CommitId),
    Failed(DeferralFailure),
    Cancelled,
}

impl State {
    pub fn name(&self) -> &'static str {
        match self {
            State::Waiting => "waiting",
            State::Made(_) => "made",
            State::Failed(_) => "failed",
            State::Cancelled => "cancelled",
        }
    }

    pub fn can_be_accepted(&self) -> bool {
        *self == State::Waiting
    }

    /// Whether it can be cancelled, or dismissed because it failed.
    pub fn can_be_cancelled(&self) -> bool {
        matches!(self, State::Waiting | State::Failed(_))
    }
}

impl PendingEdit {
    pub fn view(&self) -> WaitView {
        let DeferredEdit {
            id,
            when,
            branch,
            operations,
            reasons,
            author,
            note,
            summary,
            tokens_before,
            tokens_after,
            reverts,
            ..
        } = self.edit.clone();
        let (state, at, ended) = (self.state.name().to_owned(), self.at, self.ended);
        let (commit, failure) = match &self.state {
            State::Made(commit) => (Some(*commit), None),
            State::Failed(why) => (None, Some(why.clone())),
            State::Waiting | State::Cancelled => (None, None),
        };
        WaitView {
            id,
            state,
            when,
            at,
            ended,
            author,
            note,
            branch,
            operations,
            reasons,
            summary,
            tokens_before,
            tokens_after,
            commit,
            failure,
            reverts: reverts.map(|reverts| reverts.commits).unwrap_or_default(),
            remarks: Vec::new(),
        }
    }
}
