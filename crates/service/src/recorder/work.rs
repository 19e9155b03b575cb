//! The threads that process the copies.

use super::event::Event;
use super::exchange::{OpenExchange, RequestState};
use super::gauges::Gauges;
use super::lanes::{Job, Lanes, Next, Order};
use super::waiting::HeldRequest;
use crate::clock::now;
use crate::service::Service;
use crate::threads::give_way;
use ctx_engine::Problem;
use ctx_engine::attribution::SeenRequest;
use ctx_engine::response::Timing;
use ctx_wire::encoding::{self, Encoding};
use ctx_wire::rope::{Pieces, concat};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// With this many queued bytes, work does not wait for a gap.
const CROWDED: u64 = 64 * 1024 * 1024;

/// The time without events after which memory is freed.
const REST: Duration = Duration::from_secs(60);

/// A thread that takes events from the lanes.
pub(super) struct Worker {
    service: Arc<Service>,
    gauges: Arc<Gauges>,
}

impl Worker {
    pub fn new(service: Arc<Service>, gauges: Arc<Gauges>) -> Worker {
        Worker { service, gauges }
    }

    pub fn run(self) {
        let lanes = self.service.parts.lanes.clone();
        self.service.parts.wait_until_known();
        loop {
            // After a long pause memory is freed; then the thread sleeps until the next event.
            match lanes.next(self.service.parts.is_heavy().then_some(REST)) {
                Next::Work(job) => self.work(&lanes, *job),
                Next::Nothing => self.service.parts.rest(),
                Next::End => return,
            }
        }
    }

    fn work(&self, lanes: &Lanes, job: Job) {
        let Job { place, since, event, open } = job;
        if !place.is_urgent {
            self.service.parts.gaps.wait(since, || self.gauges.queued_bytes.load(Ordering::Relaxed) > CROWDED);
        }
        let (bytes, requests) = (event.bytes(), event.requests());
        let mut work = Work { service: &self.service, gauges: &self.gauges, open, order: Some(place.order) };
        // A panic costs one observation, never the recorder.
        if catch_unwind(AssertUnwindSafe(|| work.take(event))).is_err() {
            tracing::error!("bug: observing a request or a response panicked");
            self.gauges.unreadable.fetch_add(1, Ordering::Relaxed);
            self.service.parts.start_over();
        }
        self.gauges.leave(bytes, requests);
        lanes.finish(&place, work.open);
        if !place.is_urgent {
            give_way();
        }
    }
}

/// One event, with the exchanges of its lane.
struct Work<'w> {
    service: &'w Arc<Service>,
    gauges: &'w Gauges,
    open: HashMap<u64, OpenExchange>,
    order: Option<Order>,
}

impl Work<'_> {
    fn take(&mut self, event: Event) {
        match event {
            Event::Request { exchange, wire, hints, encoding, body, at, counting, reply, .. } => {
                self.open.entry(exchange).or_default().asked = RequestState::Nothing;
                let mut waiting =
                    reply.map(|reply| HeldRequest::new(reply, self.service.clone(), wire, (&hints, &body)));
                let looked = decoded(encoding.as_deref(), body).and_then(|body| {
                    let seen = SeenRequest { wire, hints: *hints, pieces: body.clone(), at, counting };
                    let Some(waiting) = &mut waiting else { return self.service.parts.look(&seen, None, self.order) };
                    waiting.decoded = Some(body);
                    let ticket =
                        self.service.parts.look(&seen, Some(&mut |outgoing| waiting.leaves(outgoing)), self.order)?;
                    waiting.leaves(None);
                    Ok(ticket)
                });
                match looked {
                    Ok(Some(ticket)) if !counting => {
                        self.open.entry(exchange).or_default().asked = RequestState::Turn(ticket);
                    }
                    Ok(_) => {}
                    Err(problem) => {
                        self.gauges.unreadable.fetch_add(1, Ordering::Relaxed);
                        tracing::debug!(%problem, "a request could not be parsed");
                        if waiting.is_some_and(|waiting| waiting.failed(&problem)) {
                            self.gauges.refused.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
                self.close(exchange);
            }
            Event::Unbound { exchange } => {
                if let Some(RequestState::Turn(ticket)) = self.open.get(&exchange).map(|open| &open.asked) {
                    self.service.parts.unbound(ticket);
                }
            }
            Event::Refused { exchange, refused } => {
                let ticket = match self.open.get(&exchange).map(|open| &open.asked) {
                    Some(RequestState::Turn(ticket)) => Some(ticket),
                    _ => None,
                };
                self.service.parts.refused(&refused, ticket);
            }
            Event::Models { encoding, bytes } => {
                if let Ok(answer) = decoded(encoding.as_deref(), Arc::new(bytes.into())) {
                    self.service.parts.learn_models(&concat(&answer));
                }
            }
            Event::NoRequest { exchange } => {
                self.open.entry(exchange).or_default().asked = RequestState::Nothing;
                self.close(exchange);
            }
            Event::Head { exchange, wire, status, content_type, encoding, after } => {
                let open = self.open.entry(exchange).or_default();
                if !matches!(open.asked, RequestState::Nothing) {
                    open.tap = Some(wire.tap(status, content_type.as_deref(), encoding.as_deref()));
                }
                open.first_byte = Some(after);
            }
            Event::Part { exchange, bytes } => {
                let Some(OpenExchange { asked, tap: Some(tap), telling, .. }) = self.open.get_mut(&exchange) else {
                    return;
                };
                tap.feed(&bytes);
                if let RequestState::Turn(ticket) = asked
                    && ticket.turn
                    && self.service.parts.streams.are_watched()
                {
                    telling.tell(&self.service.parts.streams, ticket, &**tap);
                }
            }
            Event::End { exchange, ending, after, lost, credentials } => {
                let open = self.open.entry(exchange).or_default();
                open.ended = Some((ending, after));
                open.lost = lost;
                open.credentials = credentials;
                self.close(exchange);
            }
        }
    }

    /// Drops a finished exchange; an answer is recorded.
    fn close(&mut self, exchange: u64) {
        let is_over = |open: &OpenExchange| open.ended.is_some() && !matches!(open.asked, RequestState::Waiting);
        if !self.open.get(&exchange).is_some_and(is_over) {
            return;
        }
        let Some(open) = self.open.remove(&exchange) else { return };
        let OpenExchange {
            asked: RequestState::Turn(ticket), tap, first_byte, ended: Some((ending, after)), lost, ..
        } = open
        else {
            return;
        };
        let mut answer = ending.and_then(|ending| tap.map(|tap| tap.finish(ending)));
        if let Some(answer) = &mut answer {
            open.credentials.clean(answer);
        }
        if let Some(answer) = answer.as_mut().filter(|_| lost) {
            answer.reply.clear();
            answer.undecodable = Some("part of its copy was dropped for lack of space".into());
        }
        let timing = Timing {
            at: now(),
            first_byte_ms: first_byte.map(|after| after.as_millis() as u64),
            total_ms: after.as_millis() as u64,
        };
        if let Err(problem) = self.service.answered(&ticket, ending, answer, timing) {
            tracing::warn!(%problem, "a response could not be recorded");
        }
    }
}

fn decoded(encoding: Option<&str>, body: Pieces) -> Result<Pieces, Problem> {
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
    use ctx_clients::Hints;
    use ctx_wire::answer::Ending;

    /// A recorder whose events are taken here, one by one.
    fn by_hand() -> (Recorder, Worker) {
        let service = Service::open(Arc::new(ctx_store::MemoryStore::new())).expect("a service");
        let (service, gauges) = (Arc::new(service), Arc::new(Gauges::default()));
        let open = Arc::new(super::super::OpenLanes(service.parts.lanes.clone()));
        let worker = Worker::new(service.clone(), gauges.clone());
        (Recorder { service, gauges, _open: open }, worker)
    }

    #[test]
    fn nothing_is_remembered_of_an_exchange_that_is_over() {
        let body: &[u8] = br#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
        let noise: &[u8] = b"?";
        // In which order the halves end, whether the request is whole and readable, whether a head came, whether the
        // session is named.
        for case in 0..32u32 {
            let [request_first, complete, readable, head, named] = [1, 2, 4, 8, 16].map(|bit| case & bit != 0);
            let (recorder, worker) = by_hand();
            let hints = Hints::read(|name| (named && name == "x-claude-code-session-id").then_some("s"));
            let (mut request, mut response) =
                recorder.exchange((&ctx_wire::anthropic::Anthropic, ctx_wire::Call::Generate), hints, None);
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
            let lanes = recorder.service.parts.lanes.clone();
            while let Next::Work(job) = lanes.next(Some(Duration::ZERO)) {
                worker.work(&lanes, *job);
            }
            assert!(lanes.are_empty(), "case {case:05b}");
            assert_eq!(recorder.load().queued, 0);
        }
    }
}
