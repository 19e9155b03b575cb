//! The check: reads and verifies everything, and turns problems into findings. It reads one snapshot of the store and
//! blocks no other access.

use std::ops::ControlFlow;
use std::path::Path;

use rusqlite::Connection;

use super::log::{self, Scope};
use super::open::{LOG_BYTES, schema_version};
use super::read::{self, Place};
use super::{files, purge, size, witness};
use crate::model::{Blob, Damage};
use crate::{Counts, Finding, FindingKind, Hash, Health, Progress, StoreError};

/// The maximum number of items to name.
const EXAMPLES: usize = 5;

/// The log is truncated at `LOG_BYTES`; a busy moment may double it, but not exceed this.
const LONG_LOG_BYTES: u64 = 16 * LOG_BYTES as u64;

pub fn check(connection: &Connection, database: &Path, progress: &Progress) -> Result<(Health, Vec<Hash>), StoreError> {
    let mut checking = Checking {
        connection,
        findings: Vec::new(),
        counts: Counts::default(),
        damaged_blobs: Vec::new(),
        progress,
        total: 0,
    };
    checking.part(Checking::structure)?;
    checking.part(Checking::count)?;
    checking.part(Checking::records)?;
    checking.part(Checking::blobs)?;
    checking.part(Checking::notes)?;
    checking.part(Checking::unused_blobs)?;
    checking.files(database);
    checking.losses(database)?;
    let size = size(connection, database).unwrap_or_default();
    if size.waiting_bytes > LONG_LOG_BYTES {
        let sentence = format!("the write-ahead log has grown to {} MB", size.waiting_bytes / 1_000_000);
        checking.find(FindingKind::LongLog, sentence);
    }
    let health =
        Health { findings: checking.findings, counts: checking.counts, size, schema: schema_version(connection)? };
    Ok((health, checking.damaged_blobs))
}

struct Checking<'a> {
    connection: &'a Connection,
    findings: Vec<Finding>,
    counts: Counts,
    damaged_blobs: Vec<Hash>,
    progress: &'a Progress,
    /// The records and blobs to be read.
    total: u64,
}

impl Checking<'_> {
    fn find(&mut self, kind: FindingKind, sentence: String) {
        self.findings.push(Finding::new(kind, sentence));
    }

    /// Runs one part of the check. An unreadable part is a finding too; the others still run.
    fn part(&mut self, look: fn(&mut Self) -> Result<(), StoreError>) -> Result<(), StoreError> {
        match look(self) {
            Err(StoreError::Damaged(error)) => {
                self.find(FindingKind::DamagedFile, format!("a part of the file cannot be read: {error}"));
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// Missing acknowledged records, found by a start or just now.
    fn losses(&mut self, database: &Path) -> Result<(), StoreError> {
        let acknowledged = witness::acknowledged(database);
        let last = read::last_seq(self.connection)?.cast_unsigned();
        if last < acknowledged {
            let sentence = format!("acknowledged records {} to {acknowledged} are missing", last + 1);
            self.find(FindingKind::LostRecords, sentence);
        }
        for path in witness::losses(database) {
            let sentence = format!("acknowledged records are missing: see {}", path.display());
            self.find(FindingKind::LostRecords, sentence);
        }
        Ok(())
    }

    /// The structure of the file, and whether its indexes contain all rows.
    fn structure(&mut self) -> Result<(), StoreError> {
        let mut statement = self.connection.prepare("PRAGMA quick_check(10)")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let message: String = row.get(0)?;
            if message != "ok" {
                let message = message.replace('\n', " ");
                self.find(FindingKind::DamagedFile, format!("the structure of the file is broken: {message}"));
            }
        }
        Ok(())
    }

    fn count(&mut self) -> Result<(), StoreError> {
        let rows = "SELECT (SELECT count(*) FROM records) + (SELECT count(*) FROM blobs)";
        self.total = self.connection.query_row(rows, [], |row| row.get::<_, i64>(0))?.cast_unsigned();
        Ok(())
    }

    fn records(&mut self) -> Result<(), StoreError> {
        let mut dangling = Vec::new();
        let mut damaged = Vec::new();
        let (counts, progress, total) = (&mut self.counts, self.progress, self.total);
        log::scan(self.connection, &Scope::All, 0, |read| {
            counts.records += 1;
            progress.report(counts.records, total);
            match read {
                Ok(_) => {}
                Err(skipped) if skipped.why == Damage::MissingBlob => dangling.push(skipped.seq),
                Err(skipped) => damaged.push(skipped.seq),
            }
            ControlFlow::Continue(())
        })?;
        counts.damaged_records = (damaged.len() + dangling.len()) as u64;
        counts.conversations = read::conversations(self.connection)?.len() as u64;
        if !damaged.is_empty() {
            let sentence = format!("{} damaged: {}", found(&damaged, "record"), list(&damaged));
            self.find(FindingKind::DamagedRecords, sentence);
        }
        if !dangling.is_empty() {
            let records = found(&dangling, "record");
            let sentence = format!("{records} to use a blob that is gone: {}", list(&dangling));
            self.find(FindingKind::DanglingUses, sentence);
        }
        Ok(())
    }

    fn blobs(&mut self) -> Result<(), StoreError> {
        let mut nameless = 0_u64;
        let mut statement =
            self.connection.prepare("SELECT id, first, pieces, codec, size, hash FROM blobs ORDER BY id")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            self.counts.blobs += 1;
            self.progress.report(self.counts.records + self.counts.blobs, self.total);
            let place = Place {
                id: row.get(0)?,
                first: row.get(1)?,
                pieces: row.get(2)?,
                codec: row.get(3)?,
                size: row.get(4)?,
            };
            let Ok(hash) = row.get(5) else {
                nameless += 1;
                continue;
            };
            let hash = Hash::from_bytes(hash);
            if let Blob::Damaged(_) = read::bytes_at(self.connection, &place, &hash)? {
                self.damaged_blobs.push(hash);
            }
        }
        let damaged = self.damaged_blobs.len() as u64 + nameless;
        self.counts.damaged_blobs = damaged;
        if damaged > 0 {
            let sentence =
                format!("{damaged} of {} blobs were found damaged: {}", self.counts.blobs, list(&self.damaged_blobs));
            self.find(FindingKind::DamagedBlobs, sentence);
        }
        Ok(())
    }

    fn notes(&mut self) -> Result<(), StoreError> {
        let mut statement = self.connection.prepare(
            "SELECT c.name, n.name, n.checksum, n.body \
             FROM notes n LEFT JOIN conversations c ON c.id = n.conversation",
        )?;
        let mut rows = statement.query([])?;
        let mut damaged = 0_u64;
        while let Some(row) = rows.next()? {
            self.counts.notes += 1;
            let read = <(String, String, i64, Vec<u8>)>::try_from(row);
            let sound = read.is_ok_and(|(conversation, name, expected, body)| {
                read::note_checksum(&conversation, &name, &body) == expected
            });
            if !sound {
                damaged += 1;
            }
        }
        self.counts.damaged_notes = damaged;
        if damaged > 0 {
            let sentence = format!("{damaged} of {} notes were found damaged", self.counts.notes);
            self.find(FindingKind::DamagedNotes, sentence);
        }
        Ok(())
    }

    fn unused_blobs(&mut self) -> Result<(), StoreError> {
        let mut statement = self.connection.prepare("SELECT count(*) FROM blobs WHERE id >= ?1 AND id < ?2")?;
        let mut unused = 0_i64;
        for gap in purge::gaps(purge::used(self.connection, 0)?) {
            let count: i64 = statement.query_row([gap.start, gap.end], |row| row.get(0))?;
            unused += count;
        }
        if unused > 0 {
            let sentence = format!("no record uses {unused} of {} blobs", self.counts.blobs);
            self.find(FindingKind::UnusedBlobs, sentence);
        }
        Ok(())
    }

    fn files(&mut self, database: &Path) {
        if let Some(folder) = database.parent() {
            for path in files::open_to_others(folder, database) {
                let sentence = format!("others can read {}", path.display());
                self.find(FindingKind::Permissions, sentence);
            }
        }
        let aside = files::moved_aside(database);
        if !aside.is_empty() {
            let bytes: u64 = aside.iter().map(|path| files::length(path)).sum();
            let paths: Vec<_> = aside.iter().map(|path| path.display()).collect();
            let sentence =
                format!("an earlier start found the file damaged and moved it aside ({bytes} bytes): {}", list(&paths));
            self.find(FindingKind::MovedAside, sentence);
        }
    }
}

fn found<T>(items: &[T], noun: &str) -> String {
    match items.len() {
        1 => format!("1 {noun} was found"),
        count => format!("{count} {noun}s were found"),
    }
}

fn list<T: ToString>(items: &[T]) -> String {
    let mut shown: Vec<String> = items.iter().take(EXAMPLES).map(T::to_string).collect();
    if items.len() > EXAMPLES {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}
