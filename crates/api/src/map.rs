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
    /// What is sent, by what it is: the largest first.
    pub kinds: Vec<KindView>,
    /// The requests of the conversation that were answered, oldest first.
    pub turns: Vec<TurnView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KindView {
    /// `system`, `tools`, `user`, `assistant`, `thinking`, `reminders`, `images`, `calls`, `results`, `edits` (words
    /// of an operation, whoever they stand for) or `other`.
    pub kind: String,
    /// Of `tools`, `calls` and `results`: the tool.
    pub tool: Option<String>,
    pub tokens: u64,
    /// How many blocks.
    pub count: usize,
    /// Where they are, in the order of the conversation.
    pub frames: Vec<ShareView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShareView {
    pub id: String,
    pub tokens: u64,
}

/// A request and what its answer took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnView {
    pub request: u32,
    /// When it came.
    pub at: u64,
    pub model: Option<String>,
    /// The frame that it ended in, if that is still on the path.
    pub frame: Option<String>,
    pub input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub output: u64,
    /// All tokens that the model read.
    pub context: u64,
    /// In dollars; nothing where the price of the model is not known.
    pub money: Option<f64>,
    /// The model of the same family whose prices stand in, where its own are not known.
    pub priced_as: Option<String>,
}
