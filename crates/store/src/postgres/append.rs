//! Appending: two round trips on the one writing connection.
//!
//! The first locks the conversations and tells what is known; between the two it is decided what will be stored; the
//! second stores it and commits. If the connection breaks during the second, the transaction's number tells what became
//! of it: a commit whose acknowledgement was lost is found, not repeated.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::types::Type;

use super::plan::{Place, Plan};
use super::pool::{Link, Pool};
use super::schema::LOCK;
use super::text;
use crate::model::{AppendOutcome, Step};
use crate::{Hash, StoreError};

/// The pause before a transaction that is still running is asked for again.
const PAUSE: Duration = Duration::from_millis(20);

/// The slowest connection in bytes per second. An append that could never end by its deadline would be repeated forever.
const SLOWEST: u64 = 1 << 20;

/// Attempts at an append, if a conversation disappears or transactions conflict.
const TRIES: usize = 5;

/// The time that the bytes of an append may take on their way.
pub fn transfer(steps: &[Step]) -> Duration {
    let blobs = steps.iter().flat_map(|step| &step.blobs).map(|(_, bytes)| bytes.len());
    let records = steps.iter().flat_map(|step| &step.records).map(|record| record.body.len() + 32 * record.uses.len());
    let notes = steps.iter().flat_map(|step| &step.notes).filter_map(|note| note.body.as_ref()).map(Vec::len);
    let bytes: usize = blobs.chain(records).chain(notes).sum();
    Duration::from_millis(bytes as u64 * 1000 / SLOWEST)
}

/// The state of the writing connection.
#[derive(Default)]
pub struct Writing {
    /// Taken while it is used, so that a call that ends in the middle leaves none behind.
    link: Option<Arc<Link>>,
    unsettled: Option<Unsettled>,
}

/// A commit whose outcome is unknown.
#[derive(Clone)]
struct Unsettled {
    owner: i32,
    transaction: String,
    steps: Arc<Vec<Step>>,
    conflicts: Vec<Option<u64>>,
    /// Of its records, in order.
    checksums: Vec<i64>,
}

/// The result of the first round trip.
struct Ground {
    transaction: String,
    places: HashMap<String, Place>,
    known: HashSet<Hash>,
}

pub async fn append(
    pool: &Pool,
    owner: i32,
    steps: Arc<Vec<Step>>,
    damaged: &HashSet<Hash>,
    most: Duration,
) -> Result<Vec<AppendOutcome>, StoreError> {
    let mut writing = pool.writing.lock().await;
    if let Some(unsettled) = writing.unsettled.clone() {
        let found = settle(pool, &unsettled).await?;
        writing.unsettled = None;
        if let Some(outcomes) = found.filter(|_| unsettled.owner == owner && unsettled.steps == steps) {
            return Ok(outcomes);
        }
    }
    for attempt in 1.. {
        let (link, is_new) = match writing.link.take() {
            Some(link) => (link, false),
            None => (pool.connect().await?, true),
        };
        let ground = match ground(&link, owner, &steps, most).await {
            // The connection died at rest, or another transaction was in the way; nothing is stored.
            Err(StoreError::Unavailable { .. }) if !is_new && attempt < TRIES => continue,
            ground => ground?,
        };
        let Some(plan) = Plan::of(&steps, &ground.places, &ground.known, damaged).transpose() else {
            // A conversation was purged at this moment.
            link.client.batch_execute("ROLLBACK").await?;
            writing.link = Some(link);
            if attempt < TRIES {
                continue;
            }
            return Err(StoreError::Unavailable { why: "another transaction was in the way", source: None });
        };
        let plan = match plan {
            Ok(plan) if plan.stores_something() => plan,
            nothing => {
                link.client.batch_execute("ROLLBACK").await?;
                writing.link = Some(link);
                return nothing.map(|plan| outcomes(&steps, &plan.conflicts, Vec::new()));
            }
        };
        let unsettled = Unsettled {
            owner,
            transaction: ground.transaction,
            steps: steps.clone(),
            conflicts: plan.conflicts.clone(),
            checksums: plan.checksums().to_vec(),
        };
        writing.unsettled = Some(unsettled.clone());
        match plan.store(&link, owner, pool.replica()).await {
            Ok(numbers) => {
                (writing.unsettled, writing.link) = (None, Some(link));
                return Ok(outcomes(&steps, &plan.conflicts, numbers));
            }
            Err(error) => {
                drop(link);
                let found = settle(pool, &unsettled).await?;
                writing.unsettled = None;
                match found {
                    Some(outcomes) => return Ok(outcomes),
                    None if attempt < TRIES && matches!(error, StoreError::Unavailable { .. }) => {}
                    None => return Err(error),
                }
            }
        }
    }
    Ok(Vec::new())
}

/// Begins the transaction, locks its conversations and looks up its blobs.
async fn ground(link: &Link, owner: i32, steps: &[Step], most: Duration) -> Result<Ground, StoreError> {
    let is_durable = steps.iter().any(|step| step.durable);
    // A shared lock keeps a sweep from removing blobs that this transaction found.
    let begin = format!(
        "{}; SET LOCAL synchronous_commit = {}; SELECT pg_advisory_xact_lock_shared({LOCK}, {owner})",
        Pool::begin_writing(most),
        if is_durable { "on" } else { "off" },
    );
    let (new, named) = names(steps);
    let given = steps.iter().flat_map(|step| step.blobs.iter().map(|(hash, _)| hash));
    let used = steps.iter().flat_map(|step| step.records.iter().flat_map(|record| &record.uses));
    let hashes: HashSet<&Hash> = given.chain(used).collect();
    let hashes: Vec<&[u8]> = hashes.into_iter().map(|hash| hash.as_bytes().as_slice()).collect();
    let client = &link.client;
    let insert = "INSERT INTO ctx.conversations (owner, name) SELECT $1, n FROM unnest($2) AS n \
                  WHERE NOT EXISTS (SELECT FROM ctx.conversations c WHERE c.owner = $1 AND c.name = n) \
                  ORDER BY n ON CONFLICT (owner, name) DO NOTHING";
    // One order of locks: no two transactions wait for each other.
    let lock = "SELECT name, id, version FROM ctx.conversations WHERE owner = $1 AND name = ANY($2) ORDER BY id \
                FOR NO KEY UPDATE";
    let known = "SELECT hash FROM ctx.blobs WHERE owner = $1 AND hash = ANY($2)";
    let (new_values, named_values, hash_values) = (
        [(&owner as _, Type::INT4), (&new as _, Type::TEXT_ARRAY)],
        [(&owner as _, Type::INT4), (&named as _, Type::TEXT_ARRAY)],
        [(&owner as _, Type::INT4), (&hashes as _, Type::BYTEA_ARRAY)],
    );
    let (begun, transaction, inserted, locked, known) = tokio::join!(
        client.batch_execute(&begin),
        client.query_typed_one("SELECT pg_current_xact_id()::text", &[]),
        client.execute_typed(insert, &new_values),
        client.query_typed(lock, &named_values),
        client.query_typed(known, &hash_values),
    );
    begun?;
    let transaction = transaction?.try_get(0)?;
    inserted?;
    let mut ground = Ground { transaction, places: HashMap::new(), known: HashSet::new() };
    for row in locked? {
        let place = Place { id: row.try_get(1)?, version: row.try_get::<_, i64>(2)?.cast_unsigned() };
        ground.places.insert(text::decode(row.try_get(0)?), place);
    }
    for row in known? {
        ground.known.extend(<[u8; 32]>::try_from(row.try_get::<_, &[u8]>(0)?).ok().map(Hash::from_bytes));
    }
    Ok(ground)
}

/// The stored names of the conversations that must exist, and of all that are involved.
fn names(steps: &[Step]) -> (Vec<String>, Vec<String>) {
    let mut new: Vec<String> = Vec::new();
    let mut others: Vec<String> = Vec::new();
    for step in steps {
        new.extend(step.records.iter().map(|record| text::encode(&record.conversation)));
        for note in &step.notes {
            let names = if note.body.is_some() { &mut new } else { &mut others };
            names.push(text::encode(&note.conversation));
        }
        others.extend(step.expect.iter().map(|expect| text::encode(&expect.conversation)));
    }
    new.sort_unstable();
    new.dedup();
    others.extend(new.iter().cloned());
    others.sort_unstable();
    others.dedup();
    (new, others)
}

/// Finds out what became of a commit: its outcomes, or `None` if nothing was stored.
async fn settle(pool: &Pool, unsettled: &Unsettled) -> Result<Option<Vec<AppendOutcome>>, StoreError> {
    let link = pool.connect().await?;
    let Unsettled { owner, transaction, steps, conflicts, checksums } = unsettled;
    let values = [(transaction as _, Type::TEXT)];
    loop {
        let status = link.client.query_typed_one("SELECT pg_xact_status($1::xid8)", &values).await;
        let status: Option<String> = match status.map_err(StoreError::from) {
            Ok(row) => row.try_get(0)?,
            // A server that does not know the number has another history.
            Err(StoreError::Database(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        match status.as_deref() {
            Some("committed") => break,
            Some("in progress") => tokio::time::sleep(PAUSE).await,
            _ => return Ok(None),
        }
    }
    let sql = "SELECT seq, checksum FROM ctx.records WHERE txid = $1::xid8 AND owner = $2 ORDER BY seq";
    let rows = link.client.query_typed(sql, &[(transaction as _, Type::TEXT), (owner as _, Type::INT4)]).await?;
    let mut numbers = Vec::with_capacity(rows.len());
    let mut stored = Vec::with_capacity(rows.len());
    for row in rows {
        numbers.push(row.try_get::<_, i64>(0)?.cast_unsigned());
        stored.push(row.try_get::<_, i64>(1)?);
    }
    // A server that lost the transaction in a crash gives its number again.
    Ok((stored == *checksums).then(|| outcomes(steps, conflicts, numbers)))
}

/// Gives the numbers of an append to its steps, in order.
fn outcomes(steps: &[Step], conflicts: &[Option<u64>], numbers: Vec<u64>) -> Vec<AppendOutcome> {
    let mut numbers = numbers.into_iter();
    let outcomes = steps.iter().zip(conflicts).map(|(step, conflict)| match conflict {
        Some(version) => AppendOutcome::Conflict { version: *version },
        None => AppendOutcome::Stored { numbers: numbers.by_ref().take(step.records.len()).collect() },
    });
    outcomes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NewRecord, PostgresStore, Store};
    use testkit::PostgresServer;

    #[test]
    fn a_number_that_now_belongs_to_another_transaction_says_nothing_about_a_lost_one() {
        let Some(server) = PostgresServer::shared() else { return };
        let database = server.new_database();
        let store = PostgresStore::open(&server.url(&database).parse().unwrap()).unwrap();
        let record = NewRecord { conversation: "c1".into(), kind: "k".into(), ..NewRecord::default() };
        let step = Step { records: vec![record], ..Step::default() };
        store.append(vec![step.clone()]).unwrap();
        let asked = server.sql(&database, "SELECT txid, checksum FROM ctx.records").unwrap();
        let (transaction, checksum) = asked.split_once('|').unwrap();
        let became = |checksum: i64| {
            let unsettled = Unsettled {
                owner: 0,
                transaction: transaction.to_owned(),
                steps: Arc::new(vec![step.clone()]),
                conflicts: vec![None],
                checksums: vec![checksum],
            };
            let pool = store.pool.clone();
            store.pool.call(Duration::from_secs(20), async move { settle(&pool, &unsettled).await }).unwrap()
        };
        let checksum: i64 = checksum.parse().unwrap();
        assert!(became(checksum).is_some());
        assert_eq!(became(checksum + 1), None);
    }
}
