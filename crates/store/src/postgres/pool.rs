//! The connections to the database, and the bridge from the store's synchronous calls to them.
//!
//! A pool has a thread of its own. A call runs there as a task and ends by its deadline, whatever the network does. At
//! most [`READERS`] connections read, one writes, and one listens for the edits of other daemons. A pool crate would bring
//! the same in more words: ours never checks a connection before use, because every call may be repeated on a new one,
//! or finds out what became of it.

use std::future::poll_fn;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{Notify, OnceCell, Semaphore};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_postgres::config::SslMode;
use tokio_postgres::{AsyncMessage, Client, Connection, NoTls};

use super::PostgresAddress;
use super::append::Writing;
use super::tls::Tls;
use super::wall;
use crate::{KNOWN_FOR, StoreError};

/// The number of connections that read. One more writes, and one listens.
pub const READERS: usize = 4;

/// The time for a read while the database is known to be away: a held request waits for it.
const AWAY: Duration = Duration::from_millis(300);

/// A reader may not rest longer than this between two statements: old rows are kept for its snapshot.
const IDLE: Duration = Duration::from_secs(10);

/// The thread answers within this time after a deadline.
const GRACE: Duration = Duration::from_millis(500);

/// How long calls may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// For a new connection.
    pub connect: Duration,
    /// For a call.
    pub call: Duration,
    /// How long a daemon without a beat serves what it knows.
    pub known: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connect: Duration::from_secs(2), call: Duration::from_secs(5), known: KNOWN_FOR }
    }
}

/// One connection. Closed at once when dropped, even if the server does not answer.
pub struct Link {
    pub client: Client,
    task: AbortHandle,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub struct Pool {
    address: PostgresAddress,
    tls: Option<Tls>,
    pub limits: Limits,
    readers: Semaphore,
    idle: Mutex<Vec<Arc<Link>>>,
    pub writing: tokio::sync::Mutex<Writing>,
    /// The number of this daemon among those that share the database; 0 if it has none.
    replica: AtomicI64,
    away_since: Mutex<Option<Instant>>,
    /// The role that reads; `None` if there is none. Sought with the first read.
    reader: OnceCell<Option<String>>,
    late_calls: AtomicU64,
    handle: Handle,
    runtime: Option<Runtime>,
}

impl Drop for Pool {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // The last task may be the one that drops the pool.
            runtime.shutdown_background();
        }
    }
}

impl Pool {
    /// Connects to nothing yet.
    pub fn new(address: PostgresAddress, limits: Limits) -> Result<Self, StoreError> {
        let tls = match address.config.get_ssl_mode() {
            SslMode::Disable => None,
            _ => Some(Tls::of(&address)?),
        };
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("ctx-postgres").enable_all().build();
        let runtime = runtime.map_err(|error| StoreError::Database(error.into()))?;
        Ok(Self {
            address,
            tls,
            limits,
            readers: Semaphore::new(READERS),
            idle: Mutex::default(),
            writing: tokio::sync::Mutex::default(),
            replica: AtomicI64::new(0),
            away_since: Mutex::default(),
            reader: OnceCell::new(),
            late_calls: AtomicU64::new(0),
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
        })
    }

    pub fn address(&self) -> &PostgresAddress {
        &self.address
    }

    pub fn replica(&self) -> i64 {
        self.replica.load(Ordering::Relaxed)
    }

    pub fn set_replica(&self, id: i64) {
        self.replica.store(id, Ordering::Relaxed);
    }

    /// Records whether the database answered.
    pub fn note_reach(&self, is_in_reach: bool) {
        let mut away = lock(&self.away_since);
        *away = if is_in_reach { None } else { Some(away.unwrap_or_else(Instant::now)) };
    }

    /// For how long the database has been out of reach.
    pub fn away(&self) -> Option<Duration> {
        lock(&self.away_since).map(|since| since.elapsed())
    }

    /// The calls that did not end in time.
    pub fn late_calls(&self) -> u64 {
        self.late_calls.load(Ordering::Relaxed)
    }

    /// The time for a read.
    pub fn patience(&self) -> Duration {
        if self.away().is_some() { self.limits.call.min(AWAY) } else { self.limits.call }
    }

    /// Runs a task on the pool's thread and waits for it, at most for `most`.
    pub fn call<T: Send + 'static>(
        &self,
        most: Duration,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (send, receive) = sync_channel(1);
        self.handle.spawn(async move {
            let _ = send.send(timeout(most, work).await.ok());
        });
        receive.recv_timeout(most + GRACE).ok().flatten().unwrap_or_else(|| {
            self.late_calls.fetch_add(1, Ordering::Relaxed);
            Err(late())
        })
    }

    /// Runs work that may be repeated, on a connection of its own. If a resting connection turns out to be dead, the
    /// work is repeated on another.
    pub fn run<T, F>(
        self: &Arc<Self>,
        most: Duration,
        work: impl Fn(Arc<Link>) -> F + Send + Sync + 'static,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        let pool = self.clone();
        self.call(most, async move {
            let _place = pool.readers.acquire().await.map_err(|_| late())?;
            loop {
                let idle = lock(&pool.idle).pop();
                let is_new = idle.is_none();
                let link = match idle {
                    Some(link) => link,
                    None => pool.connect().await?,
                };
                match work(link.clone()).await {
                    Ok(outcome) => {
                        lock(&pool.idle).push(link);
                        return Ok(outcome);
                    }
                    Err(StoreError::Unavailable { .. }) if !is_new => {}
                    Err(error) => return Err(error),
                }
            }
        })
    }

    /// A new connection.
    pub async fn connect(&self) -> Result<Arc<Link>, StoreError> {
        self.listen(Arc::default()).await
    }

    /// A new connection that passes on notifications, and its end.
    pub async fn listen(&self, notified: Arc<Notify>) -> Result<Arc<Link>, StoreError> {
        let mut config = self.address.config.clone();
        config.connect_timeout(self.limits.connect).tcp_user_timeout(self.limits.call);
        let link = timeout(self.limits.connect, async {
            Ok(match &self.tls {
                Some(tls) => {
                    let (client, connection) = config.connect(tls.clone()).await?;
                    Link { client, task: tokio::spawn(drive(connection, notified)).abort_handle() }
                }
                None => {
                    let (client, connection) = config.connect(NoTls).await?;
                    Link { client, task: tokio::spawn(drive(connection, notified)).abort_handle() }
                }
            })
        });
        let link: Result<Link, tokio_postgres::Error> = link.await.map_err(|_| late())?;
        Ok(Arc::new(link?))
    }

    /// The beginning of a transaction that reads one snapshot.
    pub fn begin_reading(most: Duration) -> String {
        format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {}", Self::bounds(most, most.min(IDLE)))
    }

    /// The same for one owner, behind the second wall where there is one.
    pub async fn begin_reading_of(&self, owner: i32, link: &Link, most: Duration) -> Result<String, StoreError> {
        let begin = Self::begin_reading(most);
        let reader = self.reader.get_or_try_init(|| wall::find(link)).await?;
        Ok(match reader {
            Some(role) => format!("{begin}; {}", wall::behind(role, owner)),
            None => begin,
        })
    }

    /// Whether reads are behind the second wall. Known after the first of them.
    pub fn has_reader(&self) -> bool {
        self.reader.get().is_some_and(Option::is_some)
    }

    /// Makes reads those of a program that does not know the wall.
    #[cfg(test)]
    pub fn forget_reader(&self) {
        drop(self.reader.set(None));
    }

    /// The beginning of a transaction that writes.
    pub fn begin_writing(most: Duration) -> String {
        format!("BEGIN; {}", Self::bounds(most, most))
    }

    /// The server gives up too. Set within the transaction only: a pooler lends the connection to others afterwards.
    fn bounds(most: Duration, idle: Duration) -> String {
        let (most, idle) = (most.as_millis().max(1), idle.as_millis().max(1));
        format!("SET LOCAL statement_timeout = {most}; SET LOCAL idle_in_transaction_session_timeout = {idle}")
    }
}

/// Passes the bytes of a connection until it ends.
async fn drive<S, T>(mut connection: Connection<S, T>, notified: Arc<Notify>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if matches!(message, AsyncMessage::Notification(_)) {
            notified.notify_one();
        }
    }
    notified.notify_one();
}

fn late() -> StoreError {
    StoreError::Unavailable { why: "it did not answer in time", source: None }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Errors of the server tell by their code whether a later call may succeed; all others are of the connection.
impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        let away = |why, error: tokio_postgres::Error| Self::Unavailable { why, source: Some(error.into()) };
        let Some(told) = error.as_db_error() else {
            return match error.is_closed() {
                true => away("the connection was closed", error),
                false => away("the connection failed", error),
            };
        };
        let code = told.code().code().to_owned();
        match code.as_str() {
            "53100" => Self::Full(error.into()),
            "XX001" | "XX002" => Self::Damaged(error.into()),
            "40001" | "40P01" => away("another transaction was in the way", error),
            "57014" | "55P03" | "25P03" => away("it did not answer in time", error),
            "25006" => away("it takes no writes at the moment", error),
            code if code.starts_with("08") || code.starts_with("53") || code.starts_with("57P") => {
                away("it is not ready", error)
            }
            _ => Self::Database(error.into()),
        }
    }
}
