//! The store: an append-only log of versioned records, the blobs they use, and small notes.
//!
//! This crate stores, finds, verifies and purges bytes. It does not interpret records: bodies are
//! opaque, and their kind and version are for the engine.
//!
//! * A **record** is never changed. It has a number (`seq`) that is never reused, and a checksum.
//! * A **blob** is exact bytes, stored once, addressed by their [`Hash`]. Records name the blobs they use.
//! * A conversation's **version** is the number of its last record. A step can name the version that it builds on; if
//!   the conversation has moved on, the step is a conflict.
//! * The **feed** is the log in an order that all readers agree on, with a cursor.
//! * A **note** is a projection that can be rebuilt from the log: one body per conversation and name, overwritten in
//!   place. A **snapshot** is a note that spares a load the old messages.
//! * A store that several daemons share tells each of them about the edits of the others: [`Replica`].
//! * A store belongs to one [`Owner`]. A database of many owners opens as one store for each.
//!
//! Three backends pass the same contract: [`SqliteStore`], [`PostgresStore`] and [`MemoryStore`].

pub mod confined;
mod copy;
mod encode;
mod error;
mod feed;
mod hash;
mod health;
mod memory;
mod model;
mod postgres;
mod progress;
mod replica;
mod snapshot;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;

pub use copy::{CopyReport, copy};
pub use error::{Cause, StoreError};
pub use feed::{Cursor, Feed, ParseCursorError};
pub use hash::{Hash, ParseHashError};
pub use health::{Counts, Finding, FindingKind, Health};
pub use memory::MemoryStore;
pub use model::{
    AppendOutcome, Blob, ConversationRow, Damage, Expectation, NewRecord, Note, Owner, PurgeReport, Record, Records,
    Size, SkippedRecord, Step, Trouble,
};
pub use postgres::{Limits, Migration, PostgresAddress, PostgresStore};
pub use progress::Progress;
pub use replica::{Absent, KNOWN_FOR, NAMED_FOR, News, Presence, Replica};
pub use snapshot::Snapshot;
#[cfg(feature = "sqlite")]
pub use sqlite::{FolderLock, OpenReport, SCHEMA_VERSION, SqliteReader, SqliteStore};
pub use store::{Reader, Store};
