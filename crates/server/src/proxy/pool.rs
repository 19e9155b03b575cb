//! The pool of upstream connections. HTTP/1.1 connections are lent to one exchange at a time and *driven by it*: the
//! task that serves the client also moves the bytes of its upstream connection, so no byte waits for another task.
//! HTTP/2 connections are shared and drive themselves.
//!
//! Each worker thread has its own pool: connections never change threads.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime};

use hyper::client::conn::{http1, http2};
use hyper_util::rt::TokioIo;

use super::body::RequestBody;
use super::wire::Wire;

/// Upstreams allow at least this many streams per connection; above that, another connection is opened instead of
/// delaying a request.
const STREAMS_PER_CONNECTION: usize = 100;

/// An HTTP/1.1 connection with the state machine that drives it. Boxed, because it is large and moves with every
/// exchange.
pub(super) struct Line(Box<DrivenConnection>);

struct DrivenConnection {
    sender: http1::SendRequest<RequestBody>,
    driver: http1::Connection<TokioIo<Wire>, RequestBody>,
    is_over: bool,
}

impl Line {
    pub(super) fn new(
        sender: http1::SendRequest<RequestBody>,
        driver: http1::Connection<TokioIo<Wire>, RequestBody>,
    ) -> Self {
        Self(Box::new(DrivenConnection { sender, driver, is_over: false }))
    }

    pub(super) fn sender(&mut self) -> &mut http1::SendRequest<RequestBody> {
        &mut self.0.sender
    }

    /// Moves data on the socket in both directions.
    pub(super) fn drive(&mut self, context: &mut Context<'_>) {
        let DrivenConnection { driver, is_over, .. } = &mut *self.0;
        if !*is_over && Pin::new(driver).poll(context).is_ready() {
            *is_over = true;
        }
    }

    /// Idle and still connected: ready for the next request.
    pub(super) fn is_free(&self) -> bool {
        !self.0.is_over && self.0.sender.is_ready()
    }

    /// Lets the connection drive itself, for the rare exchange with both directions open.
    pub(super) fn let_go(self) -> http1::SendRequest<RequestBody> {
        let DrivenConnection { sender, driver, is_over } = *self.0;
        if !is_over {
            tokio::spawn(async move {
                if let Err(error) = driver.await {
                    tracing::debug!(%error, "an upstream connection ended");
                }
            });
        }
        sender
    }
}

/// A stream on an HTTP/2 connection. Dropping it releases its place.
pub(super) struct Seat {
    pub(super) sender: http2::SendRequest<RequestBody>,
    usage: Arc<Usage>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        *lock(&self.usage.rested) = Rest::begin();
        self.usage.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Usage {
    streams: AtomicUsize,
    rested: Mutex<Rest>,
}

struct PoolState {
    sender: http2::SendRequest<RequestBody>,
    usage: Arc<Usage>,
}

impl PoolState {
    /// A connection that has rested for too long is dead more often than not.
    fn seat(&self, limit: Duration) -> Option<Seat> {
        if !self.is_wanted(limit) || self.usage.streams.load(Ordering::Relaxed) >= STREAMS_PER_CONNECTION {
            return None;
        }
        self.usage.streams.fetch_add(1, Ordering::Relaxed);
        Some(Seat { sender: self.sender.clone(), usage: self.usage.clone() })
    }

    fn is_wanted(&self, limit: Duration) -> bool {
        let in_use = self.usage.streams.load(Ordering::Relaxed) > 0;
        !self.sender.is_closed() && (in_use || !lock(&self.usage.rested).is_longer_than(limit))
    }
}

/// A connection, or a place on one, that can take a request.
pub(super) enum Connection {
    Line(Line),
    Seat(Seat),
}

pub(super) struct Pool {
    limit: Duration,
    resting: Mutex<IdleConnection>,
}

#[derive(Default)]
struct IdleConnection {
    lines: Vec<(Line, Rest)>,
    shared: Vec<PoolState>,
    is_swept: bool,
}

impl Pool {
    pub(super) fn new(limit: Duration) -> Arc<Self> {
        Arc::new(Self { limit, resting: Mutex::default() })
    }

    /// The connection with the shortest idle time is most likely alive.
    pub(super) async fn take(&self) -> Option<Connection> {
        loop {
            let (mut line, rest) = {
                let mut resting = lock(&self.resting);
                if let Some(seat) = resting.shared.iter().find_map(|shared| shared.seat(self.limit)) {
                    return Some(Connection::Seat(seat));
                }
                resting.lines.pop()?
            };
            // The upstream may have closed it in the meantime, which only a check reveals.
            poll_fn(|context| {
                line.drive(context);
                Poll::Ready(())
            })
            .await;
            if line.is_free() && !rest.is_longer_than(self.limit) {
                return Some(Connection::Line(line));
            }
        }
    }

    pub(super) fn rest(self: &Arc<Self>, line: Line) {
        let mut resting = lock(&self.resting);
        resting.lines.push((line, Rest::begin()));
        self.sweep_soon(&mut resting);
    }

    /// Shares a new HTTP/2 connection and takes the first place on it.
    pub(super) fn share(self: &Arc<Self>, sender: http2::SendRequest<RequestBody>) -> Seat {
        let usage = Arc::new(Usage { streams: AtomicUsize::new(1), rested: Mutex::new(Rest::begin()) });
        let mut resting = lock(&self.resting);
        resting.shared.push(PoolState { sender: sender.clone(), usage: usage.clone() });
        self.sweep_soon(&mut resting);
        Seat { sender, usage }
    }

    /// At most one sweeper, and none while nothing is idle: an idle daemon does not wake up.
    fn sweep_soon(self: &Arc<Self>, resting: &mut IdleConnection) {
        if !std::mem::replace(&mut resting.is_swept, true) {
            tokio::spawn(sweep(Arc::downgrade(self), self.limit));
        }
    }
}

async fn sweep(pool: Weak<Pool>, limit: Duration) {
    loop {
        tokio::time::sleep(limit / 2).await;
        let Some(pool) = pool.upgrade() else { return };
        let mut resting = lock(&pool.resting);
        resting.lines.retain(|(_, rest)| !rest.is_longer_than(limit));
        resting.shared.retain(|shared| shared.is_wanted(limit));
        if resting.lines.is_empty() && resting.shared.is_empty() {
            resting.is_swept = false;
            return;
        }
    }
}

/// The start of the idle time, by two clocks: the steady one stops while the machine sleeps, and after a wake-up,
/// connections that look young are dead.
struct Rest {
    steady: Instant,
    wall: SystemTime,
}

impl Rest {
    fn begin() -> Self {
        Self { steady: Instant::now(), wall: SystemTime::now() }
    }

    fn is_longer_than(&self, limit: Duration) -> bool {
        self.steady.elapsed() > limit || self.wall.elapsed().is_ok_and(|rest| rest > limit)
    }
}

/// Code under these locks cannot panic halfway, so a poisoned lock is still valid.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper_util::rt::TokioExecutor;

    #[test]
    fn a_machine_that_slept_has_rested_by_the_clock_on_the_wall() {
        let limit = Duration::from_secs(60);
        let slept = Rest { wall: SystemTime::now() - 2 * limit, ..Rest::begin() };
        assert!(slept.is_longer_than(limit) && !Rest::begin().is_longer_than(limit));
    }

    #[tokio::test]
    async fn a_shared_connection_that_rested_for_too_long_takes_no_request() {
        let (ours, theirs) = tokio::io::duplex(4096);
        tokio::spawn(hyper::server::conn::http2::Builder::new(TokioExecutor::new()).serve_connection(
            TokioIo::new(theirs),
            hyper::service::service_fn(|_| async { Ok::<_, hyper::Error>(http::Response::new(String::new())) }),
        ));
        let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(ours)).await;
        let (sender, driver) = handshake.expect("a connection");
        tokio::spawn(driver);
        let limit = Duration::from_secs(60);
        let usage = |wall| Usage { streams: AtomicUsize::new(0), rested: Mutex::new(Rest { wall, ..Rest::begin() }) };
        let shared = |wall| PoolState { sender: sender.clone(), usage: Arc::new(usage(wall)) };
        assert!(shared(SystemTime::now()).seat(limit).is_some());
        assert!(shared(SystemTime::now() - 2 * limit).seat(limit).is_none(), "the machine slept");
    }
}
