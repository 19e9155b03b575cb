//! The list of conversations, and conversations that arrive from a file or are deleted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conversations {
    pub conversations: Vec<ConversationView>,
    /// Requests that have passed and are still being read: the list lacks what they add.
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
    /// The folder that the client works in, where it says so.
    #[serde(default)]
    pub folder: Option<String>,
    /// A copy from a file, in which nobody has spoken since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
    pub frames: usize,
    pub messages: usize,
    pub requests: u32,
    pub tokens: u64,
    pub calibrated: bool,
    pub last_activity: u64,
    /// What came with it and is no part of it, by class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub side: Vec<Side>,
}

/// Requests of one class.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// `auxiliary`: titles, suggestions, probes, side questions. `compaction`: the client asks for a summary.
    pub class: String,
    pub requests: u32,
    /// What the provider counted for them, read and written.
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
pub struct Purged {
    pub conversations: usize,
    pub bytes_freed: u64,
}

/// A conversation that has come from a file, or would.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Imported {
    /// Its id here.
    pub conversation: String,
    /// Its id where it comes from.
    pub was: String,
    pub title: String,
    pub records: u64,
    pub commits: u64,
    pub frames: usize,
    pub tokens: u64,
    /// It goes on as the session that it was; not so if that session is known here already.
    pub session: Option<String>,
    /// Offloaded content whose file is not here.
    pub files_missing: usize,
    pub dry_run: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ImportQuery {
    /// Only tell what would come of it.
    #[serde(default)]
    pub dry_run: bool,
}
