//! Connects the service to the traffic: it observes model calls and holds those that it must compose; everything else
//! is a plain pipe. If the provider's own editing is on, it also reads the provider's list of models when a client
//! requests it.

use ctx_engine::ports::provider::ProviderRefusal;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use ctx_clients::Hints;
use ctx_service::recorder::{Reply, RequestCopy, ResponseCopy};
use ctx_service::{Recorder, Service};
use ctx_wire::rope::Pieces;
use ctx_wire::{Call, Provider, answer};

use crate::metrics::{Metrics, RequestKind};
use crate::watch::{Ending, Observer, RequestHead, RequestWatch, ResponseHead, ResponseWatch, Watch};

/// Counters since the start.
#[derive(Debug, Default)]
pub struct Traffic {
    total: AtomicU64,
    in_flight: AtomicU64,
    failed: AtomicU64,
    cancelled: AtomicU64,
    unread: AtomicU64,
}

/// Requests since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    pub total: u64,
    pub in_flight: u64,
    /// Without a complete response, although the client waited.
    pub failed: u64,
    /// The client disconnected before the response was complete.
    pub cancelled: u64,
    /// Calls in an unknown format: forwarded, and not shown.
    pub unread: u64,
}

impl Traffic {
    pub fn counts(&self) -> Counts {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts {
            total: get(&self.total),
            in_flight: get(&self.in_flight),
            failed: get(&self.failed),
            cancelled: get(&self.cancelled),
            unread: get(&self.unread),
        }
    }
}

pub struct ComposerObserver {
    service: Arc<Service>,
    recorder: Recorder,
    traffic: Arc<Traffic>,
    /// Of the whole daemon.
    metrics: Arc<Metrics>,
}

impl ComposerObserver {
    pub(crate) fn new(
        service: Arc<Service>,
        recorder: Recorder,
        traffic: Arc<Traffic>,
        metrics: Arc<Metrics>,
    ) -> ComposerObserver {
        ComposerObserver { service, recorder, traffic, metrics }
    }
}

impl Observer for ComposerObserver {
    fn begin(&self, head: &RequestHead<'_>) -> Option<Watch> {
        self.traffic.total.fetch_add(1, Ordering::Relaxed);
        let Some((wire, call)) = ctx_wire::route(head.method().as_str(), head.path()) else {
            self.metrics.requested(RequestKind::Other);
            let headers = head.headers();
            let provider = Provider::of(head.path(), &|name| headers.text(name).is_some());
            // The default provider's clients report and sign in on many paths.
            if head.method() == "POST" && provider != Provider::DEFAULT {
                self.traffic.unread.fetch_add(1, Ordering::Relaxed);
            }
            return None;
        };
        if call == Call::Models {
            self.metrics.requested(RequestKind::Other);
            let listening = || ModelListReader { recorder: self.recorder.clone(), heard: None };
            return self
                .service
                .asks_provider()
                .then(|| Watch { request: Box::new(IgnoreRequest), response: Box::new(listening()) });
        }
        let call = if head.is_warm_up() { Call::Count } else { call };
        self.metrics.requested(if call == Call::Count { RequestKind::Count } else { RequestKind::Model });
        let headers = head.headers();
        let model = wire.model(head.path()).map(Into::into);
        let hints = Hints { model, ..Hints::read(|name| headers.text(name)) };
        // A token count teaches nothing, but must count the composed request.
        if call == Call::Count && !self.service.holds(&hints) {
            return None;
        }
        self.traffic.in_flight.fetch_add(1, Ordering::Relaxed);
        let (request, mut response) = self.recorder.exchange((wire, call), hints, headers.text("content-encoding"));
        response.hide(head.credentials());
        self.metrics.began();
        let (traffic, metrics) = (self.traffic.clone(), self.metrics.clone());
        let request = Request { copy: request, metrics: metrics.clone() };
        let response = Response { copy: response, traffic, metrics, began: Instant::now() };
        Some(Watch { request: Box::new(request), response: Box::new(response) })
    }
}

struct Request {
    copy: RequestCopy,
    metrics: Arc<Metrics>,
}

impl RequestWatch for Request {
    fn is_held(&self) -> bool {
        self.copy.is_held()
    }

    fn leaves(&mut self, after: Duration) {
        self.metrics.left(after);
    }

    fn compose(&mut self, reply: Reply) -> Pieces {
        let (metrics, began) = (self.metrics.clone(), Instant::now());
        self.copy.compose(Box::new(move |composed| {
            metrics.composed(&composed, began.elapsed());
            reply(composed);
        }))
    }

    fn chunk(&mut self, chunk: &Bytes) {
        self.copy.chunk(chunk);
    }

    fn end(&mut self, complete: bool) {
        self.copy.end(complete);
    }
}

struct Response {
    copy: ResponseCopy,
    traffic: Arc<Traffic>,
    metrics: Arc<Metrics>,
    began: Instant,
}

impl ResponseWatch for Response {
    fn unbound(&mut self) {
        self.copy.unbound();
    }

    fn refused(&mut self, refused: ProviderRefusal) {
        self.copy.refused(refused);
    }

    fn head(&mut self, head: &ResponseHead<'_>) {
        self.metrics.responded(head.status(), self.began.elapsed());
        let headers = head.headers();
        self.copy.head(head.status().as_u16(), headers.text("content-type"), headers.text("content-encoding"));
    }

    fn chunk(&mut self, chunk: &Bytes) {
        self.copy.chunk(chunk);
    }

    fn end(&mut self, ending: Ending) {
        self.traffic.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.metrics.ended(ending);
        match ending {
            Ending::Complete => 0,
            Ending::Cancelled => self.traffic.cancelled.fetch_add(1, Ordering::Relaxed),
            Ending::Cut | Ending::Unreachable => self.traffic.failed.fetch_add(1, Ordering::Relaxed),
        };
        self.copy.end(match ending {
            Ending::Complete => Some(answer::Ending::Complete),
            Ending::Cut => Some(answer::Ending::Cut),
            Ending::Cancelled => Some(answer::Ending::Cancelled),
            Ending::Unreachable => None,
        });
    }
}

/// Larger than any list of models.
const LONGEST_LIST: usize = 4 * 1024 * 1024;

/// Ignores the request.
struct IgnoreRequest;

impl RequestWatch for IgnoreRequest {
    fn chunk(&mut self, _chunk: &Bytes) {}

    fn end(&mut self, _complete: bool) {}
}

/// Reads the provider's list of models.
struct ModelListReader {
    recorder: Recorder,
    /// Its encoding, and the bytes so far; none if it is ignored.
    heard: Option<(Option<Box<str>>, Vec<u8>)>,
}

impl ResponseWatch for ModelListReader {
    fn head(&mut self, head: &ResponseHead<'_>) {
        let encoding = head.headers().text("content-encoding").map(Into::into);
        self.heard = head.status().is_success().then(|| (encoding, Vec::new()));
    }

    fn chunk(&mut self, chunk: &Bytes) {
        let Some((_, bytes)) = &mut self.heard else { return };
        bytes.extend_from_slice(chunk);
        if bytes.len() > LONGEST_LIST {
            self.heard = None;
        }
    }

    fn end(&mut self, ending: Ending) {
        if let Some((encoding, bytes)) = self.heard.take().filter(|_| ending == Ending::Complete) {
            self.recorder.models(encoding.as_deref(), bytes);
        }
    }
}
