//! Reads the content for import operations before any conversation is locked: no thread waits for one conversation
//! while it holds another.

use crate::directory::SharedConversation;
use crate::parts::Parts;
use crate::threads::lock;
use ctx_core::ErrorCode;
use ctx_core::edit::Operation;
use ctx_engine::Refusal;
use ctx_engine::conversation::Conversation;
use ctx_engine::conversation::waiting::State;
use ctx_engine::edit::imports::{ImportSource, Imports, imports};
use std::sync::TryLockError;

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

    /// The same for the pending changes of a conversation.
    pub(crate) fn gather_pending(&self, shared: &SharedConversation) -> Imports {
        let (id, operations) = {
            let conversation = lock(shared);
            (conversation.id().to_owned(), pending(&conversation).cloned().collect::<Vec<_>>())
        };
        self.gather(&id, &operations)
    }

    /// The same while a request waits in the locked conversation: from memory only, and from no busy conversation. What
    /// is missing is loaded in the background; its change stays deferred.
    pub(crate) fn gather_known(&self, into: &Conversation) -> Imports {
        let operations: Vec<Operation> = pending(into).cloned().collect();
        imports(&operations, |from, ids| match self.meant_here(from)? {
            own if own == into.id() => Ok(ImportSource::Own),
            from => {
                let Some(shared) = lock(&self.directory).touch(&from) else {
                    self.alarm.set(&from, Some(0));
                    return Err(busy(&from));
                };
                match shared.try_lock() {
                    Ok(conversation) => self.engine.copied(&conversation, ids),
                    Err(TryLockError::Poisoned(poisoned)) => self.engine.copied(&poisoned.into_inner(), ids),
                    Err(TryLockError::WouldBlock) => Err(busy(&from)),
                }
            }
        })
    }
}

/// The imports of all changes that may still be made.
fn pending(conversation: &Conversation) -> impl Iterator<Item = &Operation> {
    let is_over = |state: &State| matches!(state, State::Made(_) | State::Cancelled);
    let open = conversation.waiting.iter().filter(move |waiting| !is_over(&waiting.state));
    open.flat_map(|waiting| &waiting.edit.operations).filter(|operation| matches!(operation, Operation::Import { .. }))
}

fn busy(from: &str) -> Refusal {
    let message = format!("Conversation `{from}` is busy.");
    Refusal::new(ErrorCode::Busy, message, "Nothing was changed. Try again in a moment.")
}
