//! How far a conversation has come, and how it stands to its log.

use ctx_core::edit::CommitId;

/// How far the conversation has come.
#[derive(Debug, Default)]
pub struct Progress {
    pub requests: u32,
    pub turns: u32,
    /// The number of the newest request that was a turn.
    pub last_turn: u32,
    /// The newest commit when the newest turn came.
    pub asked: Option<CommitId>,
    /// The same of the turn whose answer the provider paused, while that answer is being continued.
    pub paused: Option<Option<CommitId>>,
    pub last_activity: u64,
    /// When the newest request came, whatever it was.
    pub heard: u64,
    /// The newest turn was answered to the end.
    pub answered: bool,
    /// The provider keeps the history since the newest turn: requests carry only what is new, and pass untouched.
    pub elsewhere: bool,
}

/// How the conversation stands to its log.
#[derive(Debug, Default)]
pub struct LogState {
    /// What the service's directory said of losses when it came into memory. If it says more now, something
    /// that this one holds is not in the log.
    pub losses: u64,
    /// The log says who this is.
    pub introduced: bool,
    /// Records that could not be read.
    pub skipped: u64,
    /// Edits were lost with skipped records, and no commit since then takes that into account. Its requests do not
    /// leave: they would leave without those edits.
    pub lost_edits: bool,
    /// Something was skipped since the last turn that says all by itself.
    pub broken: bool,
}
