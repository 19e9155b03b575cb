//! Reading: each call is one snapshot in one round trip. A damaged row is reported, never returned.

use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::pool::Link;
use super::text;
use crate::encode::{checksum, unpack};
use crate::model::{Blob, ConversationRow, Damage, Record, Records, SkippedRecord};
use crate::{Hash, StoreError};

/// A value with its type. Types are named because statements are not prepared: a prepared statement would outlive its
/// transaction, and through a pooler reach another server process.
pub type Value<'a> = (&'a (dyn ToSql + Sync), Type);

/// One statement between the given beginning and the end of its transaction, all in one round trip.
pub async fn alone(link: &Link, begin: &str, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, StoreError> {
    let client = &link.client;
    let (begun, rows, ended) =
        tokio::join!(client.batch_execute(begin), client.query_typed(sql, values), client.batch_execute("COMMIT"));
    // The first error is the cause of the others.
    begun?;
    let rows = rows?;
    ended?;
    Ok(rows)
}

pub const RECORDS: &str = "SELECT r.seq, c.name, r.at, r.kind, r.version, r.uses, r.checksum, r.codec, r.size, r.body, \
                           r.txid::text::bigint FROM ctx.records r JOIN ctx.conversations c ON c.id = r.conversation";

/// Verified records from rows of [`RECORDS`].
pub fn records(rows: &[Row]) -> Result<Records, StoreError> {
    let mut found = Records::default();
    for row in rows {
        let seq = row.try_get::<_, i64>(0)?.cast_unsigned();
        match record(row)? {
            Ok(record) => found.records.push(record),
            Err(why) => {
                let kind = Some(text::decode(row.try_get(3)?));
                found.skipped.push(SkippedRecord { seq, kind, why });
            }
        }
    }
    if !found.skipped.is_empty() {
        tracing::warn!(count = found.skipped.len(), "skipped damaged records");
    }
    Ok(found)
}

fn record(row: &Row) -> Result<Result<Record, Damage>, StoreError> {
    let uses: &[u8] = row.try_get(5)?;
    let expected: i64 = row.try_get(6)?;
    let body = match unpacked(row, 7)? {
        Ok(body) => body,
        Err(why) => return Ok(Err(why)),
    };
    let (hashes, rest) = uses.as_chunks::<32>();
    let version = u16::try_from(row.try_get::<_, i32>(4)?);
    let (true, Ok(version)) = (rest.is_empty(), version) else { return Ok(Err(Damage::Checksum)) };
    let record = Record {
        seq: row.try_get::<_, i64>(0)?.cast_unsigned(),
        conversation: text::decode(row.try_get(1)?),
        at: row.try_get::<_, i64>(2)?.cast_unsigned(),
        kind: text::decode(row.try_get(3)?),
        version,
        uses: hashes.iter().map(|hash| Hash::from_bytes(*hash)).collect(),
        body,
    };
    let actual = record_checksum(&record.conversation, record.at, &record.kind, record.version, uses, &record.body);
    Ok(if actual == expected { Ok(record) } else { Err(Damage::Checksum) })
}

/// The checksum of a record. Its number is not covered: the database assigns it.
pub fn record_checksum(conversation: &str, at: u64, kind: &str, version: u16, uses: &[u8], body: &[u8]) -> i64 {
    let parts = [conversation.as_bytes(), &at.to_le_bytes(), kind.as_bytes(), &version.to_le_bytes(), uses, body];
    checksum(&parts)
}

pub fn note_checksum(conversation: &str, name: &str, body: &[u8]) -> i64 {
    checksum(&[conversation.as_bytes(), name.as_bytes(), body])
}

/// The body of a row whose columns from `first` on are its codec, its size and its stored bytes.
fn unpacked(row: &Row, first: usize) -> Result<Result<Vec<u8>, Damage>, StoreError> {
    let codec = i64::from(row.try_get::<_, i16>(first)?);
    let size = i64::from(row.try_get::<_, i32>(first + 1)?);
    let body: Vec<u8> = row.try_get(first + 2)?;
    // A body stored as it is has no separate size in the other stores.
    let is_plain = codec == 0;
    if is_plain && size != body.len() as i64 {
        return Ok(Err(Damage::Packing));
    }
    Ok(unpack(codec, (!is_plain).then_some(size), body))
}

pub const BLOBS: &str = "SELECT hash, codec, size, body FROM ctx.blobs";

/// A verified blob from a row of [`BLOBS`].
pub fn blob(row: &Row) -> Result<(Option<Hash>, Blob), StoreError> {
    let stored: &[u8] = row.try_get(0)?;
    let hash = <[u8; 32]>::try_from(stored).ok().map(Hash::from_bytes);
    let blob = match unpacked(row, 1)? {
        Ok(bytes) if hash == Some(Hash::of(&bytes)) => Blob::Present(bytes),
        Ok(_) => Blob::Damaged(Damage::Hash),
        Err(why) => Blob::Damaged(why),
    };
    Ok((hash, blob))
}

pub const NOTES: &str = "SELECT c.name, n.name, n.checksum, n.body FROM ctx.notes n \
                         JOIN ctx.conversations c ON c.id = n.conversation";

pub struct StoredNote {
    pub conversation: String,
    pub name: String,
    pub body: Vec<u8>,
}

/// A row of [`NOTES`]; `None` if it is damaged.
pub fn note(row: &Row) -> Result<Option<StoredNote>, StoreError> {
    let (conversation, name) = (text::decode(row.try_get(0)?), text::decode(row.try_get(1)?));
    let body: Vec<u8> = row.try_get(3)?;
    if note_checksum(&conversation, &name, &body) == row.try_get::<_, i64>(2)? {
        return Ok(Some(StoredNote { conversation, name, body }));
    }
    tracing::warn!(conversation, name, "left out a damaged note");
    Ok(None)
}

pub fn conversation(row: &Row) -> Result<ConversationRow, StoreError> {
    let number = |column| -> Result<u64, StoreError> { Ok(row.try_get::<_, i64>(column)?.cast_unsigned()) };
    Ok(ConversationRow {
        id: text::decode(row.try_get(0)?),
        records: number(1)?,
        first_at: number(2)?,
        last_at: number(3)?,
        last_seq: number(4)?,
    })
}
