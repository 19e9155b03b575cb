//! The halves of an exchange, as held by the proxy: copies of the traffic.

use super::Recorder;
use super::event::{Event, Reply, Withheld};
use super::lanes::{LaneKey, Urgency};
use super::opening::opening;
use crate::clock::now;
use crate::idle::Hurry;
use crate::streams::PAUSE;
use crate::uploads::Upload;
use ctx_clients::Hints;
use ctx_engine::Credentials;
use ctx_engine::ports::provider::ProviderRefusal;
use ctx_wire::answer::Ending;
use ctx_wire::rope::{Arriving, Pieces};
use ctx_wire::{Call, Wire};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

impl Recorder {
    /// The two halves of a new exchange.
    pub fn exchange(
        &self,
        (wire, call): (&'static dyn Wire, Call),
        hints: Hints,
        encoding: Option<&str>,
    ) -> (RequestCopy, ResponseCopy) {
        let counting = call == Call::Count;
        let exchange = self.gauges.exchanges.fetch_add(1, Ordering::Relaxed);
        let started = Instant::now();
        // An encoded body has nothing in common with the previous one.
        let before = if encoding.is_none() { self.service.newest().get(&hints) } else { None };
        let lane = Lane::of(&hints);
        // Begins before `holds` is asked: a commit in between either sees this upload or makes the request held.
        let upload = self.service.parts.uploads.begin(&hints).filter(|_| !counting);
        // The client will wait: earlier events are processed while the request arrives.
        let held = self.service.holds(&hints).then(|| WaitingClient {
            _hurry: self.service.parts.gaps.hurry(),
            urgency: lane.get().map(|lane| self.service.parts.lanes.urge(lane)),
        });
        let request = RequestCopy {
            recorder: self.clone(),
            exchange,
            lane: lane.clone(),
            upload: upload.filter(|_| held.is_none()),
            held,
            wire,
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
            wire,
            lane,
            started,
            head: None,
            handed: started,
            kept: Vec::new(),
            lost: false,
            ended: false,
            credentials: Credentials::default(),
        };
        (request, response)
    }
}

/// The lane of an exchange. Without a session, the first words of the request decide, once it has come.
#[derive(Clone)]
struct Lane(Arc<OnceLock<Arc<LaneKey>>>);

impl Lane {
    fn of(hints: &Hints) -> Lane {
        Lane(Arc::new(LaneKey::of(hints).map_or_else(OnceLock::new, |key| Arc::new(key).into())))
    }

    fn get(&self) -> Option<&Arc<LaneKey>> {
        self.0.get()
    }

    /// The lane of a request that begins with these bytes.
    fn for_body(&self, body: &Pieces, wire: &dyn Wire) -> &Arc<LaneKey> {
        let key = || opening(body, wire.shape().list).map_or(LaneKey::Others, LaneKey::Opening);
        self.0.get_or_init(|| Arc::new(key()))
    }

    /// The lane of an exchange whose request may never be processed.
    fn for_answer(&self) -> &Arc<LaneKey> {
        self.0.get_or_init(|| Arc::new(LaneKey::Others))
    }
}

/// A client that waits for its request to be composed.
struct WaitingClient {
    _hurry: Hurry,
    urgency: Option<Urgency>,
}

/// Collects the new bytes of a request while it passes.
pub struct RequestCopy {
    recorder: Recorder,
    exchange: u64,
    lane: Lane,
    /// It leaves while it arrives.
    upload: Option<Upload>,
    /// Nothing is postponed while a request is held.
    held: Option<WaitingClient>,
    wire: &'static dyn Wire,
    counting: bool,
    hints: Option<Box<Hints>>,
    encoding: Option<Box<str>>,
    arriving: Arriving,
    /// The room taken so far.
    room: u64,
    at: u64,
}

impl RequestCopy {
    /// Whether the request must be composed before it leaves.
    pub fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Ends a held request: `reply` receives its leaving form. Returns all bytes that came.
    pub fn compose(&mut self, reply: Reply) -> Pieces {
        let body = std::mem::take(&mut self.arriving).finish();
        let Some(hints) = self.hints.take() else {
            reply(Err(Withheld::Defect));
            return body;
        };
        let (exchange, wire, room, at, counting) = (self.exchange, self.wire, self.room, self.at, self.counting);
        let encoding = self.encoding.take();
        if encoding.is_none() {
            self.recorder.service.newest().passed(&hints, &body);
        }
        let came = body.clone();
        let lane = if encoding.is_none() { self.lane.for_body(&body, self.wire) } else { self.lane.for_answer() };
        let mut waiting = self.held.take();
        if let Some(waiting) = waiting.as_mut().filter(|waiting| waiting.urgency.is_none()) {
            waiting.urgency = Some(self.recorder.service.parts.lanes.urge(lane));
        }
        let reply: Reply = Box::new(move |composition| {
            drop(waiting);
            reply(composition);
        });
        let reply = Some(reply);
        self.recorder.send(lane, Event::Request { exchange, wire, hints, encoding, body, room, at, counting, reply });
        came
    }

    pub fn chunk(&mut self, chunk: &[u8]) {
        if self.hints.is_none() {
            return;
        }
        self.recorder.service.parts.gaps.passing();
        let copied = self.arriving.push(chunk) as u64;
        // A held request must be processed, however long the queue is.
        if self.held.is_some() {
            self.recorder.gauges.queued_bytes.fetch_add(copied, Ordering::Relaxed);
            self.room += copied;
        } else if self.recorder.gauges.make_room(copied) {
            self.room += copied;
        } else {
            self.end(false);
        }
    }

    /// Ends the request: the last byte has passed, or no more will.
    pub fn end(&mut self, complete: bool) {
        let body = std::mem::take(&mut self.arriving).finish();
        let Some(hints) = self.hints.take() else { return };
        self.upload = None;
        let (exchange, room, at) = (self.exchange, self.room, self.at);
        if complete {
            let (encoding, wire, counting) = (self.encoding.take(), self.wire, self.counting);
            if encoding.is_none() {
                self.recorder.service.newest().passed(&hints, &body);
            }
            let lane = if encoding.is_none() { self.lane.for_body(&body, self.wire) } else { self.lane.for_answer() };
            let event = Event::Request { exchange, wire, hints, encoding, body, room, at, counting, reply: None };
            self.recorder.send(lane, event);
        } else {
            self.recorder.gauges.give_back(room);
            self.recorder.send(self.lane.for_answer(), Event::NoRequest { exchange });
        }
    }
}

impl Drop for RequestCopy {
    fn drop(&mut self) {
        self.end(false);
    }
}

/// Collects a response while it passes. It is handed over in large pieces: waking the recorder for each event of a
/// stream would cost more than the event.
pub struct ResponseCopy {
    recorder: Recorder,
    exchange: u64,
    wire: &'static dyn Wire,
    lane: Lane,
    started: Instant,
    head: Option<Event>,
    /// The time of the last handover.
    handed: Instant,
    kept: Vec<u8>,
    lost: bool,
    ended: bool,
    credentials: Credentials,
}

/// The size of a piece that is handed over.
const PART: usize = 32 * 1024;

impl ResponseCopy {
    /// Hides the request's own credentials from everything recorded of its answer.
    pub fn hide(&mut self, credentials: Credentials) {
        self.credentials = credentials;
    }

    /// Records that the provider refused thinking in the request: from now on it is asked to drop such blocks.
    pub fn unbound(&self) {
        self.recorder.send(self.lane.for_answer(), Event::Unbound { exchange: self.exchange });
    }

    /// Records that the provider rejected an additional edit and accepted the request without it.
    pub fn refused(&self, mut refused: ProviderRefusal) {
        refused.hide(&self.credentials);
        let event = Event::Refused { exchange: self.exchange, refused: Box::new(refused) };
        self.recorder.send(self.lane.for_answer(), event);
    }

    pub fn head(&mut self, status: u16, content_type: Option<&str>, encoding: Option<&str>) {
        self.head = Some(Event::Head {
            exchange: self.exchange,
            wire: self.wire,
            status,
            content_type: content_type.map(Into::into),
            encoding: encoding.map(Into::into),
            after: self.started.elapsed(),
        });
    }

    pub fn chunk(&mut self, chunk: &[u8]) {
        self.recorder.service.parts.gaps.passing();
        // Without this piece the rest is useless.
        self.lost = self.lost || !self.recorder.gauges.make_room(chunk.len() as u64);
        if self.lost {
            return;
        }
        self.kept.extend_from_slice(chunk);
        let watched = self.recorder.service.parts.streams.are_watched();
        if self.kept.len() >= PART || (watched && self.handed.elapsed() >= PAUSE) {
            self.handed = Instant::now();
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        if let Some(head) = self.head.take() {
            self.recorder.send(self.lane.for_answer(), head);
        }
        if !self.kept.is_empty() {
            let bytes = std::mem::take(&mut self.kept);
            self.recorder.send(self.lane.for_answer(), Event::Part { exchange: self.exchange, bytes });
        }
    }

    /// `None`: there was no answer.
    pub fn end(&mut self, ending: Option<Ending>) {
        if !std::mem::replace(&mut self.ended, true) {
            self.hand_over();
            let after = self.started.elapsed();
            let credentials = std::mem::take(&mut self.credentials);
            let event = Event::End { exchange: self.exchange, ending, after, lost: self.lost, credentials };
            self.recorder.send(self.lane.for_answer(), event);
        }
    }
}

impl Drop for ResponseCopy {
    fn drop(&mut self) {
        self.end(Some(Ending::Cancelled));
    }
}
