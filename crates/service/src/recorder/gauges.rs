//! The length of the queue, and the number of drops.

use std::sync::atomic::{AtomicU64, Ordering};

/// The maximum number of queued bytes.
const QUEUE: u64 = 256 * 1024 * 1024;

/// Counters of queued and dropped copies.
#[derive(Debug, Default)]
pub(super) struct Gauges {
    pub queued: AtomicU64,
    pub queued_bytes: AtomicU64,
    pub dropped: AtomicU64,
    pub unreadable: AtomicU64,
    pub refused: AtomicU64,
    pub requests: AtomicU64,
    pub exchanges: AtomicU64,
}

impl Gauges {
    /// Takes room for a copy; false if there is none. Copies of arriving bodies count too.
    pub fn make_room(&self, bytes: u64) -> bool {
        if self.queued_bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) > QUEUE {
            self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        true
    }

    pub fn give_back(&self, bytes: u64) {
        self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub fn leave(&self, bytes: u64, requests: u64) {
        self.queued.fetch_sub(1, Ordering::Relaxed);
        self.requests.fetch_sub(requests, Ordering::Relaxed);
        self.give_back(bytes);
    }
}
