//! Durations in buckets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper bounds in microseconds, with their labels in seconds.
const BOUNDS: [(u64, &str); 14] = [
    (100, "0.0001"),
    (250, "0.00025"),
    (500, "0.0005"),
    (1_000, "0.001"),
    (2_500, "0.0025"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (50_000, "0.05"),
    (250_000, "0.25"),
    (1_000_000, "1"),
    (2_500_000, "2.5"),
    (10_000_000, "10"),
    (60_000_000, "60"),
    (600_000_000, "600"),
];

#[derive(Default)]
pub(crate) struct Histogram {
    buckets: [AtomicU64; BOUNDS.len()],
    /// Longer than the last bound.
    above: AtomicU64,
    microseconds: AtomicU64,
}

impl Histogram {
    pub(super) fn add(&self, duration: Duration) {
        let microseconds = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.iter().zip(&self.buckets).find(|((bound, _), _)| microseconds <= *bound);
        bucket.map_or(&self.above, |(_, bucket)| bucket).fetch_add(1, Ordering::Relaxed);
        self.microseconds.fetch_add(microseconds, Ordering::Relaxed);
    }

    /// The number of durations up to each bound, the number of all, and their sum in seconds.
    pub(super) fn cumulative(&self) -> (Vec<(&'static str, u64)>, u64, f64) {
        let mut total = 0;
        let buckets = BOUNDS.iter().zip(&self.buckets).map(|((_, label), bucket)| {
            total += bucket.load(Ordering::Relaxed);
            (*label, total)
        });
        let buckets = buckets.collect();
        let all = total + self.above.load(Ordering::Relaxed);
        (buckets, all, self.microseconds.load(Ordering::Relaxed) as f64 / 1e6)
    }
}
