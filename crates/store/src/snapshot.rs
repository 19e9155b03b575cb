//! A snapshot: the state of a conversation at a version, so that a load replays only the records behind it.

use crate::Note;

/// The state of a conversation at one of its versions. It is a note: it can be rebuilt from the log, and goes with its
/// conversation.
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

    /// The note that stores it.
    pub fn note(&self, conversation: &str) -> Note {
        let mut body = self.version.to_le_bytes().to_vec();
        body.extend_from_slice(&self.body);
        Note { conversation: conversation.to_owned(), name: Self::NOTE.to_owned(), body: Some(body) }
    }

    /// `None` if the note is too short.
    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        let (version, body) = body.split_first_chunk()?;
        Some(Self { version: u64::from_le_bytes(*version), body: body.to_vec() })
    }
}
