//! A snapshot: what a load would have to derive from the content of a conversation again, as of one of its versions.

use crate::Note;
use crate::encode::{compressor, pack, unpack};

/// Derived from the log up to one of its records. It is a note: it can be rebuilt, and goes with its conversation. What
/// it holds is the reader's business, and so is whether it still applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The number of the last record in it.
    pub version: u64,
    /// Opaque to the store.
    pub body: Vec<u8>,
}

impl Snapshot {
    /// The name of its note.
    pub const NOTE: &str = "snapshot";

    /// The note that stores it, packed. `None`: it cannot be packed.
    pub fn note(&self, conversation: &str) -> Option<Note> {
        let packed = pack(&mut compressor().ok()?, &self.body).ok()?;
        let mut body = self.version.to_le_bytes().to_vec();
        for number in [packed.codec, packed.size.unwrap_or(-1)] {
            body.extend_from_slice(&number.to_le_bytes());
        }
        body.extend_from_slice(&packed.bytes);
        Some(Note { conversation: conversation.to_owned(), name: Self::NOTE.to_owned(), body: Some(body) })
    }

    /// `None` if the note is not a snapshot.
    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        let (version, body) = body.split_first_chunk()?;
        let (codec, body) = body.split_first_chunk()?;
        let (size, body) = body.split_first_chunk()?;
        let size = i64::from_le_bytes(*size);
        let body = unpack(i64::from_le_bytes(*codec), (size >= 0).then_some(size), body.to_vec()).ok()?;
        Some(Self { version: u64::from_le_bytes(*version), body })
    }
}
