//! Purging, in small transactions: one conversation, or some blobs, at a time. All of them may be repeated.
//!
//! Removed rows are gone for every reader at once. Their bytes leave the tables with the next vacuum, and logs, standbys
//! and backups of the server when those expire.

use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::types::Type;

use super::pool::Pool;
use super::read::alone;
use super::schema::LOCK;
use super::text;
use crate::StoreError;
use crate::model::PurgeReport;

/// The search for unused blobs reads all records of the owner.
const PATIENCE: Duration = Duration::from_secs(300);

/// The number of blobs to remove at once. Appends of the owner wait meanwhile.
const BLOBS: usize = 200;

/// The hashes in `r.uses`.
const USES: &str = "SELECT substring(r.uses FROM 32 * i + 1 FOR 32) FROM ctx.records r, \
                    generate_series(0, length(r.uses) / 32 - 1) AS i WHERE r.owner = $1";

pub fn remove(pool: &Arc<Pool>, owner: i32, conversations: &[String]) -> Result<PurgeReport, StoreError> {
    let mut purged = PurgeReport::default();
    for name in conversations {
        purged += remove_one(pool, owner, name, None)?.unwrap_or_default();
    }
    Ok(purged)
}

/// `None` if there is no such conversation, or not in this version.
pub fn remove_one(
    pool: &Arc<Pool>,
    owner: i32,
    name: &str,
    version: Option<u64>,
) -> Result<Option<PurgeReport>, StoreError> {
    let (begin, name, replica) = (Pool::begin_writing(pool.limits.call), text::encode(name), pool.replica());
    let version = version.map(u64::cast_signed);
    pool.run(pool.limits.call, move |link| {
        let (begin, name) = (begin.clone(), name.clone());
        async move {
            let sql = "WITH c AS (SELECT id FROM ctx.conversations WHERE owner = $1 AND name = $2 \
                                  AND version = coalesce($4, version) FOR UPDATE), \
                r AS (DELETE FROM ctx.records WHERE conversation IN (SELECT id FROM c) RETURNING size), \
                n AS (DELETE FROM ctx.notes WHERE conversation IN (SELECT id FROM c) RETURNING length(body) AS size), \
                gone AS (DELETE FROM ctx.conversations WHERE id IN (SELECT id FROM c)), \
                told AS (INSERT INTO ctx.edits (owner, conversation, replica) SELECT $1, $2, $3 FROM c) \
                SELECT (SELECT count(*) FROM c), (SELECT count(*) FROM r), \
                       (SELECT coalesce(sum(size), 0) FROM r)::bigint, \
                       (SELECT coalesce(sum(size), 0) FROM n)::bigint, pg_notify('ctx_edits', '')";
            let values = [
                (&owner as _, Type::INT4),
                (&name as _, Type::TEXT),
                (&replica as _, Type::INT8),
                (&version as _, Type::INT8),
            ];
            let rows = alone(&link, &begin, sql, &values).await?;
            let number = |column| -> Result<u64, StoreError> {
                let number = rows.first().map(|row| row.try_get::<_, i64>(column)).transpose()?;
                Ok(number.unwrap_or(0).cast_unsigned())
            };
            let removed = PurgeReport { records: number(1)?, blobs: 0, bytes: number(2)? + number(3)? };
            Ok((number(0)? > 0).then_some(removed))
        }
    })
}

pub fn sweep(pool: &Arc<Pool>, owner: i32) -> Result<PurgeReport, StoreError> {
    let reading = pool.clone();
    // Records of transactions that are not in this snapshot are looked at again, below.
    let (unused, seen) = pool.run(PATIENCE, move |link| {
        let pool = reading.clone();
        async move {
            let begin = pool.begin_reading_of(owner, &link, PATIENCE).await?;
            let sql = format!(
                "SELECT hash, pg_snapshot_xmin(pg_current_snapshot())::text FROM ctx.blobs WHERE owner = $1 \
                 AND hash NOT IN ({USES})"
            );
            let rows = alone(&link, &begin, &sql, &[(&owner, Type::INT4)]).await?;
            let seen: Option<String> = rows.first().map(|row| row.try_get(1)).transpose()?;
            let unused = rows.iter().map(|row| row.try_get::<_, Vec<u8>>(0));
            Ok((unused.collect::<Result<Vec<_>, _>>()?, seen.unwrap_or_default()))
        }
    })?;
    let mut purged = PurgeReport::default();
    for some in unused.chunks(BLOBS) {
        // The lock is exclusive: no append relies on a blob that goes.
        let begin = format!("{}; SELECT pg_advisory_xact_lock({LOCK}, {owner})", Pool::begin_writing(pool.limits.call));
        let (some, seen) = (some.to_vec(), seen.clone());
        purged += pool.run(pool.limits.call, move |link| {
            let (begin, some, seen) = (begin.clone(), some.clone(), seen.clone());
            async move {
                let sql = format!(
                    "DELETE FROM ctx.blobs WHERE owner = $1 AND hash = ANY($2) \
                     AND hash NOT IN ({USES} AND r.txid >= $3::xid8) RETURNING size"
                );
                let values = [(&owner as _, Type::INT4), (&some as _, Type::BYTEA_ARRAY), (&seen as _, Type::TEXT)];
                let rows = alone(&link, &begin, &sql, &values).await?;
                let mut removed = PurgeReport { blobs: rows.len() as u64, ..PurgeReport::default() };
                for row in &rows {
                    removed.bytes += u64::from(row.try_get::<_, i32>(0)?.cast_unsigned());
                }
                Ok(removed)
            }
        })?;
    }
    Ok(purged)
}
