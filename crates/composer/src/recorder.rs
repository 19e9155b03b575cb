//! Takes passive copies of what passes through the proxy and looks at them on a thread of its own.
//!
//! The halves of an exchange are handed to the proxy. Their calls only compare, copy what is new and send:
//! they never parse and never wait. Nothing of the proxy's own buffers is kept, so it can use them again
//! at once. When the thread cannot keep up, copies are dropped and counted; the bytes themselves have
//! long left.

use crate::edit::Outgoing;
use crate::gap::Hurry;
use crate::observe::{Seen, Ticket};
use crate::provider::Refused;
use crate::streams::{PAUSE, Telling};
use crate::{Composer, Timing, now};
use ctx_wire::anthropic::identify::Hints;
use ctx_wire::anthropic::tap::{Ending, Tap};
use ctx_wire::encoding::{self, Encoding};
use ctx_wire::pieces::{Arriving, Pieces, concat};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

/// The most bytes that wait to be looked at.
const QUEUE: u64 = 256 * 1024 * 1024;

/// With so many bytes waiting, no gap is waited for.
const CROWDED: u64 = 64 * 1024 * 1024;

/// After so long without any event the recorder rests.
const REST: Duration = Duration::from_secs(60);

enum Event {
    Request {
        exchange: u64,
        hints: Box<Hints>,
        encoding: Option<Box<str>>,
        body: Pieces,
        /// The room that its copies take.
        room: u64,
        at: u64,
        /// It only asks how many tokens it would be.
        counting: bool,
        /// It is held, and somebody waits to know how it should leave.
        reply: Option<Reply>,
    },
    /// The provider refused the thinking in a composed request.
    Unbound {
        exchange: u64,
    },
    /// The provider did not take what was asked beside the client.
    Refused {
        exchange: u64,
        refused: Box<Refused>,
    },
    /// The client asked which models there are: the answer.
    Models {
        encoding: Option<Box<str>>,
        bytes: Vec<u8>,
    },
    /// The request will not be looked at.
    NoRequest {
        exchange: u64,
    },
    Head {
        exchange: u64,
        status: u16,
        content_type: Option<Box<str>>,
        encoding: Option<Box<str>>,
        after: Duration,
    },
    Part {
        exchange: u64,
        bytes: Vec<u8>,
    },
    End {
        exchange: u64,
        ending: Option<Ending>,
        after: Duration,
        /// A piece of the answer was dropped.
        lost: bool,
    },
    Settle(SyncSender<()>),
}

/// A held request, ready to leave.
#[derive(Debug)]
pub struct Composition {
    /// How it should leave; `None`: as it came.
    pub outgoing: Option<Outgoing>,
    /// What the parts of it are parts of: what came, its encoding undone.
    pub source: Pieces,
}

/// Takes a composition; nothing when composing failed, and then the request must not leave.
pub type Reply = Box<dyn FnOnce(Option<Composition>) + Send>;

#[derive(Debug, Default)]
struct Gauges {
    queued: AtomicU64,
    queued_bytes: AtomicU64,
    dropped: AtomicU64,
    unreadable: AtomicU64,
    exchanges: AtomicU64,
}

/// How busy the recorder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
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
    events: Sender<(Instant, Event)>,
    gauges: Arc<Gauges>,
    composer: Arc<Composer>,
}

impl Recorder {
    pub fn start(composer: Arc<Composer>) -> std::io::Result<Recorder> {
        let (events, queue) = channel();
        let gauges = Arc::new(Gauges::default());
        let work = Work { composer: composer.clone(), gauges: gauges.clone(), open: HashMap::new() };
        composer.heed_alarm()?;
        std::thread::Builder::new().name("ctx-recorder".into()).spawn(move || {
            work.run(&queue);
        })?;
        Ok(Recorder { events, gauges, composer })
    }

    /// The two halves of a new exchange.
    pub fn exchange(&self, hints: Hints, encoding: Option<&str>, counting: bool) -> (RequestCopy, ResponseCopy) {
        let exchange = self.gauges.exchanges.fetch_add(1, Ordering::Relaxed);
        let started = Instant::now();
        // An encoded body has nothing in common with the one before.
        let before = if encoding.is_none() { self.composer.newest().get(&hints) } else { None };
        // The client will wait: what came before is looked at while the request arrives.
        let held = self.composer.holds(&hints).then(|| self.composer.gaps.hurry());
        let request = RequestCopy {
            recorder: self.clone(),
            exchange,
            held,
            counting,
            hints: Some(Box::new(hints)),
            encoding: encoding.map(Into::into),
            arriving: before.map_or_else(Arriving::alone, Arriving::after),
            room: 0,
            at: now(),
        };
        let response = ResponseCopy {
            recorder: self.clone(),
            exchange,
            started,
            head: None,
            handed: started,
            kept: Vec::new(),
            lost: false,
            ended: false,
        };
        (request, response)
    }

    /// What the provider said of its models, to a client that asked.
    pub fn models(&self, encoding: Option<&str>, bytes: Vec<u8>) {
        if self.gauges.make_room(bytes.len() as u64) {
            self.send(Event::Models { encoding: encoding.map(Into::into), bytes });
        }
    }

    /// Waits until all that has passed so far is known and stored, but no longer than `most`.
    pub fn settle(&self, most: Duration) {
        let deadline = Instant::now() + most;
        let (done, wait) = sync_channel(1);
        let _hurry = self.composer.gaps.hurry();
        if self.events.send((Instant::now(), Event::Settle(done))).is_ok() {
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

    /// Sends an event whose bytes have their room already.
    fn send(&self, event: Event) -> bool {
        let bytes = event.bytes();
        self.gauges.queued.fetch_add(1, Ordering::Relaxed);
        let sent = self.events.send((Instant::now(), event)).is_ok();
        if !sent {
            self.gauges.leave(bytes);
        }
        sent
    }
}

impl Gauges {
    /// Takes room for a copy; false when there is none. Copies of bodies that still arrive count too.
    fn make_room(&self, bytes: u64) -> bool {
        if self.queued_bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) > QUEUE {
            self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        true
    }

    fn give_back(&self, bytes: u64) {
        self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn leave(&self, bytes: u64) {
        self.queued.fetch_sub(1, Ordering::Relaxed);
        self.give_back(bytes);
    }
}

/// Collects a request while it passes: what the session has not sent before.
pub struct RequestCopy {
    recorder: Recorder,
    exchange: u64,
    /// Nothing is put off while a request is held.
    held: Option<Hurry>,
    counting: bool,
    hints: Option<Box<Hints>>,
    encoding: Option<Box<str>>,
    arriving: Arriving,
    /// Taken so far.
    room: u64,
    at: u64,
}

impl RequestCopy {
    /// Whether the request must be composed before it leaves.
    pub fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// The last byte has come: `reply` is told how the request should leave. Returns all that came.
    pub fn compose(&mut self, reply: Reply) -> Pieces {
        let body = std::mem::take(&mut self.arriving).finish();
        let Some(hints) = self.hints.take() else {
            reply(None);
            return body;
        };
        let (exchange, room, at, counting) = (self.exchange, self.room, self.at, self.counting);
        let encoding = self.encoding.take();
        if encoding.is_none() {
            self.recorder.composer.newest().passed(&hints, &body);
        }
        let came = body.clone();
        let hurry = self.held.take();
        let reply: Reply = Box::new(move |composition| {
            drop(hurry);
            reply(composition);
        });
        let reply = Some(reply);
        self.recorder.send(Event::Request { exchange, hints, encoding, body, room, at, counting, reply });
        came
    }

    pub fn chunk(&mut self, chunk: &[u8]) {
        if self.hints.is_none() {
            return;
        }
        self.recorder.composer.gaps.passing();
        let copied = self.arriving.push(chunk) as u64;
        // What is held has to be looked at, however much waits already.
        if self.held.is_some() {
            self.recorder.gauges.queued_bytes.fetch_add(copied, Ordering::Relaxed);
            self.room += copied;
        } else if self.recorder.gauges.make_room(copied) {
            self.room += copied;
        } else {
            self.end(false);
        }
    }

    /// The last byte has passed, or none will any more.
    pub fn end(&mut self, complete: bool) {
        let body = std::mem::take(&mut self.arriving).finish();
        let Some(hints) = self.hints.take() else { return };
        let (exchange, room, at) = (self.exchange, self.room, self.at);
        if complete {
            let (encoding, counting) = (self.encoding.take(), self.counting);
            if encoding.is_none() {
                self.recorder.composer.newest().passed(&hints, &body);
            }
            self.recorder.send(Event::Request { exchange, hints, encoding, body, room, at, counting, reply: None });
        } else {
            self.recorder.gauges.give_back(room);
            self.recorder.send(Event::NoRequest { exchange });
        }
    }
}

impl Drop for RequestCopy {
    fn drop(&mut self) {
        self.end(false);
    }
}

/// Collects a response while it passes. What came is handed over in large pieces and at the end: waking the
/// recorder for each event of a stream would cost more than the event.
pub struct ResponseCopy {
    recorder: Recorder,
    exchange: u64,
    started: Instant,
    head: Option<Event>,
    /// When something was handed over last.
    handed: Instant,
    kept: Vec<u8>,
    lost: bool,
    ended: bool,
}

/// As much of a response is kept before it is handed over.
const PART: usize = 32 * 1024;

impl ResponseCopy {
    /// The provider refused thinking in the request that it answers: from now on it is asked to drop such blocks.
    pub fn unbound(&self) {
        self.recorder.send(Event::Unbound { exchange: self.exchange });
    }

    /// The provider did not take what was asked beside the client; without it the request went through.
    pub fn refused(&self, refused: Refused) {
        self.recorder.send(Event::Refused { exchange: self.exchange, refused: Box::new(refused) });
    }

    pub fn head(&mut self, status: u16, content_type: Option<&str>, encoding: Option<&str>) {
        self.head = Some(Event::Head {
            exchange: self.exchange,
            status,
            content_type: content_type.map(Into::into),
            encoding: encoding.map(Into::into),
            after: self.started.elapsed(),
        });
    }

    pub fn chunk(&mut self, chunk: &[u8]) {
        self.recorder.composer.gaps.passing();
        // With a piece missing the rest makes no sense.
        self.lost = self.lost || !self.recorder.gauges.make_room(chunk.len() as u64);
        if self.lost {
            return;
        }
        self.kept.extend_from_slice(chunk);
        let watched = self.recorder.composer.streams.are_watched();
        if self.kept.len() >= PART || (watched && self.handed.elapsed() >= PAUSE) {
            self.handed = Instant::now();
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        if let Some(head) = self.head.take() {
            self.recorder.send(head);
        }
        if !self.kept.is_empty() {
            let bytes = std::mem::take(&mut self.kept);
            self.recorder.send(Event::Part { exchange: self.exchange, bytes });
        }
    }

    /// `None`: there was no answer.
    pub fn end(&mut self, ending: Option<Ending>) {
        if !std::mem::replace(&mut self.ended, true) {
            self.hand_over();
            let after = self.started.elapsed();
            self.recorder.send(Event::End { exchange: self.exchange, ending, after, lost: self.lost });
        }
    }
}

impl Drop for ResponseCopy {
    fn drop(&mut self) {
        self.end(Some(Ending::Cancelled));
    }
}

/// An exchange of which something is still to come. The halves come in any order: a provider may
/// answer before it has read the request.
#[derive(Default)]
struct Open {
    asked: Asked,
    tap: Option<Box<Tap>>,
    telling: Telling,
    first_byte: Option<Duration>,
    ended: Option<(Option<Ending>, Duration)>,
    /// A piece of the answer is missing.
    lost: bool,
}

#[derive(Default)]
enum Asked {
    #[default]
    Waiting,
    Nothing,
    Turn(Ticket),
}

struct Work {
    composer: Arc<Composer>,
    gauges: Arc<Gauges>,
    open: HashMap<u64, Open>,
}

impl Work {
    fn run(mut self, queue: &Receiver<(Instant, Event)>) {
        while let Some((since, event)) = self.next(queue) {
            self.composer.gaps.wait(since, || self.gauges.queued_bytes.load(Ordering::Relaxed) > CROWDED);
            if let Event::Settle(done) = event {
                let _ = done.try_send(());
                continue;
            }
            let bytes = event.bytes();
            // A mistake of ours costs one observation, never the recorder.
            if catch_unwind(AssertUnwindSafe(|| self.take(event))).is_err() {
                tracing::error!("looking at a request or an answer failed; it was forwarded all the same");
                self.gauges.unreadable.fetch_add(1, Ordering::Relaxed);
                self.composer.start_over();
            }
            self.gauges.leave(bytes);
            give_way();
        }
    }

    /// The next event. When none comes for long, memory is given back; then nothing wakes us up any more.
    fn next(&self, queue: &Receiver<(Instant, Event)>) -> Option<(Instant, Event)> {
        if let Ok(next) = queue.try_recv() {
            return Some(next);
        }
        if self.composer.is_heavy() {
            match queue.recv_timeout(REST) {
                Ok(next) => return Some(next),
                Err(RecvTimeoutError::Timeout) => self.composer.rest(),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        queue.recv().ok()
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Request { exchange, hints, encoding, body, at, counting, reply, .. } => {
                self.open.entry(exchange).or_default().asked = Asked::Nothing;
                let is_held = reply.is_some();
                let mut reply = reply;
                let mut answer = |outgoing, source: &Pieces| {
                    if let Some(reply) = reply.take() {
                        reply(Some(Composition { outgoing, source: source.clone() }));
                    }
                };
                let looked = decoded(encoding.as_deref(), body.clone()).and_then(|body| {
                    let seen = Seen { hints: *hints, pieces: body.clone(), at, counting };
                    if !is_held {
                        return self.composer.observe(seen);
                    }
                    let ticket = self.composer.hold(seen, &mut |outgoing| answer(outgoing, &body))?;
                    answer(None, &body);
                    Ok(ticket)
                });
                match looked {
                    Ok(Some(ticket)) if !counting => {
                        self.open.entry(exchange).or_default().asked = Asked::Turn(ticket);
                    }
                    Ok(_) => {}
                    Err(problem) => {
                        self.gauges.unreadable.fetch_add(1, Ordering::Relaxed);
                        tracing::debug!(%problem, "a request was forwarded but not understood");
                        answer(None, &body);
                    }
                }
                self.close(exchange);
            }
            Event::Unbound { exchange } => {
                if let Some(Asked::Turn(ticket)) = self.open.get(&exchange).map(|open| &open.asked) {
                    self.composer.unbound(ticket);
                }
            }
            Event::Refused { exchange, refused } => {
                let ticket = match self.open.get(&exchange).map(|open| &open.asked) {
                    Some(Asked::Turn(ticket)) => Some(ticket),
                    _ => None,
                };
                self.composer.refused(&refused, ticket);
            }
            Event::Models { encoding, bytes } => {
                if let Ok(answer) = decoded(encoding.as_deref(), Arc::new(bytes.into())) {
                    self.composer.learn_models(&concat(&answer));
                }
            }
            Event::NoRequest { exchange } => {
                self.open.entry(exchange).or_default().asked = Asked::Nothing;
                self.close(exchange);
            }
            Event::Head { exchange, status, content_type, encoding, after } => {
                let open = self.open.entry(exchange).or_default();
                if !matches!(open.asked, Asked::Nothing) {
                    open.tap = Some(Box::new(Tap::new(status, content_type.as_deref(), encoding.as_deref())));
                }
                open.first_byte = Some(after);
            }
            Event::Part { exchange, bytes } => {
                let Some(Open { asked, tap: Some(tap), telling, .. }) = self.open.get_mut(&exchange) else { return };
                tap.feed(&bytes);
                if let Asked::Turn(ticket) = asked
                    && ticket.turn
                    && self.composer.streams.are_watched()
                {
                    telling.tell(&self.composer.streams, ticket, tap);
                }
            }
            Event::End { exchange, ending, after, lost } => {
                let open = self.open.entry(exchange).or_default();
                open.ended = Some((ending, after));
                open.lost = lost;
                self.close(exchange);
            }
            Event::Settle(_) => {}
        }
    }

    /// Forgets an exchange of which nothing more will come; an answer is noted.
    fn close(&mut self, exchange: u64) {
        let is_over = |open: &Open| open.ended.is_some() && !matches!(open.asked, Asked::Waiting);
        if !self.open.get(&exchange).is_some_and(is_over) {
            return;
        }
        let Some(Open { asked: Asked::Turn(ticket), tap, first_byte, ended: Some((ending, after)), lost, .. }) =
            self.open.remove(&exchange)
        else {
            return;
        };
        let mut answer = ending.and_then(|ending| tap.map(|tap| tap.finish(ending)));
        if let Some(answer) = answer.as_mut().filter(|_| lost) {
            answer.reply = None;
            answer.undecodable = Some("a piece of its copy was dropped for want of room".into());
        }
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

/// Lets the calling thread work only when nobody else wants the processor: what has already left is not
/// worth delaying what is about to.
pub(crate) fn step_back() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, 19) {
        tracing::debug!(%error, "cannot step back behind the proxy");
    }
}

/// Lets whoever waits for the processor have it. A kernel that preempts lazily lets a thread that never
/// asks it for anything run to the next tick, also one that has stepped back.
pub(crate) fn give_way() {
    std::thread::yield_now();
}

impl Event {
    /// The room that its copies take.
    fn bytes(&self) -> u64 {
        match self {
            Event::Request { room, .. } => *room,
            Event::Part { bytes, .. } | Event::Models { bytes, .. } => bytes.len() as u64,
            _ => 0,
        }
    }
}

fn decoded(encoding: Option<&str>, body: Pieces) -> Result<Pieces, crate::Problem> {
    let encodings = Encoding::parse(encoding.unwrap_or_default())?;
    if encodings.is_empty() {
        return Ok(body);
    }
    let whole = encoding::decode_all(&encodings, &concat(&body), encoding::DECODED_LIMIT)?;
    Ok(Arc::new(whole.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recorder whose events are taken here, one by one.
    fn by_hand() -> (Recorder, Work, Receiver<(Instant, Event)>) {
        let composer = Composer::open(Arc::new(ctx_store::MemoryStore::new())).expect("a composer");
        let (composer, gauges) = (Arc::new(composer), Arc::new(Gauges::default()));
        let (events, queue) = channel();
        let work = Work { composer: composer.clone(), gauges: gauges.clone(), open: HashMap::new() };
        (Recorder { events, gauges, composer }, work, queue)
    }

    #[test]
    fn nothing_is_remembered_of_an_exchange_that_is_over() {
        let body: &[u8] = br#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
        let noise: &[u8] = b"?";
        // In which order the halves end, whether the request is whole and readable, whether a head came.
        for case in 0..16u32 {
            let [request_first, complete, readable, head] = [1, 2, 4, 8].map(|bit| case & bit != 0);
            let (recorder, mut work, queue) = by_hand();
            let (mut request, mut response) = recorder.exchange(Hints::default(), None, false);
            request.chunk(if readable { body } else { noise });
            if request_first {
                request.end(complete);
            }
            if head {
                response.head(200, None, None);
                response.chunk(body);
            }
            response.end(head.then_some(Ending::Complete));
            drop((request, response));
            queue.try_iter().for_each(|(_, event)| work.take(event));
            assert!(work.open.is_empty(), "case {case:04b}");
        }
    }
}
