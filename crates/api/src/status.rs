//! The state of the daemon. Fields that are missing take their defaults when it is read: the status is how programs of
//! different versions find out about each other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(!default)]
pub struct Status {
    pub version: String,
    pub pid: u32,
    pub listen: Option<String>,
    pub upstream: String,
    /// The other upstreams.
    pub upstreams: Vec<UpstreamView>,
    pub home: PathBuf,
    pub started_at: u64,
    pub conversations: usize,
    /// Conversations with operations.
    pub edited: usize,
    pub requests: Requests,
    pub recorder: Load,
    pub store: Stored,
    /// The provider's own editing.
    pub provider: ProviderView,
    /// Where the system tells.
    pub memory_bytes: Option<u64>,
    /// Whether this program has the page in it.
    pub page: bool,
}

/// An upstream by its name.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(!default)]
pub struct UpstreamView {
    pub name: String,
    pub url: String,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(!default)]
pub struct Requests {
    pub total: u64,
    pub in_flight: u64,
    /// Without a whole answer, though the client waited for it.
    pub failed: u64,
    /// The client left before the answer was whole.
    pub cancelled: u64,
    /// In a format that is not read: they passed, and nothing of them is shown.
    pub unread: u64,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(!default)]
pub struct Stored {
    pub path: PathBuf,
    pub bytes: u64,
    pub records: u64,
    pub blobs: u64,
    /// What could not be stored since the start.
    pub unsaved: u64,
    /// Files in the home that tell of acknowledged records which are missing.
    pub losses: Vec<PathBuf>,
    /// The file was removed or replaced while the daemon runs: commits are refused.
    pub gone: bool,
}

/// How busy the recorder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(!default)]
pub struct Load {
    pub queued: u64,
    pub queued_bytes: u64,
    /// Copies that were not looked at for want of room.
    pub dropped: u64,
    /// Requests that could not be read. They were forwarded as they came, but for those that were refused.
    pub unreadable: u64,
    /// Requests among them that were refused, because edits of their conversation may be missing.
    pub refused: u64,
    /// Requests that have passed and are still being read.
    pub requests: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(!default)]
pub struct ProviderView {
    /// Somebody has switched it on, for some conversations at least.
    pub enabled: bool,
    /// Since the start: requests that asked for it beside what their client asked for.
    pub asked: u64,
    /// Since the start: answers with something cleared; results, turns of thinking and tokens in them.
    pub clearings: u64,
    pub cleared_tool_uses: u64,
    pub cleared_thinking_turns: u64,
    pub cleared_tokens: u64,
    /// Since the start: summaries that the provider wrote.
    pub summaries: u64,
    /// What the provider did not take, and is not asked for.
    pub refused: Vec<RefusedView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(!default)]
pub struct RefusedView {
    pub model: String,
    /// The `type` of the edit.
    pub edit: String,
    pub at: u64,
    /// When it is asked for again.
    pub until: u64,
    /// What the provider said.
    pub words: String,
}
