//! Reads the content for import operations before any conversation is locked: no thread waits for one conversation
//! while it holds another.

use crate::parts::Parts;
use crate::threads::lock;
use ctx_core::ErrorCode;
use ctx_core::edit::Operation;
use ctx_engine::Refusal;
use ctx_engine::conversation::Conversation;
use ctx_engine::conversation::waiting::State;
use ctx_engine::edit::imports::{ImportSource, Imports, imports};
use std::sync::TryLockError;
use std::time::{Duration, Instant};

/// How long a busy conversation is retried while another one is locked.
const SOON: Duration = Duration::from_millis(100);

impl Parts {
    /// Copies everything that these operations import. Must be called without any conversation lock.
    pub(crate) fn gather(&self, into: &str, operations: &[Operation]) -> Imports {
        imports(operations, |from, ids| match self.meant(from)? {
            own if own == into => Ok(ImportSource::Own),
            from => {
                let shared = self.stored(&from)?;
                self.engine.copied(&lock(&shared), ids)
            }
        })
    }

    /// The same while the conversation is locked: does not wait for another one that is busy.
    pub(crate) fn gather_soon(&self, into: &Conversation, operations: &[Operation]) -> Imports {
        imports(operations, |from, ids| match self.meant(from)? {
            own if own == into.id() => Ok(ImportSource::Own),
            from => self.copy_soon(&from, ids),
        })
    }

    /// The same for all pending changes.
    pub(crate) fn gather_waiting(&self, into: &Conversation) -> Imports {
        let waiting = into.waiting.iter().filter(|waiting| waiting.state == State::Waiting);
        Imports(waiting.flat_map(|waiting| self.gather_soon(into, &waiting.edit.operations).0).collect())
    }

    fn copy_soon(&self, from: &str, ids: Option<&[String]>) -> Result<ImportSource, Refusal> {
        let shared = self.conversation(from)?;
        let deadline = Instant::now() + SOON;
        loop {
            match shared.try_lock() {
                Ok(conversation) => return self.engine.copied(&conversation, ids),
                Err(TryLockError::Poisoned(poisoned)) => return self.engine.copied(&poisoned.into_inner(), ids),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(SOON / 20),
                Err(TryLockError::WouldBlock) => {
                    let message = format!("Conversation `{from}` is busy.");
                    return Err(Refusal::new(ErrorCode::Busy, message, "Nothing was changed. Try again in a moment."));
                }
            }
        }
    }
}
