//! Creates the schema in an empty database, and leads older ones to the current version.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::pool::{Link, Pool};
use super::wall;
use crate::StoreError;

/// The schema version that this program writes. Also in the last of [`STEPS`]; a test compares the two.
pub const SCHEMA_VERSION: i64 = 3;

/// `STEPS[n]` leads from version n to n + 1. Each only adds, so that older programs go on working.
const STEPS: [&str; SCHEMA_VERSION as usize] =
    [include_str!("schema.sql"), include_str!("schema-2.sql"), include_str!("schema-3.sql")];

/// A migration may rebuild an index.
const PATIENCE: Duration = Duration::from_secs(600);

/// The key of our advisory locks; the owner is the second half. -1 stands for the schema.
pub const LOCK: i32 = 0x0063_7478;

/// While a change of a table waits for running transactions, all others wait behind it.
const LOCK_MS: u64 = 3000;

/// The versions before and after a migration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migration {
    pub from: i64,
    pub to: i64,
    /// The role that confines reads to one owner, quoted.
    pub reader: String,
    /// Whether reads use it: not every login can make a role.
    pub has_reader: bool,
}

/// Leads the schema to the current version, one runner at a time. A later version stays as it is.
pub fn migrate(pool: &Arc<Pool>) -> Result<Migration, StoreError> {
    let begin = format!("{}; SELECT pg_advisory_xact_lock({LOCK}, -1)", Pool::begin_writing(PATIENCE));
    pool.run(PATIENCE, move |link| {
        let begin = begin.clone();
        async move {
            link.client.batch_execute(&begin).await?;
            let from = version(&link).await?.unwrap_or(0);
            link.client.batch_execute(&format!("SET LOCAL lock_timeout = {LOCK_MS}")).await?;
            for step in STEPS.iter().skip(usize::try_from(from).unwrap_or(usize::MAX)) {
                link.client.batch_execute(step).await?;
            }
            let (reader, has_reader) = wall::raise(&link).await?;
            link.client.batch_execute("COMMIT").await?;
            Ok(Migration { from, to: from.max(SCHEMA_VERSION), reader, has_reader })
        }
    })
}

/// Refuses a schema that this program cannot use. Creates it in a database without one.
pub fn prepare(pool: &Arc<Pool>) -> Result<(), StoreError> {
    let found = pool.run(pool.limits.call, |link| async move {
        let Some(found) = version(&link).await? else { return Ok(None) };
        let serves_from = fact(&link, "serves-from").await?;
        Ok(Some((found, serves_from)))
    })?;
    let at = pool.address().to_string();
    match found {
        None => migrate(pool).map(|_| ()),
        Some((found, _)) if found < SCHEMA_VERSION => {
            Err(StoreError::OldSchema { address: at, found, known: SCHEMA_VERSION })
        }
        Some((found, from)) if from > SCHEMA_VERSION => {
            Err(StoreError::FutureSchema { path: PathBuf::from(at), found, known: SCHEMA_VERSION })
        }
        Some(_) => Ok(()),
    }
}

/// The version of the schema; `None` if there is none. `to_regclass` might answer from a cache, without the schema that
/// another daemon created while this one waited for the lock.
async fn version(link: &Link) -> Result<Option<i64>, StoreError> {
    let sql = "SELECT EXISTS (SELECT FROM pg_catalog.pg_tables WHERE schemaname = 'ctx' AND tablename = 'facts')";
    let row = link.client.query_typed_one(sql, &[]).await?;
    if row.try_get::<_, bool>(0)? { Ok(Some(fact(link, "schema").await?)) } else { Ok(None) }
}

/// A fact about the database. The name is ours and needs no quoting.
pub async fn fact(link: &Link, name: &'static str) -> Result<i64, StoreError> {
    let sql = format!("SELECT value FROM ctx.facts WHERE name = '{name}'");
    Ok(link.client.query_typed_one(&sql, &[]).await?.try_get(0)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_tells_its_own_version() {
        let told = format!("SET value = {SCHEMA_VERSION} WHERE name IN ('schema'");
        assert!(STEPS.last().is_some_and(|step| step.contains(&told)), "{told}");
    }
}
