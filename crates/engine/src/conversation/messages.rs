//! The original bytes of the messages: the newest body, the newest version of each slot, and the pending reply.

use ctx_core::message::Message;
use ctx_store::Hash;
use ctx_wire::Wire;
use ctx_wire::body::Body;
use ctx_wire::dress::Dress;
use ctx_wire::envelope::Envelope;
use std::sync::Arc;

/// The newest body that carried the history, for comparison.
#[derive(Debug, Default)]
pub struct LastBody {
    pub body: Option<Body>,
    /// The number of leading messages of `body` that have the bytes of the current path.
    pub aligned: usize,
    /// The envelope of `body`, and its blob if stored.
    pub envelope: Arc<Envelope>,
    pub packed: Option<Hash>,
}

/// The newest version of a slot: a bare message and its dress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotVersion {
    pub blob: Hash,
    pub dress: Dress,
}

/// A reply that the client has not sent back yet.
#[derive(Debug, Clone)]
pub struct Pending {
    pub bytes: Vec<u8>,
    pub facts: Message,
}

impl Pending {
    pub fn new(wire: &dyn Wire, bytes: Vec<u8>) -> Pending {
        let facts = wire.read(&bytes, ctx_clients::lexicon()).facts;
        Pending { bytes, facts }
    }
}
