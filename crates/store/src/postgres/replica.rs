//! Daemons that share the database: announcements of edits, beats and leases.
//!
//! A transaction number says nothing about the order of commits, so a daemon reports the snapshot that its last poll
//! read. An edit is seen by all when its transaction is visible in the snapshot of each. One connection listens, polls
//! and beats; behind a pooler that swallows notifications, polling alone finds the same.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::pool::{Link, Pool};
use super::read::alone;
use super::{schema, text};
use crate::replica::{LEASE, NAMED_FOR};
use crate::{Absent, News, Presence, Replica, StoreError};

/// The shortest and longest pause before the database is asked again which daemons have seen an edit.
const PAUSE: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(40));

/// The time that a commit may take beyond a lease.
const GRACE: Duration = Duration::from_millis(500);

/// Announcements are kept for an hour. A daemon that was away for half of it reads everything again.
const LONG_AWAY: Duration = Duration::from_secs(1800);

/// The interval between removals of old announcements and of daemons that are gone.
const TIDY: Duration = Duration::from_secs(60);

/// The daemon for one owner.
pub struct PostgresReplica {
    inner: Arc<Inner>,
    owner: i32,
}

/// The daemon in the database, for all owners.
pub struct Inner {
    pool: Arc<Pool>,
    id: i64,
    name: String,
    /// Taken while it is used, so that a call that ends in the middle leaves none behind.
    link: tokio::sync::Mutex<Option<Arc<Link>>>,
    notified: Arc<Notify>,
    sight: Mutex<Sight>,
    has_left: AtomicBool,
}

/// The state of the announcements here.
struct Sight {
    /// The snapshot of the last beat.
    seen: String,
    /// The snapshot of the last poll.
    polled: String,
    beaten: Beat,
    /// Until the first beat after the store was out of reach from the start.
    knows_nothing: bool,
    tidied_at: Instant,
    others: Vec<(String, Duration)>,
}

/// The time of the last beat.
#[derive(Clone, Copy)]
struct Beat {
    running: Instant,
    /// Goes on while the machine sleeps.
    clock: SystemTime,
}

impl Beat {
    fn now() -> Self {
        Self { running: Instant::now(), clock: SystemTime::now() }
    }

    /// A clock that is set forward makes it older until the next beat: that costs refusals, never an edit.
    fn age(self) -> Duration {
        self.running.elapsed().max(self.clock.elapsed().unwrap_or_default())
    }
}

impl Drop for PostgresReplica {
    fn drop(&mut self) {
        self.leave();
    }
}

impl PostgresReplica {
    pub fn new(inner: Arc<Inner>, owner: i32) -> Self {
        Self { inner, owner }
    }
}

/// Joins with the first poll that reaches the database.
pub fn later(pool: Arc<Pool>, name: &str) -> Arc<Inner> {
    let id = RandomState::new().hash_one((std::process::id(), name)).cast_signed() | 1;
    pool.set_replica(id);
    let sight = Sight {
        seen: String::new(),
        polled: String::new(),
        beaten: Beat::now(),
        knows_nothing: true,
        tidied_at: Instant::now(),
        others: Vec::new(),
    };
    Arc::new(Inner {
        pool,
        id,
        name: name.to_owned(),
        link: tokio::sync::Mutex::default(),
        notified: Arc::default(),
        sight: Mutex::new(sight),
        has_left: AtomicBool::new(false),
    })
}

pub fn join(pool: Arc<Pool>, name: &str) -> Result<Arc<Inner>, StoreError> {
    let inner = later(pool, name);
    inner.register("pg_current_snapshot()")?;
    lock(&inner.sight).knows_nothing = false;
    Ok(inner)
}

impl Inner {
    /// From now on others wait for this daemon. `seen`: the snapshot that it has seen, in SQL.
    fn register(&self, seen: &'static str) -> Result<(), StoreError> {
        let Inner { pool, id, name, .. } = self;
        let (begin, id, called) = (Pool::begin_writing(pool.limits.call), *id, text::encode(name));
        let seen = pool.run(pool.limits.call, move |link| {
            let (begin, called) = (begin.clone(), called.clone());
            async move {
                let sql = format!(
                    "INSERT INTO ctx.replicas (id, name, beat, seen) VALUES ($1, $2, clock_timestamp(), {seen}) \
                     ON CONFLICT (id) DO UPDATE SET beat = excluded.beat, seen = excluded.seen \
                     RETURNING pg_current_snapshot()::text"
                );
                let rows = alone(&link, &begin, &sql, &[(&id, Type::INT8), (&called, Type::TEXT)]).await?;
                let seen: Option<String> = rows.first().map(|row| row.try_get(0)).transpose()?;
                Ok(seen.unwrap_or_default())
            }
        })?;
        let mut sight = lock(&self.sight);
        (sight.polled, sight.seen, sight.beaten) = (seen.clone(), seen, Beat::now());
        Ok(())
    }

    /// The other daemons that have not seen the newest edit of a conversation; and whether each has a lease.
    fn unaware(&self, owner: i32, conversation: &str) -> Result<Vec<(Absent, bool)>, StoreError> {
        let most = self.pool.limits.call.min(LEASE);
        let (begin, id, named) = (Pool::begin_reading(most), self.id, text::encode(conversation));
        self.pool.run(most, move |link| {
            let (begin, named) = (begin.clone(), named.clone());
            async move {
                let sql = "SELECT r.name, extract(epoch FROM clock_timestamp() - r.beat)::float8 FROM ctx.replicas r, \
                           (SELECT txid FROM ctx.edits WHERE owner = $1 AND conversation = $2 \
                            ORDER BY txid DESC LIMIT 1) AS e \
                           WHERE r.id <> $3 AND NOT pg_visible_in_snapshot(e.txid, r.seen) ORDER BY r.name";
                let values = [(&owner as _, Type::INT4), (&named as _, Type::TEXT), (&id as _, Type::INT8)];
                let rows = alone(&link, &begin, sql, &values).await?;
                let unaware = rows.iter().map(|row| {
                    let (name, silent) = other(row)?;
                    Ok((Absent { name, silent }, silent < LEASE))
                });
                unaware.collect()
            }
        })
    }
}

impl Replica for PostgresReplica {
    fn poll(&self, most: Duration) -> Result<News, StoreError> {
        let mut all = self.inner.poll_all(most)?;
        let news = all.by_owner.remove(&self.owner).unwrap_or_default();
        Ok(News { is_incomplete: all.is_incomplete, ..news })
    }

    fn beat(&self) -> Result<(), StoreError> {
        self.inner.beat_now()
    }

    fn await_others(&self, conversation: &str) -> Result<Vec<Absent>, StoreError> {
        self.inner.await_others(self.owner, conversation)
    }

    fn presence(&self) -> Presence {
        self.inner.presence()
    }

    fn is_outdated(&self) -> bool {
        self.inner.is_outdated()
    }

    fn leave(&self) -> bool {
        self.inner.leave()
    }
}

/// The changes of all owners since the last beat.
pub(super) struct AllNews {
    pub by_owner: HashMap<i32, News>,
    /// Announcements may be missing.
    pub is_incomplete: bool,
}

impl Inner {
    pub(super) fn poll_all(self: &Arc<Self>, most: Duration) -> Result<AllNews, StoreError> {
        let is_registered = !lock(&self.sight).seen.is_empty();
        let registered = match is_registered {
            true => Ok(()),
            // It serves already, with what it knew before: until its first beat, no edit counts as seen here.
            false => schema::prepare(&self.pool).and_then(|()| self.register("'1:1:'")),
        };
        let all = most + self.pool.limits.connect + self.pool.limits.call.min(LEASE);
        let inner = self.clone();
        let news = registered.and_then(|()| self.pool.call(all, async move { inner.poll(most).await }));
        self.pool.note_reach(news.is_ok());
        news
    }

    pub(super) fn beat_now(self: &Arc<Self>) -> Result<(), StoreError> {
        let inner = self.clone();
        let most = self.pool.limits.connect + self.pool.limits.call.min(LEASE);
        let beaten = self.pool.call(most, async move { inner.beat().await });
        self.pool.note_reach(beaten.is_ok());
        beaten
    }

    pub(super) fn await_others(&self, owner: i32, conversation: &str) -> Result<Vec<Absent>, StoreError> {
        let began = Instant::now();
        loop {
            let unaware = self.unaware(owner, conversation);
            let is_over = began.elapsed() > LEASE + GRACE;
            match unaware {
                Ok(unaware) if is_over || unaware.iter().all(|(_, is_running)| !is_running) => {
                    return Ok(unaware.into_iter().map(|(absent, _)| absent).collect());
                }
                Err(error) if is_over || !error.is_temporary() => return Err(error),
                _ => {}
            }
            // A pause of a quarter of the wait makes the wait at most a quarter longer.
            std::thread::sleep((began.elapsed() / 4).clamp(PAUSE.0, PAUSE.1));
        }
    }

    pub(super) fn presence(&self) -> Presence {
        let sight = lock(&self.sight);
        let silent = sight.beaten.age();
        let away = self.pool.away().or_else(|| (silent > LEASE).then_some(silent));
        Presence {
            name: self.name.clone(),
            away,
            lease_age: silent,
            is_outdated: silent > self.pool.limits.known,
            late_calls: self.pool.late_calls(),
            others: sight.others.clone(),
        }
    }

    pub(super) fn is_outdated(&self) -> bool {
        lock(&self.sight).beaten.age() > self.pool.limits.known
    }

    pub(super) fn leave(self: &Arc<Self>) -> bool {
        if self.has_left.swap(true, Ordering::Relaxed) {
            return false;
        }
        let inner = self.clone();
        let left = self.pool.call(GRACE, async move {
            let link = inner.connected().await?;
            link.client.execute_typed("DELETE FROM ctx.replicas WHERE id = $1", &[(&inner.id, Type::INT8)]).await?;
            Ok(())
        });
        left.inspect_err(|error| {
            tracing::debug!(%error, "could not take leave; other daemons wait once until the lease is over");
        })
        .is_ok()
    }

    pub(super) fn has_left(&self) -> bool {
        self.has_left.load(Ordering::Relaxed)
    }

    /// The connection that listens; a new one if it broke.
    async fn connected(&self) -> Result<Arc<Link>, StoreError> {
        let known = self.link.lock().await.take();
        if let Some(link) = known.filter(|link| !link.client.is_closed()) {
            return Ok(link);
        }
        let link = self.pool.listen(self.notified.clone()).await?;
        link.client.batch_execute("LISTEN ctx_edits").await?;
        // Announcements may have passed meanwhile.
        self.notified.notify_one();
        Ok(link)
    }

    async fn poll(&self, most: Duration) -> Result<AllNews, StoreError> {
        let link = self.connected().await?;
        let _ = timeout(most, self.notified.notified()).await;
        let (since, before, knows_nothing) = {
            let sight = lock(&self.sight);
            let is_too_old = sight.beaten.age() > LONG_AWAY.min(self.pool.limits.known);
            (sight.seen.clone(), sight.polled.clone(), sight.knows_nothing || is_too_old)
        };
        let edits = "SELECT DISTINCT owner, conversation FROM ctx.edits WHERE replica <> $2 \
                     AND txid >= pg_snapshot_xmin($1::text::pg_snapshot) \
                     AND NOT pg_visible_in_snapshot(txid, $1::text::pg_snapshot)";
        // Complete, but not beyond the oldest running transaction.
        let grown = "SELECT r.owner, c.name, max(r.seq) \
                     FROM ctx.records r JOIN ctx.conversations c ON c.id = r.conversation \
                     WHERE r.txid >= pg_snapshot_xmin($1::text::pg_snapshot) \
                     AND r.txid < pg_snapshot_xmin(pg_current_snapshot()) GROUP BY r.owner, c.name";
        let others = "SELECT name, extract(epoch FROM clock_timestamp() - beat)::float8 FROM ctx.replicas \
                      WHERE id <> $1 ORDER BY name";
        let own = "SELECT pg_current_snapshot()::text, (SELECT seen::text FROM ctx.replicas WHERE id = $1)";
        let (seen, id) = ((&since as _, Type::TEXT), (&self.id as _, Type::INT8));
        let (edit_values, grown_values, id) = ([seen.clone(), id.clone()], [seen], [id]);
        let begin = Pool::begin_reading(self.pool.limits.call.min(LEASE));
        let client = &link.client;
        let (begun, edits, grown, others, snapshot, ended) = tokio::join!(
            client.batch_execute(&begin),
            client.query_typed(edits, &edit_values),
            client.query_typed(grown, &grown_values),
            client.query_typed(others, &id),
            client.query_typed_one(own, &id),
            client.batch_execute("COMMIT"),
        );
        // The first error is the cause of the others.
        begun?;
        let mut by_owner: HashMap<i32, News> = HashMap::new();
        for row in edits? {
            by_owner.entry(row.try_get(0)?).or_default().edited.push(text::decode(row.try_get(1)?));
        }
        for row in grown? {
            let grown = (text::decode(row.try_get(1)?), row.try_get::<_, i64>(2)?.cast_unsigned());
            by_owner.entry(row.try_get(0)?).or_default().grown.push(grown);
        }
        let others = others?.iter().map(other).collect::<Result<Vec<_>, _>>()?;
        let own = snapshot?;
        let (snapshot, stored): (String, Option<String>) = (own.try_get(0)?, own.try_get(1)?);
        ended?;
        // A server that lost our beat in a crash gives transaction numbers again that it gave before.
        let is_known = stored.is_some_and(|stored| stored == since || stored == before);
        let is_incomplete = knows_nothing || !is_known;
        *self.link.lock().await = Some(link);
        let mut sight = lock(&self.sight);
        (sight.polled, sight.others) = (snapshot, others);
        Ok(AllNews { by_owner, is_incomplete })
    }

    async fn beat(&self) -> Result<(), StoreError> {
        if self.has_left.load(Ordering::Relaxed) {
            return Ok(());
        }
        // A connection since the poll may be to a server that has crashed meanwhile.
        let link = self.link.lock().await.take().filter(|link| !link.client.is_closed());
        let link = link.ok_or(StoreError::Unavailable { why: "the connection was closed", source: None })?;
        let (polled, tidies) = {
            let sight = lock(&self.sight);
            (sight.polled.clone(), sight.tidied_at.elapsed() > TIDY)
        };
        let begin =
            format!("{}; SET LOCAL synchronous_commit = off", Pool::begin_writing(self.pool.limits.call.min(LEASE)));
        // A daemon of the same name whose lease is over was this one, before a restart.
        let sql = "WITH before AS (DELETE FROM ctx.replicas WHERE name = $2 AND id <> $1 \
                       AND beat < clock_timestamp() - interval '2 seconds') \
                   INSERT INTO ctx.replicas (id, name, beat, seen) \
                   VALUES ($1, $2, clock_timestamp(), $3::text::pg_snapshot) \
                   ON CONFLICT (id) DO UPDATE SET beat = excluded.beat, seen = excluded.seen";
        let name = text::encode(&self.name);
        alone(&link, &begin, sql, &[(&self.id, Type::INT8), (&name, Type::TEXT), (&polled, Type::TEXT)]).await?;
        if tidies {
            let old = format!(
                "DELETE FROM ctx.edits WHERE at < now() - interval '1 hour'; \
                 DELETE FROM ctx.replicas WHERE beat < now() - interval '{} seconds'",
                NAMED_FOR.as_secs()
            );
            link.client.batch_execute(&old).await?;
        }
        *self.link.lock().await = Some(link);
        let mut sight = lock(&self.sight);
        (sight.seen, sight.beaten, sight.knows_nothing) = (polled, Beat::now(), false);
        if tidies {
            sight.tidied_at = Instant::now();
        }
        Ok(())
    }
}

/// The name of a daemon, and the time since its beat.
fn other(row: &Row) -> Result<(String, Duration), StoreError> {
    let silent: f64 = row.try_get(1)?;
    Ok((text::decode(row.try_get(0)?), Duration::try_from_secs_f64(silent).unwrap_or_default()))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beat_ages_while_the_machine_sleeps_and_a_clock_set_back_makes_it_no_younger() {
        let day = Duration::from_secs(86_400);
        let before_sleep = Beat { running: Instant::now(), clock: SystemTime::now() - day };
        assert!(before_sleep.age() >= day);
        let ahead = Beat { running: Instant::now() - LEASE, clock: SystemTime::now() + day };
        assert!(ahead.age() >= LEASE && ahead.age() < day);
    }
}
