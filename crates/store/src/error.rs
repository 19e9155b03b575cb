//! Errors of a store: a sentence, a stable code, and advice.

use std::io;
use std::path::PathBuf;

use ctx_core::ErrorCode;

use crate::{Damage, Hash};

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

    #[error("{} has schema version {found}, this program knows up to {known}", path.display())]
    FutureSchema { path: PathBuf, found: i64, known: i64 },

    #[error("{} is the database of another program", path.display())]
    OtherProgram { path: PathBuf },

    #[error("others can read {}, and it holds files that are not ours", path.display())]
    OpenToOthers { path: PathBuf },

    #[error("the store file is damaged")]
    Damaged(#[source] Cause),

    #[error("blob {hash} is damaged: {why}")]
    DamagedBlob { hash: Hash, why: Damage },

    #[error("the bytes given for blob {given} have the hash {actual}")]
    WrongHash { given: Hash, actual: Hash },

    #[error("a record uses blob {0}, which is neither in the store nor in its step")]
    UnknownBlob(Hash),

    #[error("{bytes} bytes are too much for one body; the limit is {limit}")]
    TooLarge { bytes: usize, limit: usize },

    #[error("there is no room left for the store")]
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

    #[error("the disk does not keep up: what was handed to the store is not written yet")]
    Slow,

    #[error("the store's database refused")]
    Database(#[source] Cause),
}

impl StoreError {
    /// A stable name for scripts and tests.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Absent { .. } => ErrorCode::StoreAbsent,
            Self::InUse { .. } => ErrorCode::StoreInUse,
            Self::FutureSchema { .. } => ErrorCode::StoreFromTheFuture,
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
            Self::Slow => ErrorCode::StoreSlow,
            Self::Database(_) => ErrorCode::StoreDatabase,
        }
    }

    /// Advice for a person or the caller.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Absent { .. } => "the daemon makes it on its first start; or choose another home",
            Self::InUse { .. } => "use the daemon that runs, stop it first, or give this one another home",
            Self::FutureSchema { .. } => {
                "use the newer version that wrote it, or give this one another home; the file was not touched"
            }
            Self::OtherProgram { .. } => "choose another home; the file was not touched",
            Self::OpenToOthers { .. } => "choose an empty folder as home, or make this one private (chmod 700)",
            Self::Damaged(_) => {
                "run a check to see what is affected; to start afresh, stop the daemon and move the file away"
            }
            Self::DamagedBlob { .. } => {
                "it is written anew when the same bytes are seen again; a check tells what else is affected"
            }
            Self::WrongHash { .. } | Self::TooLarge { .. } => "nothing was stored",
            Self::UnknownBlob(_) => "nothing was stored; give the blob in the step that uses it",
            Self::Full(_) => "nothing was stored; free some disk space or purge old conversations",
            Self::File { .. } => "check that the folder exists, is yours and can be written to",
            Self::Compression(_) => "nothing was stored; this is likely a lack of memory",
            Self::Gone { .. } => {
                "nothing that is written now would be found again; put the file back, or restart the daemon"
            }
            Self::Slow => "try again in a moment; if it stays, look at what else uses the disk",
            Self::Database(_) => "a check tells whether the store is sound",
        }
    }

    #[cfg(feature = "sqlite")]
    pub(crate) fn file(doing: &'static str, path: &std::path::Path, source: io::Error) -> Self {
        Self::File { doing, path: path.to_owned(), source }
    }
}

fn process(holder: Option<u32>) -> String {
    holder.map_or_else(String::new, |id| format!(" (process {id})"))
}
