//! The newest request of the current path, and the reply that the client has not sent back yet.

use super::messages::{LastBody, PendingMessage};
use super::thread::Thread;
use ctx_store::Hash;
use ctx_wire::envelope::Envelope;
use std::sync::Arc;

#[derive(Debug, Default)]
pub struct NewestRequest {
    pub envelope: Arc<Envelope>,
    /// The stored envelope.
    pub packed: Option<Hash>,
    /// The bytes between its messages, if they are not commas.
    pub between: Option<Vec<String>>,
    pub last: LastBody,
    /// The messages of the reply that the client has not sent back yet, and those behind it in a thread at the provider.
    pub pending: Vec<PendingMessage>,
    pub(super) thread: Thread,
}
