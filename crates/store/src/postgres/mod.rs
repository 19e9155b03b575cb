//! The store in a PostgreSQL database, used by any number of daemons. No extension, no stored procedure, no state of a
//! session: it also works through a pooler that lends a connection for one transaction.
//!
//! This module assembles the backend. Calls are synchronous and end by their deadline; the modules below contain the
//! parts.

mod address;
mod append;
mod check;
mod hub;
mod plan;
mod pool;
mod purge;
mod read;
mod replica;
mod schema;
#[cfg(test)]
mod tests;
mod text;
mod tls;
mod wall;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_postgres::Row;
use tokio_postgres::types::Type;

pub use self::address::PostgresAddress;
use self::hub::Hub;
pub use self::pool::Limits;
use self::pool::Pool;
use self::replica::PostgresReplica;
pub use self::schema::Migration;
use crate::model::{AppendOutcome, Blob, ConversationRow, Expectation, Owner, PurgeReport, Records, Size, Step};
use crate::{Cursor, Feed, Hash, Health, Progress, Reader, Replica, Store, StoreError};

/// The store of one owner in a database. Clones share the connections.
#[derive(Clone)]
pub struct PostgresStore {
    pool: Arc<Pool>,
    owner: i32,
    /// Blobs found damaged while reading, so that the next append of their bytes replaces them.
    damaged: Arc<Mutex<HashSet<Hash>>>,
    /// This daemon, once it has joined the others.
    replica: Option<Arc<dyn Replica>>,
    /// The daemon for all owners, if it serves several.
    hub: Option<Arc<Hub>>,
}

impl PostgresStore {
    /// Opens the store. In a database without one it is created; one of an earlier version is refused.
    pub fn open(address: &PostgresAddress) -> Result<Self, StoreError> {
        Self::open_within(address, Limits::default())
    }

    /// Opens the store with other limits.
    pub fn open_within(address: &PostgresAddress, limits: Limits) -> Result<Self, StoreError> {
        let pool = Arc::new(Pool::new(address.clone(), limits)?);
        schema::prepare(&pool)?;
        Ok(Self { pool, owner: 0, damaged: Arc::default(), replica: None, hub: None })
    }

    /// Leads the schema of a database to the version of this program.
    pub fn migrate(address: &PostgresAddress) -> Result<Migration, StoreError> {
        schema::migrate(&Arc::new(Pool::new(address.clone(), Limits::default())?))
    }

    /// The store of another owner. If the daemon serves several, it has joined the others for this owner too.
    pub fn of(&self, owner: Owner) -> Self {
        let owner = owner.0.cast_signed();
        let replica = self.hub.as_ref().map(|hub| hub.of(owner));
        Self { pool: self.pool.clone(), owner, damaged: Arc::default(), replica, hub: self.hub.clone() }
    }

    /// Joins the daemons that use this store, before anything of it is read into memory. From now on others wait until
    /// this one has seen their edits. A silent daemon of the same name is taken for this one, before a restart.
    pub fn join(self, name: &str) -> Result<Self, StoreError> {
        let inner = replica::join(self.pool.clone(), name)?;
        let replica = Arc::new(PostgresReplica::new(inner, self.owner));
        Ok(Self { replica: Some(replica), ..self })
    }

    /// The same for a daemon that serves several owners with one lease. [`PostgresStore::of`] opens their stores.
    pub fn join_for_several(self, name: &str) -> Result<Self, StoreError> {
        let inner = replica::join(self.pool.clone(), name)?;
        self.with_hub(inner)
    }

    /// Calls `unserved` with the edits of owners whose stores are not open here, before other daemons count them as seen.
    /// `None` stands for all such owners.
    pub fn on_unserved(&self, unserved: impl Fn(Option<Owner>, &[String]) + Send + Sync + 'static) {
        if let Some(hub) = &self.hub {
            hub.on_unserved(Box::new(unserved));
        }
    }

    fn with_hub(self, inner: Arc<replica::Inner>) -> Result<Self, StoreError> {
        let hub = Hub::start(inner)?;
        Ok(Self { replica: Some(hub.of(self.owner)), hub: Some(hub), ..self })
    }

    /// Opens a store that is out of reach at the moment. The daemon joins the others with the first poll that succeeds,
    /// and is then told to read everything.
    pub fn join_later(address: &PostgresAddress, name: &str) -> Result<Self, StoreError> {
        let (store, inner) = Self::away(address, name)?;
        let replica = Arc::new(PostgresReplica::new(inner, store.owner));
        Ok(Self { replica: Some(replica), ..store })
    }

    /// The same for a daemon that serves several owners.
    pub fn join_later_for_several(address: &PostgresAddress, name: &str) -> Result<Self, StoreError> {
        let (store, inner) = Self::away(address, name)?;
        store.with_hub(inner)
    }

    fn away(address: &PostgresAddress, name: &str) -> Result<(Self, Arc<replica::Inner>), StoreError> {
        let pool = Arc::new(Pool::new(address.clone(), Limits::default())?);
        pool.note_reach(false);
        let inner = replica::later(pool.clone(), name);
        Ok((Self { pool, owner: 0, damaged: Arc::default(), replica: None, hub: None }, inner))
    }

    pub fn address(&self) -> &PostgresAddress {
        self.pool.address()
    }

    /// All owners with conversations, in the order of their numbers.
    pub fn owners(&self) -> Result<Vec<Owner>, StoreError> {
        let most = self.pool.patience();
        let rows = self.pool.run(most, move |link| async move {
            // Not as the role that sees one owner only.
            read::alone(&link, &Pool::begin_reading(most), "SELECT DISTINCT owner FROM ctx.conversations", &[]).await
        })?;
        let mut owners = Vec::with_capacity(rows.len());
        for row in &rows {
            owners.push(Owner(row.try_get::<_, i32>(0)?.cast_unsigned()));
        }
        owners.sort_unstable();
        Ok(owners)
    }

    /// Rows of one statement about this owner, which is `$1`.
    fn rows(&self, sql: impl Into<String>, values: Vec<Argument>) -> Result<Vec<Row>, StoreError> {
        let most = self.pool.patience();
        let (pool, sql, owner) = (self.pool.clone(), sql.into(), self.owner);
        self.pool.run(most, move |link| {
            let (pool, sql, values) = (pool.clone(), sql.clone(), values.clone());
            async move {
                let begin = pool.begin_reading_of(owner, &link, most).await?;
                let own: read::Value<'_> = (&owner, Type::INT4);
                let values: Vec<read::Value<'_>> =
                    std::iter::once(own).chain(values.iter().map(Argument::value)).collect();
                read::alone(&link, &begin, &sql, &values).await
            }
        })
    }

    fn damaged(&self) -> MutexGuard<'_, HashSet<Hash>> {
        self.damaged.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A value of a statement. It is owned, because the statement runs on another thread.
#[derive(Clone)]
enum Argument {
    Text(String),
    Texts(Vec<String>),
    Number(i64),
    Hashes(Vec<Vec<u8>>),
}

impl Argument {
    fn named(name: &str) -> Self {
        Self::Text(text::encode(name))
    }

    /// Numbers beyond the database's range are behind every record.
    fn number(number: u64) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }

    fn value(&self) -> read::Value<'_> {
        match self {
            Self::Text(text) => (text, Type::TEXT),
            Self::Texts(texts) => (texts, Type::TEXT_ARRAY),
            Self::Number(number) => (number, Type::INT8),
            Self::Hashes(hashes) => (hashes, Type::BYTEA_ARRAY),
        }
    }
}

const SIZE: &str = "SELECT (SELECT coalesce(sum(records), 0) FROM ctx.conversations WHERE owner = $1)::bigint, \
               (SELECT count(*) FROM ctx.blobs WHERE owner = $1), \
               (SELECT sum(pg_total_relation_size(('ctx.' || t)::regclass)) \
                FROM unnest(ARRAY['conversations', 'records', 'blobs', 'notes']) AS t)::bigint";

/// Notes of one name with their conversations.
fn by_conversation(rows: &[Row]) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
    let notes = rows.iter().filter_map(|row| read::note(row).transpose());
    let notes = notes.map(|note| note.map(|note| (note.conversation, note.body)));
    let mut notes = notes.collect::<Result<Vec<_>, StoreError>>()?;
    // By bytes: the database's order by language takes as long as the rest, for each of many conversations.
    notes.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    Ok(notes)
}

fn size(row: &Row) -> Result<Size, StoreError> {
    let number = |column| -> Result<u64, StoreError> { Ok(row.try_get::<_, i64>(column)?.cast_unsigned()) };
    Ok(Size { records: number(0)?, blobs: number(1)?, database_bytes: number(2)?, waiting_bytes: 0 })
}

impl Reader for PostgresStore {
    fn records(&self, conversation: &str, after: u64) -> Result<Records, StoreError> {
        let sql = format!("{} WHERE c.owner = $1 AND c.name = $2 AND r.seq > $3 ORDER BY r.seq", read::RECORDS);
        read::records(&self.rows(sql, vec![Argument::named(conversation), Argument::number(after)])?)
    }

    fn log(&self, after: u64, limit: usize) -> Result<Records, StoreError> {
        let sql = format!("{} WHERE r.owner = $1 AND r.seq > $2 ORDER BY r.seq LIMIT $3", read::RECORDS);
        read::records(&self.rows(sql, vec![Argument::number(after), Argument::number(limit as u64)])?)
    }

    /// In the order of transactions, as far as all earlier ones have ended.
    fn feed(&self, after: &Cursor, limit: usize) -> Result<Feed, StoreError> {
        let epoch = self.rows("SELECT value FROM ctx.facts WHERE name = 'epoch' AND $1 = $1", vec![])?;
        let epoch = epoch.first().map(|row| row.try_get::<_, i64>(0)).transpose()?.unwrap_or(0).cast_unsigned();
        if !after.is_of(epoch) {
            return Err(StoreError::ForeignCursor(*after));
        }
        let sql = format!(
            "{} WHERE r.owner = $1 AND (r.txid, r.seq) > ($2::text::xid8, $3) \
             AND r.txid < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY r.txid, r.seq LIMIT $4",
            read::RECORDS
        );
        let from = Argument::Text(after.transaction.to_string());
        let rows = self.rows(sql, vec![from, Argument::number(after.seq), Argument::number(limit as u64)])?;
        let mut next = Cursor { epoch, ..*after };
        if let Some(row) = rows.last() {
            next.transaction = row.try_get::<_, i64>(10)?.cast_unsigned();
            next.seq = row.try_get::<_, i64>(0)?.cast_unsigned();
        }
        Ok(Feed { found: read::records(&rows)?, next })
    }

    fn newest(&self) -> Result<Cursor, StoreError> {
        let sql = "SELECT value, pg_snapshot_xmin(pg_current_snapshot())::text::bigint FROM ctx.facts \
                   WHERE name = 'epoch' AND $1 = $1";
        let rows = self.rows(sql, vec![])?;
        let row = rows.first().ok_or_else(|| StoreError::Damaged("the store has no epoch".into()))?;
        let number = |column| -> Result<u64, StoreError> { Ok(row.try_get::<_, i64>(column)?.cast_unsigned()) };
        Ok(Cursor { epoch: number(0)?, transaction: number(1)?, seq: 0 })
    }

    fn cursor_behind(&self, seq: u64) -> Result<Cursor, StoreError> {
        let sql = "SELECT txid::text::bigint FROM ctx.records WHERE owner = $1 AND seq <= $2 ORDER BY seq DESC LIMIT 1";
        let rows = self.rows(sql, vec![Argument::number(seq)])?;
        let transaction = rows.first().map(|row| row.try_get::<_, i64>(0)).transpose()?.unwrap_or(0).cast_unsigned();
        Ok(Cursor { transaction, seq, ..self.newest()? })
    }

    fn blobs(&self, hashes: &[Hash]) -> Result<Vec<Blob>, StoreError> {
        if hashes.is_empty() {
            return Ok(Vec::new());
        }
        let wanted = Argument::Hashes(hashes.iter().map(|hash| hash.as_bytes().to_vec()).collect());
        let rows = self.rows(format!("{} WHERE owner = $1 AND hash = ANY($2)", read::BLOBS), vec![wanted])?;
        let mut found = HashMap::new();
        for row in &rows {
            if let (Some(hash), blob) = read::blob(row)? {
                if let Blob::Damaged(why) = &blob {
                    tracing::warn!(%hash, %why, "a blob is damaged");
                    self.damaged().insert(hash);
                }
                found.insert(hash, blob);
            }
        }
        Ok(hashes.iter().map(|hash| found.get(hash).cloned().unwrap_or(Blob::Missing)).collect())
    }

    fn notes(&self, name: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let sql = format!("{} WHERE c.owner = $1 AND n.name = $2", read::NOTES);
        by_conversation(&self.rows(sql, vec![Argument::named(name)])?)
    }

    fn notes_among(&self, name: &str, conversations: &[&str]) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let among = Argument::Texts(conversations.iter().map(|id| text::encode(id)).collect());
        let sql = format!("{} WHERE c.owner = $1 AND n.name = $2 AND c.name = ANY($3)", read::NOTES);
        by_conversation(&self.rows(sql, vec![Argument::named(name), among])?)
    }

    fn note_names(&self) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT DISTINCT n.name COLLATE \"C\" AS name FROM ctx.notes n \
                   JOIN ctx.conversations c ON c.id = n.conversation WHERE c.owner = $1 ORDER BY name";
        let rows = self.rows(sql, vec![])?;
        rows.iter().map(|row| Ok(text::decode(row.try_get(0)?))).collect()
    }

    fn note(&self, conversation: &str, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.notes_of(conversation, &[name])?.pop().flatten())
    }

    fn notes_of(&self, conversation: &str, names: &[&str]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let wanted = Argument::Texts(names.iter().map(|name| text::encode(name)).collect());
        let sql = format!("{} WHERE c.owner = $1 AND c.name = $2 AND n.name = ANY($3)", read::NOTES);
        let mut found = HashMap::new();
        for row in &self.rows(sql, vec![Argument::named(conversation), wanted])? {
            found.extend(read::note(row)?.map(|note| (note.name, note.body)));
        }
        Ok(names.iter().map(|&name| found.get(name).cloned()).collect())
    }

    fn last_seq(&self) -> Result<u64, StoreError> {
        let sql = "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM ctx.record_numbers WHERE $1 = $1";
        let rows = self.rows(sql, vec![])?;
        let last = rows.first().map(|row| row.try_get::<_, i64>(0)).transpose()?;
        Ok(last.unwrap_or(0).cast_unsigned())
    }

    fn conversations(&self) -> Result<Vec<ConversationRow>, StoreError> {
        let sql = "SELECT name, records, first_at, last_at, version FROM ctx.conversations \
                   WHERE owner = $1 AND records > 0";
        let rows = self.rows(sql, vec![])?;
        let mut found = rows.iter().map(read::conversation).collect::<Result<Vec<_>, StoreError>>()?;
        found.sort_unstable_by(|one, other| one.id.cmp(&other.id));
        Ok(found)
    }

    fn conversations_with(&self, kinds: &[&str]) -> Result<Vec<String>, StoreError> {
        let kinds = Argument::Texts(kinds.iter().map(|kind| text::encode(kind)).collect());
        let sql = "SELECT name FROM ctx.conversations WHERE owner = $1 AND kinds && $2 ORDER BY name";
        let rows = self.rows(sql, vec![kinds])?;
        rows.iter().map(|row| Ok(text::decode(row.try_get(0)?))).collect()
    }

    fn size(&self) -> Result<Size, StoreError> {
        self.rows(SIZE, vec![])?.first().map_or_else(|| Ok(Size::default()), size)
    }

    fn check_with(&self, progress: &Progress) -> Result<Health, StoreError> {
        let (health, damaged) = check::check(&self.pool, self.owner, progress)?;
        self.damaged().extend(damaged);
        Ok(health)
    }
}

impl Store for PostgresStore {
    fn append(&self, steps: Vec<Step>) -> Result<Vec<AppendOutcome>, StoreError> {
        if steps.is_empty() {
            return Ok(Vec::new());
        }
        let damaged = self.damaged().clone();
        let given = steps.iter().flat_map(|step| step.blobs.iter().map(|(hash, _)| *hash));
        let healed: Vec<Hash> = given.filter(|hash| damaged.contains(hash)).collect();
        let most = self.pool.limits.call + append::transfer(&steps);
        let (pool, owner, steps) = (self.pool.clone(), self.owner, Arc::new(steps));
        let outcomes =
            self.pool.call(most, async move { append::append(&pool, owner, steps, &damaged, most).await })?;
        let mut damaged = self.damaged();
        damaged.retain(|hash| !healed.contains(hash));
        Ok(outcomes)
    }

    fn remove(&self, conversations: &[String]) -> Result<PurgeReport, StoreError> {
        purge::remove(&self.pool, self.owner, conversations)
    }

    fn remove_if(&self, expect: &Expectation) -> Result<Option<PurgeReport>, StoreError> {
        purge::remove_one(&self.pool, self.owner, &expect.conversation, Some(expect.version))
    }

    fn residue(&self) -> &'static str {
        "No reader finds them any more. Their bytes leave the tables with the next vacuum, and the server's logs, standbys and \
         backups when those expire."
    }

    fn sweep(&self) -> Result<PurgeReport, StoreError> {
        purge::sweep(&self.pool, self.owner)
    }

    fn replica(&self) -> Option<Arc<dyn Replica>> {
        self.replica.clone()
    }
}
