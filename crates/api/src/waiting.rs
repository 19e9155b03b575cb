//! Pending changes: deferred edits and proposals.

use ctx_core::ReceivedCode;
use ctx_core::edit::{CommitId, Operation};

use crate::edit::When;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// Who wants it.
    pub author: String,
}

/// Several pending changes.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Several {
    /// `w2`, a range `w2..w5`, or `all`.
    pub ids: Vec<String>,
    /// Who wants it.
    pub author: String,
}

/// The wishes of a conversation that wait, or did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitingView {
    pub conversation: String,
    /// When the provider's cache will be cold, or has become so.
    pub cold_at: u64,
    /// Tokens of the next request, and those from which on the limit is near.
    pub tokens: u64,
    pub limit: u64,
    /// The newest first.
    pub wishes: Vec<WaitView>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitView {
    pub id: String,
    /// `waiting`, `made`, `failed` or `cancelled`.
    pub state: String,
    pub when: When,
    pub at: u64,
    /// When it was made, failed or was cancelled.
    pub ended: Option<u64>,
    pub author: String,
    pub note: Option<String>,
    pub branch: String,
    pub operations: Vec<Operation>,
    pub reasons: Vec<Option<String>>,
    /// What it would have done when it was wished.
    pub summary: String,
    pub tokens_before: u64,
    pub tokens_after: u64,
    /// The commit that it became.
    pub commit: Option<CommitId>,
    /// Why it was not made.
    pub failure: Option<Unmade>,
    /// The commits that it switches off; then it has no operations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reverts: Vec<CommitId>,
    /// Worth knowing of what was just accepted: requests that left without it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// Why a wish was not made when its moment came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unmade {
    #[schemars(with = "String")]
    pub code: ReceivedCode,
    pub message: String,
    pub hint: String,
}

/// What became of pending changes that were accepted or cancelled together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PendingOutcome {
    pub conversation: String,
    /// Accepted or cancelled, in the order in which they were asked for.
    pub done: Vec<WaitView>,
    /// Left as they were, each with the reason.
    pub refused: Vec<PendingRefusal>,
    /// Worth knowing of all that was accepted: requests that left without it.
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
