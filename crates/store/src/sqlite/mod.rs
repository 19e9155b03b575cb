//! The store in one SQLite file. This module assembles the backend: one writing connection behind a lock, and a few
//! readers that never wait for it (write-ahead logging gives each reader the last committed snapshot). The modules
//! below contain the parts.

mod check;
mod files;
mod log;
mod open;
mod purge;
mod read;
impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DatabaseCorrupt, DiskFull, NotADatabase};
        match error.sqlite_error_code() {
            Some(DatabaseCorrupt | NotADatabase) => Self::Damaged(error.into()),
            Some(DiskFull) => Self::Full(error.into()),
            _ => Self::Database(error.into()),
        }
    }
}

#[cfg(test)]
mod tests;
mod witness;
mod write;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use self::files::Locks;
use self::log::Scope;
pub use self::open::{OpenReport, SCHEMA_VERSION};
use self::witness::Witness;
use self::write::Writer;
use crate::model::{AppendOutcome, Blob, ConversationRow, Expectation, PurgeReport, Records, Size, Step, Trouble};
use crate::{Cursor, Feed, Hash, Health, Progress, Reader, Store, StoreError};

/// The number of readers to keep for reuse; more may work at once.
const IDLE_READERS: usize = 4;

/// Keeps other daemons out of a folder whose store is elsewhere.
pub struct FolderLock {
    _locks: Locks,
}

impl FolderLock {
    /// Makes the folder private and locks it.
    pub fn take(folder: &Path) -> Result<Self, StoreError> {
        files::prepare_folder(folder)?;
        Ok(Self { _locks: files::lock(folder)? })
    }
}

/// The daemon's store: reads and writes. Only one can be open on a folder. The folder belongs to one person, so the file
/// has one owner.
pub struct SqliteStore {
    // Dropped in this order: the readers close before the writer, which then cleans up as the last one; only then is
    // the folder unlocked.
    reader: SqliteReader,
    writer: Mutex<Writer>,
    witness: Witness,
    opened: OpenReport,
    _lock: Locks,
}

impl SqliteStore {
    /// Opens the store in this folder and creates both if necessary. [`SqliteStore::opened`] reports what was done.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let mut opened = OpenReport::default();
        if files::prepare_folder(folder)? {
            opened.fixed_permissions.push(folder.to_owned());
        }
        let lock = files::lock(folder)?;
        let mut writer = Writer::new(open::writer(folder, &mut opened)?)?;
        let database = files::database_path(folder);
        let is_new = opened.created || opened.moved_aside.is_some();
        let acknowledged = witness::acknowledged(&database);
        opened.lost = writer.find_loss(acknowledged)?;
        if let Some(lost) = &opened.lost {
            tracing::error!(from = lost.start, until = lost.end, "acknowledged records are missing");
            witness::note_loss(&database, lost.start - 1, acknowledged);
        }
        let witness = Witness::of(&database);
        if is_new {
            witness.acknowledge(0);
        }
        let (reader, writer) = (SqliteReader::on(folder), Mutex::new(writer));
        Ok(Self { reader, writer, witness, opened, _lock: lock })
    }

    /// Files that report acknowledged records found missing by earlier starts.
    pub fn losses(folder: &Path) -> Vec<PathBuf> {
        witness::losses(&files::database_path(folder))
    }

    /// Whether commits were acknowledged in this folder, as noted beside the database.
    pub fn had_commits(folder: &Path) -> bool {
        witness::acknowledged(&files::database_path(folder)) > 0
    }

    /// Opens the store in this folder for reading, with or without a running daemon.
    pub fn open_reader(folder: &Path) -> Result<SqliteReader, StoreError> {
        let reader = SqliteReader::on(folder);
        reader.with(|_| Ok(()))?;
        Ok(reader)
    }

    pub fn opened(&self) -> &OpenReport {
        &self.opened
    }

    /// The path of the store's file.
    pub fn path(&self) -> &Path {
        self.reader.path()
    }

    /// Moves everything into the main file and empties the write-ahead log. For the end of a process in which others
    /// may still hold this store, so that it is never dropped.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        guard(&self.reader.idle).clear();
        Ok(self.writer().connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE);")?)
    }

    /// Damaged files of this folder's store that earlier starts moved aside, with the files beside them.
    pub fn moved_aside(folder: &Path) -> Vec<PathBuf> {
        files::moved_aside(&files::database_path(folder))
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(|poisoned| {
            // The panicking thread rolled back, so the writer's memory may be ahead of the file.
            self.writer.clear_poison();
            let mut writer = poisoned.into_inner();
            writer.forget();
            writer
        })
    }
}

/// A store opened for reading.
pub struct SqliteReader {
    database: PathBuf,
    idle: Mutex<Vec<Connection>>,
    /// Blobs found damaged while reading, so that the writer can replace them.
    damaged: Mutex<HashSet<Hash>>,
}

impl SqliteReader {
    fn on(folder: &Path) -> Self {
        Self { database: files::database_path(folder), idle: Mutex::default(), damaged: Mutex::default() }
    }

    pub fn path(&self) -> &Path {
        &self.database
    }

    /// Runs `read` on one committed snapshot of the store.
    fn with<T>(&self, read: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let idle = guard(&self.idle).pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => open::reader(&self.database)?,
        };
        let transaction = connection.transaction()?;
        let outcome = read(&transaction);
        transaction.finish()?;
        let mut idle = guard(&self.idle);
        if idle.len() < IDLE_READERS {
            idle.push(connection);
        }
        outcome
    }
}

fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn size(connection: &Connection, database: &Path) -> Result<Size, StoreError> {
    let mut lengths = files::all_paths(database).into_iter().map(|path| files::length(&path));
    Ok(Size {
        records: read::count(connection, "records")?,
        blobs: read::count(connection, "blobs")?,
        database_bytes: lengths.next().unwrap_or(0),
        waiting_bytes: lengths.sum(),
    })
}

impl Reader for SqliteReader {
    fn records(&self, conversation: &str, after: u64) -> Result<Records, StoreError> {
        let scope = Scope::Conversation(conversation);
        self.with(|connection| log::records(connection, &scope, after, usize::MAX))
    }

    fn log(&self, after: u64, limit: usize) -> Result<Records, StoreError> {
        self.with(|connection| log::records(connection, &Scope::All, after, limit))
    }

    /// One writer commits in the order of numbers.
    fn feed(&self, after: &Cursor, limit: usize) -> Result<Feed, StoreError> {
        self.with(|connection| {
            let epoch = read::epoch(connection)?;
            if !after.is_of(epoch) {
                return Err(StoreError::ForeignCursor(*after));
            }
            let found = log::records(connection, &Scope::All, after.seq, limit)?;
            let seq = found.last_seq().unwrap_or(after.seq);
            Ok(Feed { found, next: Cursor { epoch, transaction: 0, seq } })
        })
    }

    fn newest(&self) -> Result<Cursor, StoreError> {
        self.with(|connection| {
            let seq = read::last_seq(connection)?.cast_unsigned();
            Ok(Cursor { epoch: read::epoch(connection)?, transaction: 0, seq })
        })
    }

    fn blobs(&self, hashes: &[Hash]) -> Result<Vec<Blob>, StoreError> {
        let blobs = self.with(|connection| {
            let found = hashes.iter().map(|hash| read::blob(connection, hash));
            found.collect::<Result<Vec<_>, _>>()
        })?;
        for (hash, blob) in hashes.iter().zip(&blobs) {
            if let Blob::Damaged(why) = blob {
                tracing::warn!(%hash, %why, "a blob is damaged");
                guard(&self.damaged).insert(*hash);
            }
        }
        Ok(blobs)
    }

    fn notes(&self, name: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        self.with(|connection| read::notes(connection, name))
    }

    fn note_names(&self) -> Result<Vec<String>, StoreError> {
        self.with(purge::note_names)
    }

    fn note(&self, conversation: &str, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.with(|connection| read::note(connection, conversation, name))
    }

    fn last_seq(&self) -> Result<u64, StoreError> {
        self.with(|connection| Ok(read::last_seq(connection)?.cast_unsigned()))
    }

    fn conversations(&self) -> Result<Vec<ConversationRow>, StoreError> {
        self.with(read::conversations)
    }

    fn conversations_with(&self, kinds: &[&str]) -> Result<Vec<String>, StoreError> {
        self.with(|connection| read::conversations_with(connection, kinds))
    }

    fn size(&self) -> Result<Size, StoreError> {
        self.with(|connection| size(connection, &self.database))
    }

    fn check_with(&self, progress: &Progress) -> Result<Health, StoreError> {
        let (health, damaged) = self.with(|connection| check::check(connection, &self.database, progress))?;
        guard(&self.damaged).extend(damaged);
        Ok(health)
    }
}

impl Reader for SqliteStore {
    fn records(&self, conversation: &str, after: u64) -> Result<Records, StoreError> {
        self.reader.records(conversation, after)
    }

    fn log(&self, after: u64, limit: usize) -> Result<Records, StoreError> {
        self.reader.log(after, limit)
    }

    fn feed(&self, after: &Cursor, limit: usize) -> Result<Feed, StoreError> {
        self.reader.feed(after, limit)
    }

    fn newest(&self) -> Result<Cursor, StoreError> {
        self.reader.newest()
    }

    fn blobs(&self, hashes: &[Hash]) -> Result<Vec<Blob>, StoreError> {
        self.reader.blobs(hashes)
    }

    fn notes(&self, name: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        self.reader.notes(name)
    }

    fn note_names(&self) -> Result<Vec<String>, StoreError> {
        self.reader.note_names()
    }

    fn note(&self, conversation: &str, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.reader.note(conversation, name)
    }

    fn last_seq(&self) -> Result<u64, StoreError> {
        self.reader.last_seq()
    }

    fn conversations(&self) -> Result<Vec<ConversationRow>, StoreError> {
        self.reader.conversations()
    }

    fn conversations_with(&self, kinds: &[&str]) -> Result<Vec<String>, StoreError> {
        self.reader.conversations_with(kinds)
    }

    fn size(&self) -> Result<Size, StoreError> {
        self.reader.size()
    }

    fn trouble(&self) -> Trouble {
        Trouble { losses: witness::losses(self.path()), gone: self.witness.is_in_place().is_err() }
    }

    fn check_with(&self, progress: &Progress) -> Result<Health, StoreError> {
        self.reader.check_with(progress)
    }
}

impl Store for SqliteStore {
    fn append(&self, steps: Vec<Step>) -> Result<Vec<AppendOutcome>, StoreError> {
        let damaged = guard(&self.reader.damaged).clone();
        let given: Vec<Hash> = steps
            .iter()
            .flat_map(|step| step.blobs.iter().map(|(hash, _)| *hash))
            .filter(|hash| damaged.contains(hash))
            .collect();
        let is_durable = steps.iter().any(|step| step.durable);
        let mut writer = self.writer();
        let outcomes = writer.append(steps, &damaged)?;
        if is_durable {
            self.witness.is_in_place()?;
            self.witness.acknowledge(writer.last_assigned());
        }
        drop(writer);
        let mut damaged = guard(&self.reader.damaged);
        for hash in given {
            damaged.remove(&hash);
        }
        Ok(outcomes)
    }

    fn remove(&self, conversations: &[String]) -> Result<PurgeReport, StoreError> {
        purge::remove(self, conversations)
    }

    fn remove_if(&self, expect: &Expectation) -> Result<Option<PurgeReport>, StoreError> {
        // No other process writes to the files.
        let version =
            self.reader.with(|connection| match read::conversation_id(connection, &expect.conversation)? {
                Some(id) => read::version(connection, id, i64::MAX),
                None => Ok(0),
            })?;
        let is_same = version == expect.version;
        is_same.then(|| purge::remove(self, std::slice::from_ref(&expect.conversation))).transpose()
    }

    fn residue(&self) -> &'static str {
        "The bytes are gone from the store's files. Copies, backups and snapshots of those files keep theirs."
    }

    fn sweep(&self) -> Result<PurgeReport, StoreError> {
        purge::sweep(self)
    }
}
