//! The state of the daemon. Missing fields take their defaults: programs of different versions use the status to
//! recognise each other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

use crate::team::Me;

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
    pub store: StoreStatus,
    /// The provider's own editing.
    pub provider: ProviderView,
    /// None if the system does not report it.
    pub memory_bytes: Option<u64>,
    /// Whether this program includes the page.
    pub page: bool,
    /// The newest replay of the home's conversations; none before the first.
    pub week: Option<WeekView>,
    /// The reader, if the daemon serves a team.
    pub me: Option<Me>,
}

/// Savings and harm of mode `on` in the newest conversations of a home, replayed by `ctx lab week`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(!default)]
pub struct WeekView {
    /// The time of the replay, in milliseconds since 1970.
    pub at: u64,
    pub conversations: usize,
    pub steps: usize,
    /// The cost without edits, in dollars.
    pub cost: f64,
    /// The part of it that mode `on` would have saved.
    pub saved: f64,
    /// The middle 90 % of the saving over resamples of as many conversations; none for a single one.
    pub saved_range: Option<[f64; 2]>,
    /// Steps that relied on content that would have been cleared.
    pub harmed_steps: usize,
}

impl WeekView {
    /// Its file in the home.
    pub const FILE: &str = "week.json";
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
    /// Requests without a complete answer, although the client waited.
    pub failed: u64,
    /// Requests whose client left before the answer was complete.
    pub cancelled: u64,
    /// Requests in an unknown format: forwarded, and not shown.
    pub unread: u64,
    /// Their history is kept at the provider: they passed untouched, and cannot be edited.
    pub elsewhere: u64,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(!default)]
pub struct StoreStatus {
    pub path: PathBuf,
    pub bytes: u64,
    pub records: u64,
    pub blobs: u64,
    /// Records that could not be stored since the start.
    pub unsaved: u64,
    /// Files in the home that report missing acknowledged records.
    pub losses: Vec<PathBuf>,
    /// The file was removed or replaced while the daemon runs: commits are refused.
    pub gone: bool,
    /// Since when the database is out of reach, in milliseconds since 1970; none while it answers.
    pub away_since: Option<u64>,
    /// Observed bytes that wait until the store takes them.
    pub waiting_bytes: u64,
    /// The other daemons on the same database.
    pub others: Vec<OtherDaemon>,
}

/// Another daemon on the same database.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(!default)]
pub struct OtherDaemon {
    pub name: String,
    /// Milliseconds since it was heard of.
    pub silent_ms: u64,
}

impl OtherDaemon {
    /// Whether it has not been heard of for so long that edits no longer wait for it.
    pub fn is_silent(&self) -> bool {
        self.silent_ms >= 2_000
    }
}

/// The load of the recorder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(!default)]
pub struct Load {
    pub queued: u64,
    pub queued_bytes: u64,
    /// Copies dropped for lack of memory.
    pub dropped: u64,
    /// Requests that could not be parsed. They were forwarded as they came, except those that were refused.
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
    /// Turned on, at least for some conversations.
    pub enabled: bool,
    /// Since the start: requests with edits that `ctx` added to the client's.
    pub asked: u64,
    /// Since the start: answers with clearings; their results, turns of thinking and tokens.
    pub clearings: u64,
    pub cleared_tool_uses: u64,
    pub cleared_thinking_turns: u64,
    pub cleared_tokens: u64,
    /// Since the start: summaries that the provider wrote.
    pub summaries: u64,
    /// Edits that the provider refused and that are not requested any more.
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
    /// The time from which it is requested again.
    pub until: u64,
    /// The provider's message.
    pub words: String,
}
