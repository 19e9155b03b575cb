//! Purging: removes conversations and the blobs that only they used, and releases the space.
//!
//! Purging works in slices and frees the writer between two of them: an append waits for one slice at most. The next
//! purge finishes an interrupted one.

use std::collections::VecDeque;
use std::ops::Range;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params};

use super::open::PATIENCE;
use super::read::{conversation_id, last_seq};
use super::write::Writer;
use super::{SqliteStore, guard};
use crate::StoreError;
use crate::encode::decode_uses;
use crate::model::PurgeReport;

/// The duration of a transaction.
const SLICE: Duration = Duration::from_millis(3);
/// The writer's lock is not fair: without a pause an append might never get it.
const PAUSE: Duration = Duration::from_micros(500);
/// The number of records to remove at once.
const RECORDS: i64 = 64;
/// The number of pages to release at once.
const PAGES: i64 = 32;
/// The number of attempts to empty the write-ahead log, which readers may block.
const TRIES: usize = 50;

/// Removes the records and notes of conversations.
pub fn remove(store: &SqliteStore, conversations: &[String]) -> Result<PurgeReport, StoreError> {
    let begin = |transaction: &Transaction<'_>| {
        remember_last_seq(transaction)?;
        note_names(transaction)
    };
    in_slices(store, conversations.iter().collect(), begin, |transaction, names, name, removed| {
        remove_some(transaction, name, names, removed)
    })
}

/// Removes items one after another, as many per transaction as fit into a slice. `begin` is called in each transaction;
/// `remove` returns whether the item is completely gone.
fn in_slices<Item, Known>(
    store: &SqliteStore,
    mut items: VecDeque<Item>,
    begin: impl Fn(&Transaction<'_>) -> Result<Known, StoreError>,
    remove: impl Fn(&Transaction<'_>, &Known, &Item, &mut PurgeReport) -> Result<bool, StoreError>,
) -> Result<PurgeReport, StoreError> {
    let mut purged = PurgeReport::default();
    while !items.is_empty() {
        purged += store.writer().slice(|transaction, end| {
            let known = begin(transaction)?;
            let mut removed = PurgeReport::default();
            while let Some(item) = items.front() {
                if remove(transaction, &known, item, &mut removed)? {
                    items.pop_front();
                }
                if Instant::now() > end {
                    break;
                }
            }
            Ok(removed)
        })?;
        sleep(PAUSE);
    }
    Ok(purged)
}

/// Removes the blobs that no record uses, then shrinks the files.
pub fn sweep(store: &SqliteStore) -> Result<PurgeReport, StoreError> {
    // Searching takes long and runs beside the writer; records written meanwhile are checked again below.
    let (unused, seen) = store.reader.with(|connection| {
        let seen = last_seq(connection)?;
        let newest: i64 = connection.query_row("SELECT coalesce(max(id), 0) FROM blobs", [], |row| row.get(0))?;
        let mut unused = VecDeque::new();
        let mut find = connection.prepare("SELECT id FROM blobs WHERE id >= ?1 AND id < ?2")?;
        for gap in gaps(used(connection, 0)?) {
            let end = gap.end.min(newest.saturating_add(1));
            for id in find.query_map([gap.start, end], |row| row.get::<_, i64>(0))? {
                unused.push_back(id?);
            }
        }
        Ok((unused, seen))
    })?;
    let begin = |transaction: &Transaction<'_>| used(transaction, seen);
    let purged = in_slices(store, unused, begin, |transaction, used, id, removed| {
        if !used.iter().any(|range| range.contains(id)) {
            remove_blob(transaction, *id, removed)?;
        }
        Ok(true)
    })?;
    // The purge is complete; shrinking the files can wait for the next one.
    if let Err(error) = shrink(store) {
        tracing::debug!(%error, "could not shrink the store's files yet");
    }
    Ok(purged)
}

fn shrink(store: &SqliteStore) -> Result<(), StoreError> {
    while store.writer().give_back_pages()? {
        sleep(PAUSE);
    }
    guard(&store.reader.idle).clear();
    // Most of the log is moved while others write, by a separate connection.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mover = Connection::open_with_flags(store.path(), flags)?;
    mover.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
    drop(mover);
    for _ in 0..TRIES {
        if store.writer().empty_log()? {
            break;
        }
        sleep(Duration::from_millis(20));
    }
    Ok(())
}

impl Writer {
    /// Runs one transaction that ends soon after the given time.
    fn slice<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>, Instant) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.wait_for_disk(true)?;
        self.forget_conversations();
        let outcome = (|| {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let done = work(&transaction, Instant::now() + SLICE)?;
            transaction.commit()?;
            Ok(done)
        })();
        if outcome.is_err() {
            self.forget();
        }
        outcome
    }

    /// Releases some free pages to the system; false if there are none left.
    fn give_back_pages(&mut self) -> Result<bool, StoreError> {
        self.wait_for_disk(true)?;
        let mut vacuum = self.connection.prepare(&format!("PRAGMA incremental_vacuum({PAGES})"))?;
        // Each row releases one page.
        let mut rows = vacuum.query([])?;
        while rows.next()?.is_some() {}
        Ok(super::open::pragma(&self.connection, "freelist_count")? > 0)
    }

    /// Empties the write-ahead log, unless a reader uses it.
    fn empty_log(&mut self) -> Result<bool, StoreError> {
        self.connection.busy_timeout(Duration::ZERO)?;
        let busy = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
        self.connection.busy_timeout(PATIENCE)?;
        Ok(busy? == 0)
    }
}

fn remember_last_seq(connection: &Connection) -> Result<(), StoreError> {
    let last = last_seq(connection)?;
    connection.execute("INSERT OR REPLACE INTO facts (name, value) VALUES ('last-seq', ?1)", [last])?;
    Ok(())
}

/// The names of notes, each found with one index lookup.
pub fn note_names(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut statement = connection.prepare_cached(
        "WITH RECURSIVE found(name) AS (SELECT min(name) FROM notes UNION ALL \
         SELECT (SELECT min(name) FROM notes WHERE notes.name > found.name) FROM found WHERE found.name IS NOT NULL) \
         SELECT name FROM found WHERE name IS NOT NULL",
    )?;
    Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

/// Removes some records of a conversation; true when it is completely gone.
fn remove_some(
    connection: &Connection,
    name: &str,
    note_names: &[String],
    purged: &mut PurgeReport,
) -> Result<bool, StoreError> {
    let Some(id) = conversation_id(connection, name)? else {
        return Ok(true);
    };
    // A damaged size may be any number; no body is larger than this.
    let (count, bytes, last): (i64, i64, Option<i64>) = connection
        .prepare_cached(
            "SELECT count(*), coalesce(sum(min(max(coalesce(size, length(body)), 0), 1000000000)), 0), max(seq) \
             FROM (SELECT seq, size, body FROM records WHERE conversation = ?1 ORDER BY seq LIMIT ?2)",
        )?
        .query_row([id, RECORDS], |row| row.try_into())?;
    purged.bytes += bytes.cast_unsigned();
    let remove = "DELETE FROM records WHERE conversation = ?1 AND seq <= ?2";
    purged.records += connection.prepare_cached(remove)?.execute(params![id, last.unwrap_or(i64::MAX)])? as u64;
    if count == RECORDS {
        return Ok(false);
    }
    for note in note_names {
        let of_note = "FROM notes WHERE name = ?1 AND conversation = ?2";
        let bytes: i64 = connection
            .prepare_cached(&format!("SELECT coalesce(sum(length(body)), 0) {of_note}"))?
            .query_row(params![note, id], |row| row.get(0))?;
        purged.bytes += bytes.cast_unsigned();
        connection.prepare_cached(&format!("DELETE {of_note}"))?.execute(params![note, id])?;
    }
    connection.prepare_cached("DELETE FROM conversations WHERE id = ?1")?.execute([id])?;
    Ok(true)
}

fn remove_blob(connection: &Connection, id: i64, purged: &mut PurgeReport) -> Result<(), StoreError> {
    let (first, end, size): (i64, i64, Option<i64>) = connection
        .prepare_cached("SELECT first, first + pieces, size FROM blobs WHERE id = ?1")?
        .query_row([id], |row| row.try_into())?;
    let stored: i64 = connection
        .prepare_cached("SELECT coalesce(sum(length(body)), 0) FROM pieces WHERE id >= ?1 AND id < ?2")?
        .query_row([first, end], |row| row.get(0))?;
    connection.prepare_cached("DELETE FROM pieces WHERE id >= ?1 AND id < ?2")?.execute([first, end])?;
    connection.prepare_cached("DELETE FROM blobs WHERE id = ?1")?.execute([id])?;
    purged.blobs += 1;
    purged.bytes += size.unwrap_or(stored).clamp(0, 1_000_000_000).cast_unsigned();
    Ok(())
}

/// The blobs used by records with a number above `after`, as ranges. An unreadable list belongs to a damaged record,
/// which every reader skips, so its blobs are not needed.
pub fn used(connection: &Connection, after: i64) -> Result<Vec<Range<i64>>, StoreError> {
    let mut used = Vec::new();
    let mut most = 100_000;
    let mut statement = connection.prepare_cached("SELECT uses FROM records WHERE seq > ?1 AND uses <> x''")?;
    let mut rows = statement.query([after])?;
    while let Some(row) = rows.next()? {
        let encoded = row.get_ref(0)?.as_blob().unwrap_or_default();
        used.extend(decode_uses(encoded).unwrap_or_default());
        // Most records use the blobs right before them, so merging early keeps the list short.
        if used.len() > most {
            used = merge(used);
            most = most.max(2 * used.len());
        }
    }
    Ok(merge(used))
}

fn merge(mut ranges: Vec<Range<i64>>) -> Vec<Range<i64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<i64>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// The gaps between sorted, merged ranges.
pub fn gaps(used: Vec<Range<i64>>) -> Vec<Range<i64>> {
    let mut gaps = Vec::new();
    let mut from = i64::MIN;
    for range in used {
        if from < range.start {
            gaps.push(from..range.start);
        }
        from = range.end;
    }
    gaps.push(from..i64::MAX);
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_what_no_range_covers() {
        let used = merge(vec![5..7, 1..3, 6..9, 3..4]);
        assert_eq!(used, [1..4, 5..9]);
        assert_eq!(gaps(used), [i64::MIN..1, 4..5, 9..i64::MAX]);
        assert_eq!(gaps(Vec::new()), vec![i64::MIN..i64::MAX; 1]);
    }
}
