//! Errors of a store: a sentence, a stable code, and advice.

use std::io;
use std::path::PathBuf;

use ctx_core::ErrorCode;

use crate::{Cursor, Damage, Hash};

/// The error of the database itself.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("there is no store at {}", path.display())]
    Absent { path: PathBuf },

    #[error("another daemon{} already uses the store in {}", process(*holder), folder.display())]
    InUse {
        folder: PathBuf,
        /// The process that holds it, if known.
        holder: Option<u32>,
    },

    #[error("{} has schema version {found}; this program supports up to {known}", path.display())]
    FutureSchema { path: PathBuf, found: i64, known: i64 },

    #[error("the store at {address} has schema version {found}; this program needs version {known}")]
    OldSchema { address: String, found: i64, known: i64 },

    #[error("the address of the database is invalid: {why}")]
    Address { why: String },

    #[error("{} is the database of another program", path.display())]
    OtherProgram { path: PathBuf },

    #[error("others can read {}, and it contains other files", path.display())]
    OpenToOthers { path: PathBuf },

    #[error("the store file is damaged")]
    Damaged(#[source] Cause),

    #[error("blob {hash} is damaged: {why}")]
    DamagedBlob { hash: Hash, why: Damage },

    #[error("the bytes given for blob {given} have the hash {actual}")]
    WrongHash { given: Hash, actual: Hash },

    #[error("a record uses blob {0}, which is neither in the store nor in its step")]
    UnknownBlob(Hash),

    #[error("a body of {bytes} bytes is too large; the limit is {limit}")]
    TooLarge { bytes: usize, limit: usize },

    #[error("no space is left for the store")]
    Full(#[source] Cause),

    #[error("could not {doing} {}", path.display())]
    File {
        doing: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },

    #[error("could not compress a body")]
    Compression(#[source] io::Error),

    #[error("{} was removed or replaced while it was in use", path.display())]
    Gone { path: PathBuf },

    #[error("the conversation {conversation} has other records in the target")]
    OtherContent { conversation: String },

    #[error("the position {0} in the feed belongs to another store")]
    ForeignCursor(Cursor),

    #[error("the database of the store is out of reach: {why}")]
    Unavailable {
        why: &'static str,
        #[source]
        source: Option<Cause>,
    },

    #[error("the disk is too slow: earlier writes are not finished")]
    Slow,

    #[error("the store's database reported an error")]
    Database(#[source] Cause),
}

impl StoreError {
    /// A stable name for scripts and tests.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Absent { .. } => ErrorCode::StoreAbsent,
            Self::InUse { .. } => ErrorCode::StoreInUse,
            Self::FutureSchema { .. } => ErrorCode::StoreFromTheFuture,
            Self::OldSchema { .. } => ErrorCode::StoreNeedsMigration,
            Self::Address { .. } => ErrorCode::StoreAddress,
            Self::OtherProgram { .. } => ErrorCode::StoreOfAnotherProgram,
            Self::OpenToOthers { .. } => ErrorCode::StoreOpenToOthers,
            Self::Damaged(_) => ErrorCode::StoreDamaged,
            Self::DamagedBlob { .. } => ErrorCode::BlobDamaged,
            Self::WrongHash { .. } => ErrorCode::BlobWrongHash,
            Self::UnknownBlob(_) => ErrorCode::BlobUnknown,
            Self::TooLarge { .. } => ErrorCode::BodyTooLarge,
            Self::Full(_) => ErrorCode::StoreFull,
            Self::File { .. } => ErrorCode::StoreFile,
            Self::Compression(_) => ErrorCode::StoreCompression,
            Self::Gone { .. } => ErrorCode::StoreGone,
            Self::OtherContent { .. } => ErrorCode::StoreOtherContent,
            Self::ForeignCursor(_) => ErrorCode::StoreCursor,
            Self::Unavailable { .. } => ErrorCode::StoreUnavailable,
            Self::Slow => ErrorCode::StoreSlow,
            Self::Database(_) => ErrorCode::StoreDatabase,
        }
    }

    /// Advice for a person or the caller.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Absent { .. } => "the first start of the daemon creates it; or choose another home",
            Self::InUse { .. } => "use that daemon, stop it, or choose another home",
            Self::FutureSchema { .. } => {
                "use the newer version that wrote it, or choose another home; the file is unchanged"
            }
            Self::OldSchema { .. } => "run `ctx store migrate` once; daemons of the earlier version go on working",
            Self::Address { .. } => "write it as postgres://USER@HOST:PORT/DATABASE",
            Self::OtherProgram { .. } => "choose another home; the file is unchanged",
            Self::OpenToOthers { .. } => "choose an empty folder as home, or make this one private (chmod 700)",
            Self::Damaged(_) => "`ctx doctor` shows the damage; to start over, stop the daemon and move the file away",
            Self::DamagedBlob { .. } => {
                "the next request with the same content restores it; `ctx doctor` shows other damage"
            }
            Self::WrongHash { .. } | Self::TooLarge { .. } => "nothing was stored",
            Self::UnknownBlob(_) => "nothing was stored; give the blob in the step that uses it",
            Self::Full(_) => "nothing was stored; free some disk space or purge old conversations",
            Self::File { .. } => "check that the folder exists and that you own it and can write to it",
            Self::Compression(_) => "nothing was stored; check the free memory",
            Self::Gone { .. } => "new records would be lost; put the file back, or restart the daemon",
            Self::OtherContent { .. } => "copy into an empty store, or purge that conversation in the target",
            Self::ForeignCursor(_) => "read the feed from its beginning",
            Self::Unavailable { .. } => "try again in a moment; if this persists, check the database server",
            Self::Slow => "try again in a moment; if this persists, check what else uses the disk",
            Self::Database(_) => "`ctx doctor` checks the store",
        }
    }

    /// Whether the same call may succeed later without a change to the call: the store is busy, full or out of reach.
    /// All other errors stay until the store or the call changes.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Slow | Self::Full(_) | Self::InUse { .. })
    }

    #[cfg(feature = "sqlite")]
    pub(crate) fn file(doing: &'static str, path: &std::path::Path, source: io::Error) -> Self {
        Self::File { doing, path: path.to_owned(), source }
    }
}

fn process(holder: Option<u32>) -> String {
    holder.map_or_else(String::new, |id| format!(" (process {id})"))
}
