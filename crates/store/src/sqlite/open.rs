//! Opens a connection to a folder: settings, schema, and recovery from a damaged file.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::files;
use crate::StoreError;

/// The schema version that this program writes, also into older files: then older programs, which would skip newer
/// records as damaged, refuse them. It rises with the version of the records. Also in `schema.sql`; a test compares the
/// two.
pub const SCHEMA_VERSION: i64 = 2;

const SCHEMA: &str = include_str!("schema.sql");
const APPLICATION: i64 = 0x4374_7853;
const TABLES: [&str; 6] = ["conversations", "records", "blobs", "pieces", "notes", "facts"];

/// Large enough that pieces fill the pages well, small enough that a commit, which writes each touched page as a whole,
/// stays cheap.
pub const PAGE_BYTES: i64 = 16 * 1024;

/// The length at which the write-ahead log is moved into the main file, and to which it is truncated.
pub const LOG_BYTES: i64 = 4 * 1024 * 1024;

/// The time to wait for another process that holds the file briefly, for example to recover it.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// The report of opening a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenReport {
    /// There was no store here before.
    pub created: bool,
    /// The damaged file was moved here, and this is a new, empty store.
    pub moved_aside: Option<PathBuf>,
    /// Numbers of missing acknowledged records.
    pub lost: Option<Range<u64>>,
    /// Files and folders that others could read until now.
    pub fixed_permissions: Vec<PathBuf>,
}

/// Opens the file for writing; moves a damaged one aside and creates a new one.
pub fn writer(folder: &Path, opened: &mut OpenReport) -> Result<Connection, StoreError> {
    let database = files::database_path(folder);
    match connect(&database, opened) {
        Err(StoreError::Damaged(error)) => {
            let aside = files::move_aside(&database)?;
            tracing::warn!(%error, aside = %aside.display(), "the store's file is damaged and was moved aside");
            opened.moved_aside = Some(aside);
            connect(&database, opened)
        }
        outcome => outcome,
    }
}

fn connect(database: &Path, opened: &mut OpenReport) -> Result<Connection, StoreError> {
    let fixed = files::prepare_database(database)?;
    opened.fixed_permissions.extend(fixed);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(database, flags)?;
    settle(&connection)?;
    if is_blank(&connection)? {
        create(&connection)?;
        opened.created = true;
    } else {
        recognise(&connection, database)?;
        probe(&connection)?;
        if schema_version(&connection)? < SCHEMA_VERSION {
            connection.pragma_update(None, "user_version", SCHEMA_VERSION)?;
        }
    }
    identify(&connection)?;
    connection.pragma_update(None, "wal_autocheckpoint", LOG_BYTES / PAGE_BYTES)?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES)?;
    // Purged data must be gone, including from the unused parts of pages.
    connection.pragma_update(None, "secure_delete", true)?;
    // On systems whose plain "sync" leaves bytes in the drive's cache (macOS), use the stronger one.
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    Ok(connection)
}

/// Gives the file an identity for the cursors of its feed; files of earlier versions have none.
fn identify(connection: &Connection) -> Result<(), StoreError> {
    if super::read::epoch(connection)? == 0 {
        let sql = "INSERT OR REPLACE INTO facts (name, value) VALUES ('epoch', max(1, abs(random() / 2)))";
        connection.execute(sql, [])?;
    }
    Ok(())
}

/// Opens the file for reading only, with or without a running daemon.
pub fn reader(database: &Path) -> Result<Connection, StoreError> {
    if !database.exists() {
        return Err(StoreError::Absent { path: database.to_owned() });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(database, flags)?;
    settle(&connection)?;
    if is_blank(&connection)? {
        return Err(StoreError::Absent { path: database.to_owned() });
    }
    recognise(&connection, database)?;
    Ok(connection)
}

fn settle(connection: &Connection) -> Result<(), StoreError> {
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(32);
    // No part of a conversation is written to temporary files.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // The file is untrusted: no functions from its schema, and pages are checked before use.
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    Ok(())
}

/// Whether the file is new, or its creation was interrupted before its one transaction.
fn is_blank(connection: &Connection) -> Result<bool, StoreError> {
    let entries: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(entries == 0 && pragma(connection, "user_version")? == 0)
}

fn create(connection: &Connection) -> Result<(), StoreError> {
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    // Lets a purge release pages to the system.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.execute_batch(&format!("BEGIN IMMEDIATE; {SCHEMA} COMMIT;"))?;
    Ok(())
}

fn recognise(connection: &Connection, database: &Path) -> Result<(), StoreError> {
    if pragma(connection, "application_id")? != APPLICATION {
        return Err(StoreError::OtherProgram { path: database.to_owned() });
    }
    let found = schema_version(connection)?;
    if found > SCHEMA_VERSION {
        return Err(StoreError::FutureSchema { path: database.to_owned(), found, known: SCHEMA_VERSION });
    }
    Ok(())
}

/// Reads the pages that the next writes will touch. Damage elsewhere is detected, and skipped, when it is read.
fn probe(connection: &Connection) -> Result<(), StoreError> {
    for table in TABLES {
        let sql = format!("SELECT * FROM {table} ORDER BY 1 DESC LIMIT 1");
        let mut statement = connection.prepare(&sql).map_err(missing_is_damage)?;
        statement.query([])?.next()?;
    }
    Ok(())
}

/// Treats a missing table or column as damage, because the file has our mark and version.
fn missing_is_damage(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::Unknown) => StoreError::Damaged(error.into()),
        _ => error.into(),
    }
}

pub fn schema_version(connection: &Connection) -> Result<i64, StoreError> {
    pragma(connection, "user_version")
}

pub fn pragma(connection: &Connection, name: &str) -> Result<i64, StoreError> {
    Ok(connection.pragma_query_value(None, name, |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_has_the_schema_version_and_the_settings() -> Result<(), StoreError> {
        let folder = tempfile::tempdir().unwrap();
        let connection = writer(folder.path(), &mut OpenReport::default())?;
        assert_eq!(schema_version(&connection)?, SCHEMA_VERSION);
        assert_eq!(pragma(&connection, "application_id")?, APPLICATION);
        assert_eq!(pragma(&connection, "page_size")?, PAGE_BYTES);
        assert_eq!(pragma(&connection, "auto_vacuum")?, 2);
        assert_eq!(pragma(&connection, "secure_delete")?, 1);
        let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
        assert_eq!(mode, "wal");
        Ok(())
    }

    #[test]
    fn every_table_of_the_schema_is_probed() -> Result<(), StoreError> {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch(SCHEMA)?;
        let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table'";
        let tables: isize = connection.query_row(sql, [], |row| row.get(0))?;
        assert_eq!(tables, TABLES.len() as isize);
        probe(&connection)
    }
}
