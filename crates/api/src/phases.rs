//! Phases of the work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The beginning or the end of a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhaseRequest {
    pub action: PhaseAction,
    /// Its name; to end a phase, the newest open one by default.
    #[serde(default)]
    pub name: Option<String>,
    /// The author.
    pub author: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PhaseAction {
    Begin,
    End,
}

/// The phases of a conversation, in the order in which they began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhasesView {
    pub conversation: String,
    pub phases: Vec<PhaseView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseView {
    pub name: String,
    pub began: u64,
    /// None while it is open.
    pub ended: Option<u64>,
    /// The number of messages in it, once it has ended.
    pub messages: usize,
}
