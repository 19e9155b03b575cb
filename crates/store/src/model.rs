//! The values that go into a store and come out of it. No behaviour, no storage format.

use std::path::PathBuf;

use crate::Hash;

/// Everything one event leaves behind; it is kept as a whole or not at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// Bytes with their hashes. Known ones are not stored again. Give a blob in the step of the
    /// record that uses it: between two steps a purge may remove what nothing refers to.
    pub blobs: Vec<(Hash, Vec<u8>)>,
    pub records: Vec<NewRecord>,
    pub notes: Vec<Note>,
    /// True: on the disk before `append` returns. False: a power cut may lose it (a crash of the
    /// process does not).
    pub durable: bool,
}

/// A record as it is handed in: the store gives it its number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewRecord {
    pub conversation: String,
    /// Unix time in milliseconds.
    pub at: u64,
    pub kind: String,
    pub version: u16,
    /// The blobs this record needs, in the writer's own order (kept, so a body can say "the second
    /// one" instead of repeating 32 bytes). They stay in the store as long as this record does.
    pub uses: Vec<Hash>,
    pub body: Vec<u8>,
}

impl NewRecord {
    pub(crate) fn numbered(self, seq: u64) -> Record {
        let Self { conversation, at, kind, version, uses, body } = self;
        Record { seq, conversation, at, kind, version, uses, body }
    }
}

/// A record as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub seq: u64,
    pub conversation: String,
    pub at: u64,
    pub kind: String,
    /// Returned as it is, also when it comes from a later version: the reader decides.
    pub version: u16,
    pub uses: Vec<Hash>,
    pub body: Vec<u8>,
}

/// A projection that can be rebuilt from the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub conversation: String,
    pub name: String,
    /// `None` forgets the note.
    pub body: Option<Vec<u8>>,
}

/// What reading the log gave: the sound records in order, and the damaged ones by number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Records {
    pub records: Vec<Record>,
    pub skipped: Vec<Skipped>,
}

/// A record that is there but cannot be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    pub seq: u64,
    /// What it was; `None` when its row cannot be read.
    pub kind: Option<String>,
    pub why: Damage,
}

/// What reading one blob gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blob {
    Present(Vec<u8>),
    Missing,
    Damaged(Damage),
}

/// In which way stored bytes are not what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    #[error("its checksum does not match")]
    Checksum,
    #[error("its bytes do not match its hash")]
    Hash,
    #[error("its compressed bytes cannot be unpacked")]
    Packing,
    #[error("a part of it is missing")]
    Pieces,
    #[error("it names a blob that is gone")]
    MissingBlob,
    #[error("the page of the file that holds it cannot be read")]
    Page,
}

/// One conversation that has records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationRow {
    pub id: String,
    pub records: u64,
    /// Time of its first record, in log order.
    pub first_at: u64,
    /// Time of its last record, in log order.
    pub last_at: u64,
    /// The number of that record.
    pub last_seq: u64,
}

/// What threatens acknowledged commits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trouble {
    /// Files that tell of acknowledged records that earlier starts found missing.
    pub losses: Vec<PathBuf>,
    /// The store's file was removed or replaced while it is in use: commits are refused.
    pub gone: bool,
}

/// What a purge removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Purged {
    pub records: u64,
    pub blobs: u64,
    /// The bytes of the removed records, blobs and notes as they were handed in. How much the files
    /// shrank is the difference of two [`Size`]s.
    pub bytes: u64,
}

impl std::ops::AddAssign for Purged {
    fn add_assign(&mut self, other: Self) {
        self.records += other.records;
        self.blobs += other.blobs;
        self.bytes += other.bytes;
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    pub records: u64,
    pub blobs: u64,
    /// The main file.
    pub database_bytes: u64,
    /// What waits in the write-ahead log (and its index) to be moved into the main file.
    pub waiting_bytes: u64,
}

impl Size {
    pub fn bytes(&self) -> u64 {
        self.database_bytes.saturating_add(self.waiting_bytes)
    }
}
