//! The values of a store. No behaviour, no storage format.

use std::path::PathBuf;

use crate::Hash;

/// All records of one event; stored as a whole or not at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// Bytes with their hashes. Known ones are not stored again. Pass a blob in the step of the record that uses it:
    /// between two steps a purge may remove unused blobs.
    pub blobs: Vec<(Hash, Vec<u8>)>,
    pub records: Vec<NewRecord>,
    pub notes: Vec<Note>,
    /// The step is stored only if this holds; otherwise its outcome is a conflict. `None`: it builds on no version.
    pub expect: Option<Expectation>,
    /// True: on disk before `append` returns. False: a power cut may lose it (a crash of the process does not).
    pub durable: bool,
    /// The other daemons on this store must take it into account: it changes what leaves. See [`crate::Replica`].
    pub is_announced: bool,
}

/// The version of a conversation that a step builds on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    pub conversation: String,
    /// The number of the conversation's last record before the append; 0 before its first. Steps of one append build on
    /// each other.
    pub version: u64,
}

/// The outcome of one step of an append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppendOutcome {
    /// The step is stored.
    Stored {
        /// The numbers of its records, in their order.
        numbers: Vec<u64>,
    },
    /// Nothing of the step is stored: the conversation that it expects has another version.
    Conflict {
        /// The version of that conversation before the append.
        version: u64,
    },
}

/// The person whose conversations a store holds. Keys of different owners never meet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(pub u32);

impl Owner {
    /// The only owner where no person is set up.
    pub const SOLE: Owner = Owner(0);
}

/// A new record; the store assigns its number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewRecord {
    pub conversation: String,
    /// Unix time in milliseconds.
    pub at: u64,
    pub kind: String,
    pub version: u16,
    /// The blobs of this record, in the writer's order (preserved, so a body can refer to "the second one" instead of
    /// repeating 32 bytes). They stay in the store as long as this record does.
    pub uses: Vec<Hash>,
    pub body: Vec<u8>,
}

impl NewRecord {
    pub(crate) fn numbered(self, seq: u64) -> Record {
        let Self { conversation, at, kind, version, uses, body } = self;
        Record { seq, conversation, at, kind, version, uses, body }
    }
}

/// A stored record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub seq: u64,
    pub conversation: String,
    pub at: u64,
    pub kind: String,
    /// Returned unchanged, even from a later version: the reader decides.
    pub version: u16,
    pub uses: Vec<Hash>,
    pub body: Vec<u8>,
}

/// A projection that can be rebuilt from the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub conversation: String,
    pub name: String,
    /// `None` deletes the note.
    pub body: Option<Vec<u8>>,
}

/// The valid records in order, and the damaged ones by number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Records {
    pub records: Vec<Record>,
    pub skipped: Vec<SkippedRecord>,
}

impl Records {
    /// The number of the last record, valid or damaged.
    pub fn last_seq(&self) -> Option<u64> {
        let valid = self.records.last().map(|record| record.seq);
        valid.max(self.skipped.last().map(|skipped| skipped.seq))
    }
}

/// A damaged record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedRecord {
    pub seq: u64,
    /// Its kind; `None` if its row cannot be read.
    pub kind: Option<String>,
    pub why: Damage,
}

/// The result of reading one blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blob {
    Present(Vec<u8>),
    Missing,
    Damaged(Damage),
}

/// How stored bytes differ from what was written.
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

/// One conversation with records.
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

/// Threats to acknowledged commits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trouble {
    /// Files that report acknowledged records found missing by earlier starts.
    pub losses: Vec<PathBuf>,
    /// The store's file was removed or replaced while in use: commits are refused.
    pub gone: bool,
}

/// The amounts removed by a purge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PurgeReport {
    pub records: u64,
    pub blobs: u64,
    /// The bytes of the removed records, blobs and notes as passed in. The difference of two [`Size`]s shows how much
    /// the files shrank.
    pub bytes: u64,
}

impl std::ops::AddAssign for PurgeReport {
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
    /// The size of the main file.
    pub database_bytes: u64,
    /// The size of the write-ahead log (and its index), still to be moved into the main file.
    pub waiting_bytes: u64,
}

impl Size {
    pub fn bytes(&self) -> u64 {
        self.database_bytes.saturating_add(self.waiting_bytes)
    }
}
