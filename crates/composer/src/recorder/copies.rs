//! The halves of an exchange, as the proxy holds them: copies of what passes.

use super::{Event, Recorder, Reply};
use crate::gap::Hurry;
use crate::provider::Refused;
use crate::streams::PAUSE;
use crate::uploads::Upload;
use crate::{Credentials, now};
use ctx_wire::anthropic::identify::Hints;
use ctx_wire::anthropic::tap::Ending;
use ctx_wire::pieces::{Arriving, Pieces};
use std::sync::atomic::Ordering;
use std::time::Instant;

impl Recorder {
    /// The two halves of a new exchange.
    pub fn exchange(&self, hints: Hints, encoding: Option<&str>, counting: bool) -> (RequestCopy, ResponseCopy) {
        let exchange = self.gauges.exchanges.fetch_add(1, Ordering::Relaxed);
        let started = Instant::now();
        // An encoded body has nothing in common with the one before.
        let before = if encoding.is_none() { self.composer.newest().get(&hints) } else { None };
        // Begun before it is asked whether it is held: a commit in between sees the one or makes the other.
        let upload = self.composer.uploads.begin(&hints).filter(|_| !counting);
        // The client will wait: what came before is looked at while the request arrives.
        let held = self.composer.holds(&hints).then(|| self.composer.gaps.hurry());
        let request = RequestCopy {
            recorder: self.clone(),
            exchange,
            upload: upload.filter(|_| held.is_none()),
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
            credentials: Credentials::default(),
        };
        (request, response)
    }
}

/// Collects a request while it passes: what the session has not sent before.
pub struct RequestCopy {
    recorder: Recorder,
    exchange: u64,
    /// It leaves while it arrives.
    upload: Option<Upload>,
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
        self.upload = None;
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
    credentials: Credentials,
}

/// As much of a response is kept before it is handed over.
const PART: usize = 32 * 1024;

impl ResponseCopy {
    /// Hides the request's own credentials from all that is recorded of its answer.
    pub fn hide(&mut self, credentials: Credentials) {
        self.credentials = credentials;
    }

    /// The provider refused thinking in the request that it answers: from now on it is asked to drop such blocks.
    pub fn unbound(&self) {
        self.recorder.send(Event::Unbound { exchange: self.exchange });
    }

    /// The provider did not take what was asked beside the client; without it the request went through.
    pub fn refused(&self, mut refused: Refused) {
        refused.hide(&self.credentials);
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
            let credentials = std::mem::take(&mut self.credentials);
            self.recorder.send(Event::End { exchange: self.exchange, ending, after, lost: self.lost, credentials });
        }
    }
}

impl Drop for ResponseCopy {
    fn drop(&mut self) {
        self.end(Some(Ending::Cancelled));
    }
}
