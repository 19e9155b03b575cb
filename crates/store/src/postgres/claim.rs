//! The claim of one daemon to the conversations of an owner: two daemons would not see each other's edits.
//!
//! A connection of its own holds an advisory lock in a transaction that stays open, so the claim ends with the daemon,
//! and a pooler lends the connection to nobody else. If the connection breaks, the lock is taken again; if another
//! daemon has it by then, nothing more is stored here.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::PostgresStore;
use super::pool::{Link, Pool};
use super::schema::LOCK;
use crate::StoreError;

/// The time that a daemon which is just ending has to let go.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(200);

impl PostgresStore {
    /// Claims the conversations of this owner until the last clone of the store is dropped. Refused while another daemon
    /// has them.
    pub fn claim(&self) -> Result<(), StoreError> {
        let (pool, owner) = (self.pool.clone(), self.owner);
        self.pool.call(PATIENCE + self.pool.limits.call, async move {
            let end = Instant::now() + PATIENCE;
            let link = loop {
                match take(&pool, owner).await? {
                    Some(link) => break link,
                    None if Instant::now() > end => return Err(pool.in_use()),
                    None => tokio::time::sleep(PAUSE).await,
                }
            };
            tokio::spawn(hold(Arc::downgrade(&pool), owner, link));
            Ok(())
        })
    }
}

/// A connection with the lock; `None` if another daemon has it.
async fn take(pool: &Pool, owner: i32) -> Result<Option<Arc<Link>>, StoreError> {
    let link = pool.connect().await?;
    link.client.batch_execute("BEGIN READ ONLY; SET LOCAL idle_in_transaction_session_timeout = 0").await?;
    let sql = format!("SELECT pg_try_advisory_xact_lock({}, {owner})", LOCK + 1);
    let is_ours: bool = link.client.query_typed_one(&sql, &[]).await?.try_get(0)?;
    Ok(is_ours.then_some(link))
}

/// Takes the lock again whenever its connection breaks.
async fn hold(pool: Weak<Pool>, owner: i32, mut link: Arc<Link>) {
    loop {
        tokio::time::sleep(PAUSE).await;
        let Some(pool) = pool.upgrade() else { return };
        if !link.client.is_closed() {
            continue;
        }
        match take(&pool, owner).await {
            Ok(Some(again)) => {
                link = again;
                pool.is_taken.store(false, Ordering::Relaxed);
            }
            Ok(None) => pool.is_taken.store(true, Ordering::Relaxed),
            // The database is out of reach; nothing can be stored anyway.
            Err(_) => {}
        }
    }
}

impl Pool {
    /// Another daemon uses the same conversations.
    pub fn in_use(&self) -> StoreError {
        StoreError::InUse { folder: PathBuf::from(self.address().to_string()), holder: None }
    }
}
