//! Why an awaited step was not stored, and its words.

use ctx_core::hint::Command;
use ctx_core::{ErrorCode, hint};
use ctx_engine::Refusal;
use ctx_store::StoreError;

/// Why an awaited step was not stored.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("the writer is not running")]
    Stopped,
    #[error("an earlier request could not be stored")]
    BuiltOnLost,
    /// The step was not even tried.
    #[error(transparent)]
    Away(StoreError),
    #[error("the conversation was changed elsewhere")]
    Conflict,
    #[error(transparent)]
    Refused(#[from] StoreError),
}

impl WriteError {
    /// The refusal of a change: `what` could not be stored.
    pub fn refusal(&self, what: &str) -> Refusal {
        let hint = match self {
            WriteError::Refused(StoreError::Gone { .. }) => {
                hint!["Nothing was changed. Restart the daemon; it creates a new store if the old one was removed."]
            }
            WriteError::Conflict => {
                let hint = hint!["Nothing was changed. Look at the conversation again and repeat the change."];
                return Refusal::new(ErrorCode::Stale, format!("{what} was not stored: {self}."), hint);
            }
            WriteError::Away(_) => hint!["Nothing was changed. Try again when the database is back."],
            WriteError::Refused(StoreError::Unavailable { .. }) => {
                hint!["The database is out of reach. Look at the history when it is back: the change may be stored."]
            }
            _ => hint!["Nothing was changed. Is the disk full? ", Command::Doctor, " checks the store."],
        };
        Refusal::new(ErrorCode::NotStored, format!("{what} could not be stored: {self}."), hint)
    }
}
