//! Lets the composer look at what passes: model calls only, everything else stays a plain pipe.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use ctx_composer::Recorder;
use ctx_composer::recorder::{RequestCopy, ResponseCopy};
use ctx_wire::anthropic::{identify::Hints, tap};
use http::Method;

use crate::watch::{Ending, Observer, RequestHead, RequestWatch, ResponseHead, ResponseWatch, Watch};

/// What has passed since the start.
#[derive(Debug, Default)]
pub struct Traffic {
    total: AtomicU64,
    in_flight: AtomicU64,
    failed: AtomicU64,
}

impl Traffic {
    /// All requests, those under way, and those that got no whole answer.
    pub fn counts(&self) -> (u64, u64, u64) {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (get(&self.total), get(&self.in_flight), get(&self.failed))
    }
}

pub struct ComposerObserver {
    recorder: Recorder,
    traffic: Arc<Traffic>,
}

impl ComposerObserver {
    pub fn new(recorder: Recorder, traffic: Arc<Traffic>) -> ComposerObserver {
        ComposerObserver { recorder, traffic }
    }
}

/// Whether a request is a model call that carries a conversation.
fn is_model_call(head: &RequestHead<'_>) -> bool {
    *head.method() == Method::POST && head.path().ends_with("/v1/messages")
}

impl Observer for ComposerObserver {
    fn begin(&self, head: &RequestHead<'_>) -> Option<Watch> {
        self.traffic.total.fetch_add(1, Ordering::Relaxed);
        if !is_model_call(head) {
            return None;
        }
        self.traffic.in_flight.fetch_add(1, Ordering::Relaxed);
        let headers = head.headers();
        let hints = Hints::read(|name| headers.text(name));
        let (request, response) = self.recorder.exchange(hints, headers.text("content-encoding"), false);
        let response = Response { copy: response, traffic: self.traffic.clone() };
        Some(Watch { request: Box::new(Request(request)), response: Box::new(response) })
    }
}

struct Request(RequestCopy);

impl RequestWatch for Request {
    fn chunk(&mut self, chunk: &Bytes) {
        self.0.chunk(chunk);
    }

    fn end(&mut self, complete: bool) {
        self.0.end(complete);
    }
}

struct Response {
    copy: ResponseCopy,
    traffic: Arc<Traffic>,
}

impl ResponseWatch for Response {
    fn head(&mut self, head: &ResponseHead<'_>) {
        let headers = head.headers();
        self.copy.head(head.status().as_u16(), headers.text("content-type"), headers.text("content-encoding"));
    }

    fn chunk(&mut self, chunk: &Bytes) {
        self.copy.chunk(chunk);
    }

    fn end(&mut self, ending: Ending) {
        self.traffic.in_flight.fetch_sub(1, Ordering::Relaxed);
        if ending != Ending::Complete {
            self.traffic.failed.fetch_add(1, Ordering::Relaxed);
        }
        self.copy.end(match ending {
            Ending::Complete => Some(tap::Ending::Complete),
            Ending::Cut => Some(tap::Ending::Cut),
            Ending::Cancelled => Some(tap::Ending::Cancelled),
            Ending::Unreachable => None,
        });
    }
}
