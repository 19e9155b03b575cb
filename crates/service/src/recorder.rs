//! Takes passive copies of what passes through the proxy and looks at them on threads of its own.
//!
//! The halves of an exchange are handed to the proxy. Their calls only compare, copy what is new and send:
//! they never parse and never wait. Nothing of the proxy's own buffers is kept, so it can use them again
//! at once. When the threads cannot keep up, copies are dropped and counted; the bytes themselves have
//! long left. [`lanes`] says in which order copies are looked at, and which of them at the same time.

mod copies;
mod lanes;
mod opening;
mod waiting;
mod work;

pub use copies::{RequestCopy, ResponseCopy};
use ctx_api::status::Load;
use ctx_engine::Credentials;
use ctx_engine::compose::Outgoing;
use ctx_engine::ports::provider::Refused;
use lanes::{LaneKey, Urgency};
pub(crate) use lanes::{Lanes, Order};
use work::Worker;
pub(crate) use work::{give_way, step_back};

use crate::Service;
use ctx_clients::Hints;
use ctx_wire::Wire;
use ctx_wire::answer::Ending;
use ctx_wire::body::Unreadable;
use ctx_wire::encoding::DecodeError;
use ctx_wire::rope::Pieces;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The most bytes that wait to be looked at.
const QUEUE: u64 = 256 * 1024 * 1024;

enum Event {
    Request {
        exchange: u64,
        wire: &'static dyn Wire,
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
        wire: &'static dyn Wire,
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
        /// Hidden from what is recorded of the answer.
        credentials: Credentials,
    },
}

/// A held request, ready to leave.
#[derive(Debug)]
pub struct Composition {
    /// How it should leave; `None`: as it came.
    pub outgoing: Option<Outgoing>,
    /// What the parts of it are parts of: what came, its encoding undone.
    pub source: Pieces,
    pub wire: &'static dyn Wire,
}

/// Why a held request must not leave: its conversation is edited, or may be, and the edits cannot be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withheld {
    /// The store failed.
    Store,
    /// A damaged record held edits of it.
    LostEdits,
    /// The body cannot be read.
    Unreadable(Flaw),
    /// Our own code failed.
    Defect,
}

/// What keeps a body from being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// It is larger than anything that is read.
    Size,
    /// It does not decode as its header says.
    Encoding,
    /// It is no JSON request.
    Json,
}

impl Flaw {
    fn of_encoding(error: &DecodeError) -> Flaw {
        if matches!(error, DecodeError::TooLarge { .. }) { Flaw::Size } else { Flaw::Encoding }
    }

    fn of_body(error: &Unreadable) -> Flaw {
        if matches!(error, Unreadable::TooManyMessages) { Flaw::Size } else { Flaw::Json }
    }
}

/// Takes a composition, or the reason why the request must not leave.
pub type Reply = Box<dyn FnOnce(Result<Composition, Withheld>) + Send>;

#[derive(Debug, Default)]
struct Gauges {
    queued: AtomicU64,
    queued_bytes: AtomicU64,
    dropped: AtomicU64,
    unreadable: AtomicU64,
    refused: AtomicU64,
    /// Requests among what is queued.
    requests: AtomicU64,
    exchanges: AtomicU64,
}

#[derive(Clone)]
pub struct Recorder {
    service: Arc<Service>,
    gauges: Arc<Gauges>,
    _open: Arc<Open>,
}

/// The lanes are open as long as a recorder is there.
struct Open(Arc<Lanes>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Recorder {
    pub fn start(service: Arc<Service>) -> std::io::Result<Recorder> {
        let gauges = Arc::new(Gauges::default());
        service.heed_alarm()?;
        let (lanes, weak, of_worker) = (service.lanes.clone(), Arc::downgrade(&service), gauges.clone());
        service.lanes.start(move || {
            let Some(service) = weak.upgrade() else { return Ok(()) };
            let worker = Worker::new(service, of_worker.clone());
            std::thread::Builder::new().name("ctx-recorder".into()).spawn(move || worker.run()).map(drop)
        })?;
        Ok(Recorder { service, gauges, _open: Arc::new(Open(lanes)) })
    }

    /// What the provider said of its models, to a client that asked.
    pub fn models(&self, encoding: Option<&str>, bytes: Vec<u8>) {
        if self.gauges.make_room(bytes.len() as u64) {
            let event = Event::Models { encoding: encoding.map(Into::into), bytes };
            self.send(&Arc::new(LaneKey::Others), event);
        }
    }

    /// Waits until all that has passed so far is known and stored, but no longer than `most`.
    pub fn settle(&self, most: Duration) {
        let deadline = Instant::now() + most;
        let _hurry = self.service.gaps.hurry();
        self.service.lanes.settle(most);
        self.service.settle(deadline.saturating_duration_since(Instant::now()));
    }

    pub fn load(&self) -> Load {
        let get = |gauge: &AtomicU64| gauge.load(Ordering::Relaxed);
        Load {
            queued: get(&self.gauges.queued),
            queued_bytes: get(&self.gauges.queued_bytes),
            dropped: get(&self.gauges.dropped),
            unreadable: get(&self.gauges.unreadable),
            refused: get(&self.gauges.refused),
            requests: get(&self.gauges.requests),
        }
    }

    /// Sends an event whose bytes have their room already.
    fn send(&self, lane: &Arc<LaneKey>, event: Event) {
        let (bytes, requests) = (event.bytes(), event.requests());
        self.gauges.queued.fetch_add(1, Ordering::Relaxed);
        self.gauges.requests.fetch_add(requests, Ordering::Relaxed);
        if !self.service.lanes.push(lane, event) {
            self.gauges.leave(bytes, requests);
        }
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

    fn leave(&self, bytes: u64, requests: u64) {
        self.queued.fetch_sub(1, Ordering::Relaxed);
        self.requests.fetch_sub(requests, Ordering::Relaxed);
        self.give_back(bytes);
    }
}

impl Event {
    fn requests(&self) -> u64 {
        u64::from(matches!(self, Event::Request { .. }))
    }

    /// The room that its copies take.
    fn bytes(&self) -> u64 {
        match self {
            Event::Request { room, .. } => *room,
            Event::Part { bytes, .. } | Event::Models { bytes, .. } => bytes.len() as u64,
            _ => 0,
        }
    }
}
