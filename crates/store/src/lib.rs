//! The store: an append-only log of versioned records, the blobs they use, and small notes.
//!
//! This crate stores, finds, verifies and purges bytes. It does not interpret records: bodies are
//! opaque, and their kind and version are for the engine.
//!
//! * A **record** is never changed. It has a number (`seq`) that is never reused, and a checksum.
//! * A **blob** is exact bytes, stored once, addressed by their [`Hash`]. Records name the blobs they use.
//! * A **note** is a projection that can be rebuilt from the log: one body per conversation and name,
//!   overwritten in place.
//!
//! Two backends pass the same contract: [`SqliteStore`] and [`MemoryStore`].

pub mod confined;
mod error;
mod hash;
mod health;
mod memory;
mod model;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;

pub use error::{Cause, StoreError};
pub use hash::{Hash, ParseHashError};
pub use health::{Counts, Finding, FindingKind, Health};
pub use memory::MemoryStore;
pub use model::{
    Blob, ConversationRow, Damage, NewRecord, Note, PurgeReport, Record, Records, Size, SkippedRecord, Step, Trouble,
};
#[cfg(feature = "sqlite")]
pub use sqlite::{OpenReport, SCHEMA_VERSION, SqliteReader, SqliteStore};
pub use store::{Reader, Store};
