//! The progress of a conversation, and the state of its log.

use ctx_core::edit::CommitId;
use ctx_store::Snapshot;

#[derive(Debug, Default)]
pub struct Progress {
    pub requests: u32,
    pub turns: u32,
    /// The number of the newest turn.
    pub last_turn: u32,
    /// The newest commit when the newest turn came.
    pub asked: Option<CommitId>,
    /// The same for a turn whose paused answer is being continued.
    pub paused: Option<Option<CommitId>>,
    pub last_activity: u64,
    /// When the newest request of any kind came.
    pub heard: u64,
    /// The newest turn was answered completely.
    pub answered: bool,
    /// The provider keeps the history since the newest turn: requests carry only new messages, and pass unchanged.
    pub elsewhere: bool,
}

#[derive(Debug, Default)]
pub struct LogState {
    /// The directory's count of losses at loading. If it is higher now, something in memory is not in the log.
    pub losses: u64,
    /// The number of the last record at loading.
    pub version: u64,
    /// A snapshot to store: the load had to read what it keeps.
    pub snapshot: Option<Snapshot>,
    /// The log has the record that introduces the conversation.
    pub introduced: bool,
    /// The number of unreadable records.
    pub skipped: u64,
    /// Edits were lost with skipped records, and no later commit takes that into account. Its requests are withheld:
    /// they would leave without those edits.
    pub lost_edits: bool,
    /// Records were skipped since the last self-contained turn.
    pub broken: bool,
}
