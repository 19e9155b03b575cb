//! Pending changes: deferred edits and proposals.

use ctx_core::ReceivedCode;
use ctx_core::edit::{CommitId, Operation};

use crate::edit::When;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// The author.
    pub author: String,
}

/// Several deferred edits or proposals.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Several {
    /// `w2`, a range `w2..w5`, or `all`.
    pub ids: Vec<String>,
    /// The author.
    pub author: String,
}

/// The deferred edits of a conversation, waiting or done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitingView {
    pub conversation: String,
    /// The time at which the provider's cache expires or expired.
    pub cold_at: u64,
    /// Tokens of the next request, and the threshold.
    pub tokens: u64,
    pub limit: u64,
    /// Newest first.
    pub wishes: Vec<WaitView>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitView {
    pub id: String,
    /// `waiting`, `made`, `failed` or `cancelled`.
    pub state: String,
    pub when: When,
    pub at: u64,
    /// The time of its end.
    pub ended: Option<u64>,
    pub author: String,
    pub note: Option<String>,
    pub branch: String,
    pub operations: Vec<Operation>,
    pub reasons: Vec<Option<String>>,
    /// Its effect at the time of deferral.
    pub summary: String,
    pub tokens_before: u64,
    pub tokens_after: u64,
    /// The resulting commit.
    pub commit: Option<CommitId>,
    /// The reason for a failure.
    pub failure: Option<DeferralFailure>,
    /// The commits that it reverts, if it has no operations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reverts: Vec<CommitId>,
    /// Remarks on an accepted edit: requests that left without it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// Why a deferred edit could not be committed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeferralFailure {
    #[schemars(with = "String")]
    pub code: ReceivedCode,
    pub message: String,
    pub hint: String,
}

/// The outcome of accepting or cancelling several deferred edits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PendingOutcome {
    pub conversation: String,
    /// Accepted or cancelled, in the requested order.
    pub done: Vec<WaitView>,
    /// Unchanged, each with the reason.
    pub refused: Vec<PendingRefusal>,
    /// Remarks on all accepted edits: requests that left without them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PendingRefusal {
    pub id: String,
    #[schemars(with = "String")]
    pub code: ReceivedCode,
    pub message: String,
    pub hint: String,
}
