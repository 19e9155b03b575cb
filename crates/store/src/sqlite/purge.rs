//! Purging: removing conversations and the blobs that only they used, and giving the space back.

use std::ops::Range;

use rusqlite::{Connection, TransactionBehavior, params};

use super::encode::decode_uses;
use super::read::{conversation_id, last_seq};
use super::write::Writer;
use crate::StoreError;
use crate::model::Purged;

impl Writer {
    pub fn purge(&mut self, conversations: &[String]) -> Result<Purged, StoreError> {
        self.wait_for_disk(true)?;
        let outcome = self.try_purge(conversations);
        self.forget();
        let purged = outcome?;
        self.shrink();
        Ok(purged)
    }

    fn try_purge(&mut self, conversations: &[String]) -> Result<Purged, StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        remember_last_seq(&transaction)?;
        let mut purged = Purged::default();
        for name in conversations {
            remove_conversation(&transaction, name, &mut purged)?;
        }
        remove_unused_blobs(&transaction, &mut purged)?;
        transaction.commit()?;
        Ok(purged)
    }

    /// The purge is done and kept; that the files also become smaller may wait for the next time.
    fn shrink(&mut self) {
        let shrunk = self.connection.execute_batch("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE);");
        if let Err(error) = shrunk {
            tracing::debug!(%error, "could not shrink the store's files yet");
        }
    }
}

fn remember_last_seq(connection: &Connection) -> Result<(), StoreError> {
    let last = last_seq(connection)?;
    connection.execute("INSERT OR REPLACE INTO facts (name, value) VALUES ('last-seq', ?1)", [last])?;
    Ok(())
}

fn remove_conversation(connection: &Connection, name: &str, purged: &mut Purged) -> Result<(), StoreError> {
    let Some(id) = conversation_id(connection, name)? else {
        return Ok(());
    };
    let sum = |sql| -> Result<u64, StoreError> {
        let bytes: i64 = connection.prepare_cached(sql)?.query_row([id], |row| row.get(0))?;
        Ok(bytes.cast_unsigned())
    };
    // A damaged size may be any number; no body is larger than this.
    let records = sum("SELECT coalesce(sum(min(max(coalesce(size, length(body)), 0), 1000000000)), 0) \
         FROM records WHERE conversation = ?1")?;
    let notes = sum("SELECT coalesce(sum(length(body)), 0) FROM notes WHERE conversation = ?1")?;
    purged.bytes += records + notes;
    let remove = |sql| connection.prepare_cached(sql)?.execute([id]);
    purged.records += remove("DELETE FROM records WHERE conversation = ?1")? as u64;
    remove("DELETE FROM notes WHERE conversation = ?1")?;
    remove("DELETE FROM conversations WHERE id = ?1")?;
    Ok(())
}

fn remove_unused_blobs(connection: &Connection, purged: &mut Purged) -> Result<(), StoreError> {
    for gap in gaps(used(connection)?) {
        let mut find = connection
            .prepare_cached("SELECT id, first, first + pieces, size FROM blobs WHERE id >= ?1 AND id < ?2")?;
        let unused: Vec<(i64, i64, i64, Option<i64>)> =
            find.query_map([gap.start, gap.end], |row| row.try_into())?.collect::<Result<_, _>>()?;
        for (id, first, end, size) in unused {
            let stored: i64 = connection
                .prepare_cached("SELECT coalesce(sum(length(body)), 0) FROM pieces WHERE id >= ?1 AND id < ?2")?
                .query_row([first, end], |row| row.get(0))?;
            connection.prepare_cached("DELETE FROM pieces WHERE id >= ?1 AND id < ?2")?.execute([first, end])?;
            connection.prepare_cached("DELETE FROM blobs WHERE id = ?1")?.execute(params![id])?;
            purged.blobs += 1;
            purged.bytes += size.unwrap_or(stored).clamp(0, 1_000_000_000).cast_unsigned();
        }
    }
    Ok(())
}

/// The blobs that records use, as ranges. A list that cannot be read belongs to a damaged record: that
/// one is skipped by every reader, so nobody will ask for its blobs.
pub fn used(connection: &Connection) -> Result<Vec<Range<i64>>, StoreError> {
    let mut used = Vec::new();
    let mut most = 100_000;
    let mut statement = connection.prepare("SELECT uses FROM records WHERE uses <> x''")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let encoded = row.get_ref(0)?.as_blob().unwrap_or_default();
        used.extend(decode_uses(encoded).unwrap_or_default());
        // Most records use what came right before them, so merging early keeps the list short.
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

/// What lies between sorted, merged ranges.
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
