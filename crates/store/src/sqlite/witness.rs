//! What is known of the store beside its database: which file it is, and the last number that was acknowledged.
//!
//! SQLite drops a damaged write-ahead log without a word, and a deleted file can still be written to. Both would lose
//! commits that were acknowledged; here both are noticed.

use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::files;
use crate::StoreError;

/// The witness's own file.
const ACKNOWLEDGED: &str = "ctx.acknowledged";

/// Begins the names of the files that tell of a loss.
const LOST: &str = "ctx.lost-";

pub struct Witness {
    database: PathBuf,
    /// The database's device and inode when it was opened.
    identity: Option<(u64, u64)>,
    file: Option<File>,
}

impl Witness {
    /// To be made once the database exists. Without its own file it notices less.
    pub fn of(database: &Path) -> Self {
        let file = files::open_private(&path(database)).inspect_err(|error| {
            tracing::warn!(%error, "cannot note which commits were acknowledged");
        });
        Self { database: database.to_owned(), identity: identity(database), file: file.ok() }
    }

    /// Whether the file that is written to is still the store.
    pub fn is_in_place(&self) -> Result<(), StoreError> {
        match identity(&self.database) == self.identity {
            true => Ok(()),
            false => Err(StoreError::Gone { path: self.database.clone() }),
        }
    }

    /// Notes that everything up to this number was acknowledged.
    pub fn acknowledge(&self, seq: u64) {
        let noted = self.file.as_ref().map(|mut file| {
            file.rewind()?;
            writeln!(file, "{seq:020}")?;
            file.sync_data()
        });
        if let Some(Err(error)) = noted {
            tracing::warn!(%error, "cannot note which commits were acknowledged");
        }
    }
}

fn path(database: &Path) -> PathBuf {
    database.with_file_name(ACKNOWLEDGED)
}

/// The last number that was acknowledged, as far as that was noted.
pub fn acknowledged(database: &Path) -> u64 {
    let mut text = String::new();
    let read = File::open(path(database)).and_then(|file| file.take(20).read_to_string(&mut text));
    read.ok().and_then(|_| text.trim().parse().ok()).unwrap_or(0)
}

/// Leaves a word for people: records after `kept`, up to `acknowledged`, are missing.
pub fn note_loss(database: &Path, kept: u64, acknowledged: u64) {
    let told = database.with_file_name(format!("{LOST}{}-{acknowledged}", kept + 1));
    let words = format!(
        "Records {} to {acknowledged} of {} were acknowledged and are missing: the file was damaged, cut or removed, or \
         an older copy of it was put back. Edits made in them are lost. Delete this file when you have read it.\n",
        kept + 1,
        database.display()
    );
    let noted = files::open_private(&told).and_then(|mut file| {
        file.write_all(words.as_bytes())?;
        file.sync_all()
    });
    if let Err(error) = noted {
        tracing::warn!(%error, "cannot leave a word about the loss");
    }
}

/// The words that were left about losses.
pub fn losses(database: &Path) -> Vec<PathBuf> {
    let entries = database.parent().and_then(|folder| fs::read_dir(folder).ok());
    let named = entries.into_iter().flatten().flatten().filter(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().starts_with(LOST)
    });
    let mut paths: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Elsewhere an open file cannot be removed.
#[cfg(not(unix))]
fn identity(path: &Path) -> Option<(u64, u64)> {
    path.exists().then_some((0, 0))
}
