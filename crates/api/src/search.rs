//! Searching the text of conversations.

use crate::frames::Left;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct SearchQuery {
    /// Words, whatever their case.
    pub q: String,
    /// One conversation only.
    pub conv: Option<String>,
    /// Hits that are enough; 20 without it.
    pub limit: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    pub query: String,
    /// Conversations that were looked at.
    pub searched: usize,
    /// Not all were looked at: the search ended when it had as many hits as were wanted.
    pub more: bool,
    /// The newest activity first.
    pub conversations: Vec<FoundIn>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundIn {
    pub id: String,
    pub title: String,
    pub last_activity: u64,
    /// Blocks that hold the words; `hits` may be fewer.
    pub matches: usize,
    pub hits: Vec<Hit>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hit {
    /// The block.
    pub id: String,
    pub frame: String,
    pub role: String,
    pub kind: String,
    pub tool: Option<String>,
    /// Not taken out by an edit, nor left behind by the client.
    pub sent: bool,
    /// Why it is no longer sent, where the client has left its frame behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Left>,
    pub snippet: String,
}
