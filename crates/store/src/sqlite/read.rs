//! Reads everything but the log: blobs, notes, and counts. Distinguishes damaged from missing data.

use rusqlite::{Connection, OptionalExtension, params};

use crate::encode::{checksum, unpack};
use crate::model::{Blob, ConversationRow, Damage};
use crate::{Hash, StoreError};

pub fn conversation_id(connection: &Connection, name: &str) -> Result<Option<i64>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT id FROM conversations WHERE name = ?1")?;
    Ok(statement.query_row([name], |row| row.get(0)).optional()?)
}

/// The number of the conversation's last record below `before`; 0 if it has none.
pub fn version(connection: &Connection, conversation: i64, before: i64) -> Result<u64, StoreError> {
    let sql = "SELECT max(seq) FROM records WHERE conversation = ?1 AND seq < ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let last: Option<i64> = statement.query_row([conversation, before], |row| row.get(0))?;
    Ok(last.unwrap_or(0).cast_unsigned())
}

/// The location of a blob's bytes.
pub struct Place {
    pub id: i64,
    pub first: i64,
    pub pieces: i64,
    pub codec: i64,
    pub size: Option<i64>,
}

/// Shared, so that the writer and the reader use the same query, which the index supports.
pub const FIND_BLOB: &str = "SELECT id, first, pieces, codec, size FROM blobs \
                             WHERE substr(hash, 1, 8) = substr(?1, 1, 8) AND hash = ?1";

pub fn find_blob(connection: &Connection, hash: &Hash) -> Result<Option<Place>, StoreError> {
    let mut statement = connection.prepare_cached(FIND_BLOB)?;
    let place = statement.query_row([hash.as_bytes()], |row| {
        Ok(Place { id: row.get(0)?, first: row.get(1)?, pieces: row.get(2)?, codec: row.get(3)?, size: row.get(4)? })
    });
    Ok(place.optional()?)
}

/// One blob, verified.
pub fn blob(connection: &Connection, hash: &Hash) -> Result<Blob, StoreError> {
    match find_blob(connection, hash) {
        Ok(Some(place)) => bytes_at(connection, &place, hash),
        Ok(None) => Ok(Blob::Missing),
        Err(StoreError::Damaged(_)) => Ok(Blob::Damaged(Damage::Page)),
        Err(error) => Err(error),
    }
}

pub fn bytes_at(connection: &Connection, place: &Place, hash: &Hash) -> Result<Blob, StoreError> {
    let unpacked = match stored_bytes(connection, place) {
        Ok(Some(stored)) => unpack(place.codec, place.size, stored),
        Ok(None) => Err(Damage::Pieces),
        Err(StoreError::Damaged(_)) => Err(Damage::Page),
        Err(error) => return Err(error),
    };
    Ok(match unpacked {
        Ok(bytes) if Hash::of(&bytes) == *hash => Blob::Present(bytes),
        Ok(_) => Blob::Damaged(Damage::Hash),
        Err(why) => Blob::Damaged(why),
    })
}

fn stored_bytes(connection: &Connection, place: &Place) -> Result<Option<Vec<u8>>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT body FROM pieces WHERE id >= ?1 AND id < ?2 ORDER BY id")?;
    let end = place.first.saturating_add(place.pieces);
    let mut rows = statement.query([place.first, end])?;
    let mut stored = Vec::new();
    let mut found = 0;
    while let Some(row) = rows.next()? {
        let Ok(piece) = row.get_ref(0)?.as_blob() else {
            return Ok(None);
        };
        stored.extend_from_slice(piece);
        found += 1;
    }
    Ok((found == place.pieces).then_some(stored))
}

pub fn note_checksum(conversation: &str, name: &str, body: &[u8]) -> i64 {
    checksum(&[conversation.as_bytes(), name.as_bytes(), body])
}

pub fn notes(connection: &Connection, name: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT c.name, n.checksum, n.body FROM notes n JOIN conversations c ON c.id = n.conversation \
         WHERE n.name = ?1 ORDER BY c.name",
    )?;
    let mut rows = statement.query([name])?;
    let mut notes = Vec::new();
    while let Some(row) = rows.next()? {
        let Ok((conversation, expected, body)) = <(String, i64, Vec<u8>)>::try_from(row) else {
            continue;
        };
        if note_checksum(&conversation, name, &body) == expected {
            notes.push((conversation, body));
        } else {
            tracing::warn!(conversation, name, "left out a damaged note");
        }
    }
    Ok(notes)
}

pub fn note(connection: &Connection, conversation: &str, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let Some(id) = conversation_id(connection, conversation)? else {
        return Ok(None);
    };
    let mut statement =
        connection.prepare_cached("SELECT checksum, body FROM notes WHERE name = ?1 AND conversation = ?2")?;
    let found: Option<(i64, Vec<u8>)> = statement.query_row(params![name, id], |row| row.try_into()).optional()?;
    Ok(found.filter(|(expected, body)| note_checksum(conversation, name, body) == *expected).map(|(_, body)| body))
}

/// The identity of the store's history; 0 until a writer has opened the file.
pub fn epoch(connection: &Connection) -> Result<u64, StoreError> {
    let mut statement = connection.prepare_cached("SELECT value FROM facts WHERE name = 'epoch'")?;
    let epoch: Option<i64> = statement.query_row([], |row| row.get(0)).optional()?;
    Ok(epoch.unwrap_or(0).cast_unsigned())
}

/// The highest number ever assigned, even if its record has been purged.
pub fn last_seq(connection: &Connection) -> Result<i64, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT max(coalesce((SELECT max(seq) FROM records), 0), \
                    coalesce((SELECT value FROM facts WHERE name = 'last-seq'), 0))",
    )?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

pub fn conversations(connection: &Connection) -> Result<Vec<ConversationRow>, StoreError> {
    // Counted from the index; only the first and the last row of each are read.
    let mut statement = connection.prepare_cached(
        "WITH ends AS (SELECT conversation, count(*) AS records, min(seq) AS first, max(seq) AS last \
                       FROM records GROUP BY conversation) \
         SELECT c.name, e.records, f.at, l.at, e.last FROM ends e \
         JOIN conversations c ON c.id = e.conversation \
         JOIN records f ON f.seq = e.first JOIN records l ON l.seq = e.last ORDER BY c.name",
    )?;
    let mut rows = statement.query([])?;
    let mut conversations = Vec::new();
    while let Some(row) = rows.next()? {
        // A name that is no longer text cannot be requested either.
        let Ok((id, records, first_at, last_at, last_seq)) = <(String, i64, i64, i64, i64)>::try_from(row) else {
            continue;
        };
        conversations.push(ConversationRow {
            id,
            records: records.cast_unsigned(),
            first_at: first_at.cast_unsigned(),
            last_at: last_at.cast_unsigned(),
            last_seq: last_seq.cast_unsigned(),
        });
    }
    Ok(conversations)
}

/// `kind` precedes the body of a row, so no body is read for this.
pub fn conversations_with(connection: &Connection, kinds: &[&str]) -> Result<Vec<String>, StoreError> {
    let places = vec!["?"; kinds.len()].join(", ");
    let mut statement = connection.prepare(&format!(
        "SELECT name FROM conversations WHERE id IN (SELECT conversation FROM records WHERE kind IN ({places})) \
         ORDER BY name"
    ))?;
    let mut rows = statement.query(rusqlite::params_from_iter(kinds))?;
    let mut names = Vec::new();
    while let Some(row) = rows.next()? {
        names.extend(row.get::<_, String>(0));
    }
    Ok(names)
}

pub fn count(connection: &Connection, table: &str) -> Result<u64, StoreError> {
    let mut statement = connection.prepare_cached(&format!("SELECT count(*) FROM {table}"))?;
    let count: i64 = statement.query_row([], |row| row.get(0))?;
    Ok(count.cast_unsigned())
}
