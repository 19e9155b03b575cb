//! The content of a frame, step, message or block.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::frames::LeftReason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ContentView {
    pub conversation: String,
    pub id: String,
    pub kind: String,
    pub title: String,
    pub tokens: u64,
    pub calibrated: bool,
    /// Why it is no longer sent, if the client left it behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<LeftReason>,
    /// The states, as in a list of frames.
    #[serde(default)]
    pub state: Vec<String>,
    /// The active commits that made it, newest first.
    #[serde(default)]
    pub by: Vec<String>,
    pub messages: Vec<MessageView>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MessageView {
    pub id: String,
    pub role: String,
    pub tokens: u64,
    /// The step it belongs to; 0 before the first step.
    pub step: usize,
    pub pending: bool,
    /// It was written by an edit, not by the client.
    #[serde(default)]
    pub made: bool,
    /// Its frame can be split before it.
    #[serde(default)]
    pub cut: bool,
    /// The client's other members beside role and content.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub other: Map<String, Value>,
    pub blocks: Vec<BlockView>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct BlockView {
    pub id: String,
    pub kind: String,
    pub tokens: u64,
    pub text: String,
    pub tool: Option<String>,
    pub tool_use_id: Option<String>,
    pub is_error: bool,
    /// The commit that removed it; it is not sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered: Option<String>,
    /// Why the provider's rules remove it; it is not sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repaired: Option<String>,
    /// The commit that replaced the content of this tool result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<String>,
    /// The block as in the request; none if it is not valid JSON text.
    #[schemars(with = "Option<Value>")]
    pub raw: Option<Box<RawValue>>,
}

impl BlockView {
    pub fn is_sent(&self) -> bool {
        self.covered.is_none() && self.repaired.is_none()
    }
}
