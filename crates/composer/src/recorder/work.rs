//! The thread that looks at the copies.

use super::waiting::Waiting;
use super::{Event, Gauges};
use crate::observe::{Seen, Ticket};
use crate::streams::Telling;
use crate::{Composer, Timing, now};
use ctx_wire::anthropic::tap::{Ending, Tap};
use ctx_wire::encoding::{self, Encoding};
use ctx_wire::pieces::{Pieces, concat};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// With so many bytes waiting, no gap is waited for.
const CROWDED: u64 = 64 * 1024 * 1024;

/// After so long without any event the recorder rests.
const REST: Duration = Duration::from_secs(60);

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

pub(super) struct Work {
    composer: Arc<Composer>,
    gauges: Arc<Gauges>,
    open: HashMap<u64, Open>,
}

impl Work {
    pub fn new(composer: Arc<Composer>, gauges: Arc<Gauges>) -> Work {
        Work { composer, gauges, open: HashMap::new() }
    }

    pub fn run(mut self, queue: &Receiver<(Instant, Event)>) {
        while let Some((since, event)) = self.next(queue) {
            self.composer.gaps.wait(since, || self.gauges.queued_bytes.load(Ordering::Relaxed) > CROWDED);
            if let Event::Settle(done) = event {
                let _ = done.try_send(());
                continue;
            }
            let (bytes, requests) = (event.bytes(), event.requests());
            // A mistake of ours costs one observation, never the recorder.
            if catch_unwind(AssertUnwindSafe(|| self.take(event))).is_err() {
                tracing::error!("a defect: looking at a request or an answer panicked");
                self.gauges.unreadable.fetch_add(1, Ordering::Relaxed);
                self.composer.start_over();
            }
            self.gauges.leave(bytes, requests);
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
                let mut waiting = reply.map(|reply| Waiting::new(reply, self.composer.clone(), &hints, &body));
                let looked = decoded(encoding.as_deref(), body).and_then(|body| {
                    let seen = Seen { hints: *hints, pieces: body.clone(), at, counting };
                    let Some(waiting) = &mut waiting else { return self.composer.observe(seen) };
                    waiting.decoded = Some(body);
                    let ticket = self.composer.hold(seen, &mut |outgoing| waiting.leaves(outgoing))?;
                    waiting.leaves(None);
                    Ok(ticket)
                });
                match looked {
                    Ok(Some(ticket)) if !counting => {
                        self.open.entry(exchange).or_default().asked = Asked::Turn(ticket);
                    }
                    Ok(_) => {}
                    Err(problem) => {
                        self.gauges.unreadable.fetch_add(1, Ordering::Relaxed);
                        tracing::debug!(%problem, "a request was not understood");
                        if let Some(waiting) = waiting {
                            waiting.failed(&problem);
                        }
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
    use super::super::Recorder;
    use super::*;
    use ctx_wire::anthropic::identify::Hints;
    use std::sync::mpsc::channel;

    /// A recorder whose events are taken here, one by one.
    fn by_hand() -> (Recorder, Work, Receiver<(Instant, Event)>) {
        let composer = Composer::open(Arc::new(ctx_store::MemoryStore::new())).expect("a composer");
        let (composer, gauges) = (Arc::new(composer), Arc::new(Gauges::default()));
        let (events, queue) = channel();
        let work = Work::new(composer.clone(), gauges.clone());
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
