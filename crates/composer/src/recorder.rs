//! Takes passive copies of what passes through the proxy and looks at them on a thread of its own.
//!
//! The halves of an exchange are handed to the proxy. Their calls only count references and send:
//! they never parse, never lock, never wait. When the thread cannot keep up, copies are dropped and
//! counted; the bytes themselves have long left.

use crate::observe::{Seen, Ticket};
use crate::{Composer, Timing, now};
use bytes::Bytes;
use ctx_wire::anthropic::identify::Hints;
use ctx_wire::anthropic::tap::{Ending, Tap};
use ctx_wire::encoding::{self, Encoding};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

/// The most bytes that wait to be looked at.
const QUEUE: u64 = 256 * 1024 * 1024;

enum Event {
    Request { exchange: u64, hints: Box<Hints>, encoding: Option<Box<str>>, chunks: Vec<Bytes>, at: u64 },
    Head { exchange: u64, status: u16, content_type: Option<Box<str>>, encoding: Option<Box<str>>, after: Duration },
    Chunk { exchange: u64, chunk: Bytes },
    End { exchange: u64, ending: Option<Ending>, after: Duration },
    Settle(SyncSender<()>),
}

#[derive(Debug, Default)]
struct Gauges {
    queued: AtomicU64,
    queued_bytes: AtomicU64,
    dropped: AtomicU64,
    unreadable: AtomicU64,
    exchanges: AtomicU64,
}

/// How busy the recorder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Load {
    pub queued: u64,
    pub queued_bytes: u64,
    /// Copies that were not looked at for want of room.
    pub dropped: u64,
    /// Requests that could not be read; they were forwarded.
    pub unreadable: u64,
}

#[derive(Clone)]
pub struct Recorder {
    events: Sender<Event>,
    gauges: Arc<Gauges>,
    composer: Arc<Composer>,
}

impl Recorder {
    pub fn start(composer: Arc<Composer>) -> std::io::Result<Recorder> {
        let (events, queue) = channel();
        let gauges = Arc::new(Gauges::default());
        let work = Work { composer: composer.clone(), gauges: gauges.clone(), open: HashMap::new() };
        std::thread::Builder::new().name("ctx-recorder".into()).spawn(move || work.run(&queue))?;
        Ok(Recorder { events, gauges, composer })
    }

    /// The two halves of a new exchange.
    pub fn exchange(&self, hints: Hints, encoding: Option<&str>) -> (RequestCopy, ResponseCopy) {
        let exchange = self.gauges.exchanges.fetch_add(1, Ordering::Relaxed);
        let started = Instant::now();
        let request = RequestCopy {
            recorder: self.clone(),
            exchange,
            hints: Some(Box::new(hints)),
            encoding: encoding.map(Into::into),
            chunks: Vec::new(),
            at: now(),
        };
        let response = ResponseCopy { recorder: self.clone(), exchange, started, lost: false };
        (request, response)
    }

    /// Waits until all that has passed so far is known and stored, but no longer than `most`.
    pub fn settle(&self, most: Duration) {
        let deadline = Instant::now() + most;
        let (done, wait) = sync_channel(1);
        if self.events.send(Event::Settle(done)).is_ok() {
            let _ = wait.recv_timeout(most);
        }
        self.composer.settle(deadline.saturating_duration_since(Instant::now()));
    }

    pub fn load(&self) -> Load {
        let get = |gauge: &AtomicU64| gauge.load(Ordering::Relaxed);
        Load {
            queued: get(&self.gauges.queued),
            queued_bytes: get(&self.gauges.queued_bytes),
            dropped: get(&self.gauges.dropped),
            unreadable: get(&self.gauges.unreadable),
        }
    }

    fn send(&self, event: Event, bytes: u64) -> bool {
        if bytes > 0 && self.gauges.queued_bytes.load(Ordering::Relaxed) + bytes > QUEUE {
            self.gauges.dropped.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        self.gauges.queued.fetch_add(1, Ordering::Relaxed);
        self.gauges.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.events.send(event).is_ok()
    }
}

/// Collects a request while it passes.
pub struct RequestCopy {
    recorder: Recorder,
    exchange: u64,
    hints: Option<Box<Hints>>,
    encoding: Option<Box<str>>,
    chunks: Vec<Bytes>,
    at: u64,
}

impl RequestCopy {
    pub fn chunk(&mut self, chunk: &Bytes) {
        self.chunks.push(chunk.clone());
    }

    /// The last byte has passed, or none will any more.
    pub fn end(&mut self, complete: bool) {
        let chunks = std::mem::take(&mut self.chunks);
        if let (true, Some(hints)) = (complete, self.hints.take()) {
            let bytes = chunks.iter().map(|chunk| chunk.len() as u64).sum();
            let event =
                Event::Request { exchange: self.exchange, hints, encoding: self.encoding.take(), chunks, at: self.at };
            self.recorder.send(event, bytes);
        }
    }
}

/// Sees a response pass.
pub struct ResponseCopy {
    recorder: Recorder,
    exchange: u64,
    started: Instant,
    lost: bool,
}

impl ResponseCopy {
    pub fn head(&mut self, status: u16, content_type: Option<&str>, encoding: Option<&str>) {
        let event = Event::Head {
            exchange: self.exchange,
            status,
            content_type: content_type.map(Into::into),
            encoding: encoding.map(Into::into),
            after: self.started.elapsed(),
        };
        self.recorder.send(event, 0);
    }

    pub fn chunk(&mut self, chunk: &Bytes) {
        if !self.lost {
            // With a piece missing the rest makes no sense.
            self.lost =
                !self.recorder.send(Event::Chunk { exchange: self.exchange, chunk: chunk.clone() }, chunk.len() as u64);
        }
    }

    /// `None`: there was no answer.
    pub fn end(&mut self, ending: Option<Ending>) {
        self.recorder.send(Event::End { exchange: self.exchange, ending, after: self.started.elapsed() }, 0);
    }
}

/// An exchange whose answer is still to come, or coming.
#[derive(Default)]
struct Open {
    ticket: Option<Ticket>,
    tap: Option<Box<Tap>>,
    first_byte: Option<Duration>,
}

struct Work {
    composer: Arc<Composer>,
    gauges: Arc<Gauges>,
    open: HashMap<u64, Open>,
}

impl Work {
    fn run(mut self, queue: &Receiver<Event>) {
        while let Ok(event) = queue.recv() {
            if let Event::Settle(done) = event {
                let _ = done.try_send(());
                continue;
            }
            let bytes = event.bytes();
            self.take(event);
            self.gauges.queued.fetch_sub(1, Ordering::Relaxed);
            self.gauges.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Request { exchange, hints, encoding, chunks, at } => {
                let ticket = decoded(encoding.as_deref(), chunks)
                    .and_then(|chunks| self.composer.observe(Seen { hints: *hints, chunks, at }));
                match ticket {
                    Ok(Some(ticket)) => self.open.entry(exchange).or_default().ticket = Some(ticket),
                    Ok(None) => {}
                    Err(problem) => {
                        self.gauges.unreadable.fetch_add(1, Ordering::Relaxed);
                        tracing::debug!(%problem, "a request was forwarded but not understood");
                    }
                }
            }
            Event::Head { exchange, status, content_type, encoding, after } => {
                let open = self.open.entry(exchange).or_default();
                open.tap = Some(Box::new(Tap::new(status, content_type.as_deref(), encoding.as_deref())));
                open.first_byte = Some(after);
            }
            Event::Chunk { exchange, chunk } => {
                if let Some(tap) = self.open.get_mut(&exchange).and_then(|open| open.tap.as_mut()) {
                    tap.feed(&chunk);
                }
            }
            Event::End { exchange, ending, after } => self.end(exchange, ending, after),
            Event::Settle(_) => {}
        }
    }

    fn end(&mut self, exchange: u64, ending: Option<Ending>, after: Duration) {
        let Some(Open { ticket: Some(ticket), tap, first_byte }) = self.open.remove(&exchange) else { return };
        let answer = ending.and_then(|ending| tap.map(|tap| tap.finish(ending)));
        let timing = Timing {
            at: now(),
            first_byte_ms: first_byte.map(|after| after.as_millis() as u64),
            total_ms: after.as_millis() as u64,
        };
        if let Err(problem) = self.composer.answered(&ticket, ending, answer, timing) {
            tracing::warn!(%problem, "an answer could not be noted");
        }
    }
}

impl Event {
    fn bytes(&self) -> u64 {
        match self {
            Event::Request { chunks, .. } => chunks.iter().map(|chunk| chunk.len() as u64).sum(),
            Event::Chunk { chunk, .. } => chunk.len() as u64,
            _ => 0,
        }
    }
}

fn decoded(encoding: Option<&str>, chunks: Vec<Bytes>) -> Result<Vec<Bytes>, crate::Problem> {
    let encodings = Encoding::parse(encoding.unwrap_or_default())?;
    if encodings.is_empty() {
        return Ok(chunks);
    }
    let whole = ctx_wire::anthropic::request::concat(&chunks);
    Ok(vec![Bytes::from(encoding::decode_all(&encodings, &whole, encoding::DECODED_LIMIT)?)])
}
