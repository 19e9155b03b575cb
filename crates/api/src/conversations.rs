//! The list of conversations, and imported or deleted conversations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conversations {
    pub conversations: Vec<ConversationView>,
    /// Requests that have passed and are still being read: the list does not include them yet.
    #[serde(default, skip_serializing_if = "crate::is_zero")]
    pub unread: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationView {
    pub id: String,
    /// The one with the most recent main activity.
    pub active: bool,
    pub class: String,
    pub title: String,
    pub model: Option<String>,
    pub client: Option<String>,
    pub session: Option<String>,
    pub agent: Option<String>,
    pub parent: Option<String>,
    pub forked_from: Option<String>,
    /// The client's working directory, if known.
    #[serde(default)]
    pub folder: Option<String>,
    /// An import from a file, unused since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
    pub frames: usize,
    pub messages: usize,
    pub requests: u32,
    pub tokens: u64,
    pub calibrated: bool,
    pub last_activity: u64,
    /// The person who shares it, if it is not the reader's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Its side traffic, by class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub side: Vec<Side>,
}

/// Requests of one class.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// `auxiliary`: titles, suggestions, probes, side questions. `compaction`: requests for a summary.
    pub class: String,
    pub requests: u32,
    /// The provider's token counts, input and output.
    pub tokens: u64,
    pub last_at: u64,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Purge {
    #[serde(default)]
    pub conversations: Vec<String>,
    pub older_than_days: Option<u64>,
    #[serde(default)]
    pub all: bool,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct PurgeResult {
    pub conversations: usize,
    pub bytes_freed: u64,
    /// Where removed content may still be.
    #[serde(default)]
    pub residue: String,
}

/// A conversation imported from a file, or a preview of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportResult {
    /// Its id in this home.
    pub conversation: String,
    /// Its original id.
    pub was: String,
    pub title: String,
    pub records: u64,
    pub commits: u64,
    pub frames: usize,
    pub tokens: u64,
    /// Its session, under which it continues; none if that session is already known here.
    pub session: Option<String>,
    /// Offloaded content whose file is missing here.
    pub files_missing: usize,
    pub dry_run: bool,
}

/// The media type of an exported conversation: JSON lines.
pub const EXPORT_MEDIA: &str = "application/x-ndjson";

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ImportQuery {
    /// Only check the file.
    #[serde(default)]
    pub dry_run: bool,
}
