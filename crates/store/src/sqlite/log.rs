//! Reads the log: turns rows into verified records. An invalid row is reported, never returned and never fatal.

use std::collections::HashMap;
use std::ops::ControlFlow;

use rusqlite::{Connection, Row};

use super::read::conversation_id;
use crate::encode::{checksum, decode_uses, unpack};
use crate::model::{Damage, Record, Records, SkippedRecord};
use crate::{Hash, StoreError};

/// The part of the log to read.
pub enum Scope<'a> {
    Conversation(&'a str),
    All,
}

/// The result of reading one row of the log.
pub type ReadRow = Result<Record, SkippedRecord>;

const COLUMNS: &str = "seq, conversation, at, kind, version, uses, checksum, codec, size, body FROM records";

pub fn records(connection: &Connection, scope: &Scope<'_>, after: u64, limit: usize) -> Result<Records, StoreError> {
    let mut found = Records::default();
    if limit == 0 {
        return Ok(found);
    }
    scan(connection, scope, after, |read| {
        match read {
            Ok(record) => found.records.push(record),
            Err(skipped) => found.skipped.push(skipped),
        }
        if found.records.len() + found.skipped.len() < limit {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })?;
    if !found.skipped.is_empty() {
        tracing::warn!(count = found.skipped.len(), "skipped damaged records");
    }
    Ok(found)
}

/// Passes the rows of the log to `each`, in order.
pub fn scan(
    connection: &Connection,
    scope: &Scope<'_>,
    after: u64,
    mut each: impl FnMut(ReadRow) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    let names = names(connection, scope)?;
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let mut last = after;
    let outcome = scan_at_once(connection, scope, &names, after, |read| {
        last = number(&read);
        each(read)
    });
    match outcome {
        // A page is broken. Read each row by itself, so that the others are still found.
        Err(StoreError::Damaged(_)) => scan_one_by_one(connection, scope, &names, last, each),
        outcome => outcome,
    }
}

fn number(read: &ReadRow) -> i64 {
    let seq = match read {
        Ok(record) => record.seq,
        Err(skipped) => skipped.seq,
    };
    seq.cast_signed()
}

fn scan_at_once(
    connection: &Connection,
    scope: &Scope<'_>,
    names: &HashMap<i64, String>,
    after: i64,
    mut each: impl FnMut(ReadRow) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    let sql = match scope {
        Scope::Conversation(_) => {
            format!("SELECT {COLUMNS} WHERE conversation = ?2 AND seq > ?1 ORDER BY seq")
        }
        Scope::All => format!("SELECT {COLUMNS} WHERE seq > ?1 ORDER BY seq"),
    };
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = match (scope, names.keys().next()) {
        (Scope::All, _) => statement.query([after])?,
        (Scope::Conversation(_), Some(id)) => statement.query([after, *id])?,
        (Scope::Conversation(_), None) => return Ok(()),
    };
    while let Some(row) = rows.next()? {
        if each(record(connection, names, row)?).is_break() {
            break;
        }
    }
    Ok(())
}

fn scan_one_by_one(
    connection: &Connection,
    scope: &Scope<'_>,
    names: &HashMap<i64, String>,
    after: i64,
    mut each: impl FnMut(ReadRow) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    let mut numbers = numbers_from_index(connection, scope, names, after)?;
    numbers.sort_unstable();
    let mut statement = connection.prepare_cached(&format!("SELECT {COLUMNS} WHERE seq = ?1"))?;
    for seq in numbers {
        let skipped = |why| SkippedRecord { seq: seq.cast_unsigned(), kind: None, why };
        let mut rows = statement.query([seq])?;
        let read = match rows.next() {
            Ok(Some(row)) => record(connection, names, row)?,
            Ok(None) => Err(skipped(Damage::Page)),
            Err(error) => match StoreError::from(error) {
                StoreError::Damaged(_) => Err(skipped(Damage::Page)),
                error => return Err(error),
            },
        };
        if each(read).is_break() {
            break;
        }
    }
    Ok(())
}

/// The index has its own pages and contains the numbers without the rows.
fn numbers_from_index(
    connection: &Connection,
    scope: &Scope<'_>,
    names: &HashMap<i64, String>,
    after: i64,
) -> Result<Vec<i64>, StoreError> {
    let sql = "SELECT seq, conversation FROM records INDEXED BY record_by_conversation \
               WHERE conversation >= ?1 AND conversation <= ?2";
    let (from, to) = match (scope, names.keys().next()) {
        (Scope::Conversation(_), Some(id)) => (*id, *id),
        (Scope::Conversation(_), None) => return Ok(Vec::new()),
        (Scope::All, _) => (i64::MIN, i64::MAX),
    };
    let mut statement = connection.prepare(sql)?;
    let mut numbers: Vec<i64> = statement.query_map([from, to], |row| row.get(0))?.collect::<Result<_, _>>()?;
    numbers.retain(|seq| *seq > after);
    Ok(numbers)
}

/// The conversations in scope, by number. A name that is not text is omitted, and its records are skipped.
fn names(connection: &Connection, scope: &Scope<'_>) -> Result<HashMap<i64, String>, StoreError> {
    match scope {
        Scope::Conversation(name) => {
            let id = conversation_id(connection, name)?;
            Ok(id.map(|id| (id, (*name).to_owned())).into_iter().collect())
        }
        Scope::All => {
            let mut names = HashMap::new();
            let mut statement = connection.prepare_cached("SELECT id, name FROM conversations")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                if let Ok(name) = row.get_ref(1)?.as_str() {
                    names.insert(row.get(0)?, name.to_owned());
                }
            }
            Ok(names)
        }
    }
}

/// One row of the log. The outer error is the database's, the inner one is the row's.
fn record(connection: &Connection, names: &HashMap<i64, String>, row: &Row<'_>) -> Result<ReadRow, StoreError> {
    let seq: i64 = row.get(0)?;
    let read = match unverified(names, row) {
        Ok(unverified) => match resolve(connection, &unverified.uses) {
            Ok(Ok(uses)) => unverified.verify(uses),
            Ok(Err(why)) => Err(why),
            Err(StoreError::Damaged(_)) => Err(Damage::Page),
            Err(error) => return Err(error),
        },
        Err(why) => Err(why),
    };
    Ok(read.map_err(|why| SkippedRecord { seq: seq.cast_unsigned(), kind: row.get(3).ok(), why }))
}

/// A record before verification: its uses must first be resolved to hashes.
struct UnverifiedRecord {
    record: Record,
    uses: Vec<u8>,
    checksum: i64,
}

fn unverified(names: &HashMap<i64, String>, row: &Row<'_>) -> Result<UnverifiedRecord, Damage> {
    let unreadable = |_| Damage::Checksum;
    let seq: i64 = row.get(0).map_err(unreadable)?;
    let conversation: i64 = row.get(1).map_err(unreadable)?;
    let at: i64 = row.get(2).map_err(unreadable)?;
    let codec: i64 = row.get(7).map_err(unreadable)?;
    let size: Option<i64> = row.get(8).map_err(unreadable)?;
    let body: Vec<u8> = row.get(9).map_err(unreadable)?;
    Ok(UnverifiedRecord {
        record: Record {
            seq: seq.cast_unsigned(),
            conversation: names.get(&conversation).ok_or(Damage::Checksum)?.clone(),
            at: at.cast_unsigned(),
            kind: row.get(3).map_err(unreadable)?,
            version: row.get(4).map_err(unreadable)?,
            uses: Vec::new(),
            body: unpack(codec, size, body)?,
        },
        uses: row.get(5).map_err(unreadable)?,
        checksum: row.get(6).map_err(unreadable)?,
    })
}

impl UnverifiedRecord {
    fn verify(self, uses: Vec<Hash>) -> Result<Record, Damage> {
        let record = Record { uses, ..self.record };
        if record_checksum(&record) == self.checksum { Ok(record) } else { Err(Damage::Checksum) }
    }
}

/// The checksum of the record's content, independent of its encoding: it also detects a wrong blob hash.
pub fn record_checksum(record: &Record) -> i64 {
    let uses: Vec<u8> = record.uses.iter().flat_map(|hash| *hash.as_bytes()).collect();
    checksum(&[
        &record.seq.to_le_bytes(),
        record.conversation.as_bytes(),
        &record.at.to_le_bytes(),
        record.kind.as_bytes(),
        &record.version.to_le_bytes(),
        &uses,
        &record.body,
    ])
}

/// Turns the stored list of blob numbers back into hashes.
fn resolve(connection: &Connection, encoded: &[u8]) -> Result<Result<Vec<Hash>, Damage>, StoreError> {
    let Some(runs) = decode_uses(encoded) else {
        return Ok(Err(Damage::Checksum));
    };
    let mut uses = Vec::new();
    let mut statement =
        connection.prepare_cached("SELECT id, hash FROM blobs WHERE id >= ?1 AND id < ?2 ORDER BY id")?;
    for run in runs {
        let mut expected = run.start;
        let mut rows = statement.query([run.start, run.end])?;
        while let Some(row) = rows.next()? {
            let id: i64 = row.get(0)?;
            let Ok(hash) = row.get(1) else { break };
            if id != expected {
                break;
            }
            uses.push(Hash::from_bytes(hash));
            expected += 1;
        }
        if expected != run.end {
            return Ok(Err(Damage::MissingBlob));
        }
    }
    Ok(Ok(uses))
}
