//! Takes passive copies of the traffic and processes them on its own threads.
//!
//! The proxy holds the halves of an exchange. Their calls only compare, copy new bytes and send: they never parse and
//! never wait. The proxy's buffers are not kept, so it can reuse them at once. When the threads cannot keep up, copies
//! are dropped and counted; the bytes themselves have long left. [`lanes`] orders and parallelises the processing.

mod copies;
mod event;
mod exchange;
mod gauges;
mod lanes;
mod opening;
mod waiting;
mod work;

pub use copies::{RequestCopy, ResponseCopy};
pub use event::{Composition, Flaw, Reply, Withheld};
pub(crate) use lanes::{Lanes, Order};

use crate::service::Service;
use ctx_api::status::Load;
use event::Event;
use gauges::Gauges;
use lanes::LaneKey;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use work::Worker;

/// Creates the halves of exchanges, and knows the length of the queue.
#[derive(Clone)]
pub struct Recorder {
    service: Arc<Service>,
    gauges: Arc<Gauges>,
    _open: Arc<OpenLanes>,
}

/// Keeps the lanes open as long as a recorder exists.
struct OpenLanes(Arc<Lanes>);

impl Drop for OpenLanes {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Recorder {
    pub fn start(service: Arc<Service>) -> std::io::Result<Recorder> {
        let gauges = Arc::new(Gauges::default());
        let alarmed = Arc::downgrade(&service);
        service.parts.alarm.start(move |id| alarmed.upgrade().map(|service| service.parts.wake(id)).is_some())?;
        service.follow_replicas()?;
        let (lanes, weak, of_worker) = (service.parts.lanes.clone(), Arc::downgrade(&service), gauges.clone());
        service.parts.lanes.start(move || {
            let Some(service) = weak.upgrade() else { return Ok(()) };
            let worker = Worker::new(service, of_worker.clone());
            std::thread::Builder::new().name("ctx-recorder".into()).spawn(move || worker.run()).map(drop)
        })?;
        Ok(Recorder { service, gauges, _open: Arc::new(OpenLanes(lanes)) })
    }

    /// Takes the provider's answer to a client that listed the models.
    pub fn models(&self, encoding: Option<&str>, bytes: Vec<u8>) {
        if self.gauges.make_room(bytes.len() as u64) {
            let event = Event::Models { encoding: encoding.map(Into::into), bytes };
            self.send(&Arc::new(LaneKey::Others), event);
        }
    }

    /// Waits until all traffic so far is processed and stored, at most for `most`.
    pub fn settle(&self, most: Duration) {
        let deadline = Instant::now() + most;
        let _hurry = self.service.parts.gaps.hurry();
        self.service.parts.lanes.settle(most);
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

    /// Sends an event whose bytes already have their room.
    fn send(&self, lane: &Arc<LaneKey>, event: Event) {
        let (bytes, requests) = (event.bytes(), event.requests());
        self.gauges.queued.fetch_add(1, Ordering::Relaxed);
        self.gauges.requests.fetch_add(requests, Ordering::Relaxed);
        if !self.service.parts.lanes.push(lane, event) {
            self.gauges.leave(bytes, requests);
        }
    }
}
