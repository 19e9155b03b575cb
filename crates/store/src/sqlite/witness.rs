//! Facts about the store kept beside its database: the identity of the file, and the last acknowledged number.
//!
//! SQLite drops a damaged write-ahead log silently, and a deleted file can still be written to. Both would lose
//! acknowledged commits; this module detects both.

use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::files;
use crate::StoreError;

/// The file of the witness.
const ACKNOWLEDGED: &str = "ctx.acknowledged";

/// The name prefix of files that report a loss.
const LOST: &str = "ctx.lost-";

pub struct Witness {
    database: PathBuf,
    /// The database's device and inode at opening.
    identity: Option<(u64, u64)>,
    file: Option<File>,
}

impl Witness {
    /// Creates the witness of an existing database. Without its own file it detects less.
    pub fn of(database: &Path) -> Self {
        let file = files::open_private(&path(database)).inspect_err(|error| {
            tracing::warn!(%error, "cannot record which commits were acknowledged");
        });
        Self { database: database.to_owned(), identity: identity(database), file: file.ok() }
    }

    /// Fails if the open file is no longer the store.
    pub fn is_in_place(&self) -> Result<(), StoreError> {
        match identity(&self.database) == self.identity {
            true => Ok(()),
            false => Err(StoreError::Gone { path: self.database.clone() }),
        }
    }

    /// Records that everything up to this number was acknowledged.
    pub fn acknowledge(&self, seq: u64) {
        let noted = self.file.as_ref().map(|mut file| {
            file.rewind()?;
            writeln!(file, "{seq:020}")?;
            file.sync_data()
        });
        if let Some(Err(error)) = noted {
            tracing::warn!(%error, "cannot record which commits were acknowledged");
        }
    }
}

fn path(database: &Path) -> PathBuf {
    database.with_file_name(ACKNOWLEDGED)
}

/// The last acknowledged number, if recorded.
pub fn acknowledged(database: &Path) -> u64 {
    let mut text = String::new();
    let read = File::open(path(database)).and_then(|file| file.take(20).read_to_string(&mut text));
    read.ok().and_then(|_| text.trim().parse().ok()).unwrap_or(0)
}

/// Leaves a report for people: records after `kept`, up to `acknowledged`, are missing.
pub fn note_loss(database: &Path, kept: u64, acknowledged: u64) {
    let told = database.with_file_name(format!("{LOST}{}-{acknowledged}", kept + 1));
    let words = format!(
        "Acknowledged records {} to {acknowledged} of {} are missing: the file was damaged, truncated, removed or \
         replaced by an older copy. Edits in these records are lost. Delete this file after reading it.\n",
        kept + 1,
        database.display()
    );
    let noted = files::open_private(&told).and_then(|mut file| {
        file.write_all(words.as_bytes())?;
        file.sync_all()
    });
    if let Err(error) = noted {
        tracing::warn!(%error, "cannot write the report of the loss");
    }
}

/// The reports of losses.
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

/// On other systems an open file cannot be removed.
#[cfg(not(unix))]
fn identity(path: &Path) -> Option<(u64, u64)> {
    path.exists().then_some((0, 0))
}
