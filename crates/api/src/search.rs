//! Searching the text of conversations.

use crate::frames::LeftReason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct SearchQuery {
    /// Words, ignoring case.
    pub q: String,
    /// One conversation only.
    pub conv: Option<String>,
    /// The number of hits after which the search ends; 20 by default.
    pub limit: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchResults {
    pub query: String,
    /// The number of searched conversations.
    pub searched: usize,
    /// Not all were searched: the search ended at the limit of hits.
    pub more: bool,
    /// Newest activity first.
    pub conversations: Vec<ConversationHits>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationHits {
    pub id: String,
    pub title: String,
    pub last_activity: u64,
    /// Matching blocks; `hits` may be fewer.
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
    /// It is sent: neither removed by an edit nor left behind by the client.
    pub sent: bool,
    /// Why it is no longer sent, if the client left its frame behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<LeftReason>,
    pub snippet: String,
}
