//! The composition of the context, and the usage of each turn.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextMap {
    pub conversation: String,
    pub model: Option<String>,
    /// Whether the provider has confirmed the scale of the token figures.
    pub calibrated: bool,
    pub tokens: u64,
    /// The sent content by kind, largest first.
    pub kinds: Vec<KindView>,
    /// The answered requests of the conversation, oldest first.
    pub turns: Vec<TurnView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KindView {
    /// `system`, `tools`, `user`, `assistant`, `thinking`, `reminders`, `images`, `calls`, `results`, `edits` (text
    /// written by an operation, in any role) or `other`.
    pub kind: String,
    /// The tool, for `tools`, `calls` and `results`.
    pub tool: Option<String>,
    pub tokens: u64,
    /// The number of blocks.
    pub count: usize,
    /// Their frames, in the order of the conversation.
    pub frames: Vec<ShareView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShareView {
    pub id: String,
    pub tokens: u64,
}

/// A request and the usage of its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnView {
    pub request: u32,
    /// The time of the request.
    pub at: u64,
    pub model: Option<String>,
    /// The frame that it ended in, if it is still on the path.
    pub frame: Option<String>,
    pub input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub output: u64,
    /// All tokens that the model read.
    pub context: u64,
    /// In dollars; none if the price of the model is unknown.
    pub money: Option<f64>,
    /// The model of the same family whose prices are used, if its own are unknown.
    pub priced_as: Option<String>,
}
