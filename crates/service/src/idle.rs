//! The idle gate: background work runs in the gaps between requests.
//!
//! A low priority is not enough. A kernel that does not preempt lets a thread of the lowest priority finish its slice
//! of some milliseconds, many times the duration of a request. So no work starts while bytes pass; under a load without
//! gaps it is postponed for a limited time.

use crate::threads::lock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// The time without traffic that counts as a gap.
const GAP: Duration = Duration::from_millis(20);

/// The longest wait for a gap.
const LATEST: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct IdleGate {
    start: Instant,
    /// When bytes last passed, in microseconds since the start.
    passed: AtomicU64,
    /// The number of threads that wait for the work.
    hurried: AtomicUsize,
    asleep: Mutex<()>,
    wake: Condvar,
}

impl Default for IdleGate {
    fn default() -> IdleGate {
        IdleGate {
            start: Instant::now(),
            passed: AtomicU64::new(0),
            hurried: AtomicUsize::new(0),
            asleep: Mutex::default(),
            wake: Condvar::new(),
        }
    }
}

impl IdleGate {
    /// Records that bytes pass now.
    pub fn passing(&self) {
        self.passed.store(self.start.elapsed().as_micros() as u64, Ordering::Relaxed);
    }

    /// Waits for a gap to do work from `since`, unless a thread waits for it or `crowded` reports a long queue.
    pub fn wait(&self, since: Instant, crowded: impl Fn() -> bool) {
        while since.elapsed() < LATEST && !crowded() {
            let passed = Duration::from_micros(self.passed.load(Ordering::Relaxed));
            let quiet = self.start.elapsed().saturating_sub(passed);
            match GAP.checked_sub(quiet) {
                Some(rest) if !passed.is_zero() => {
                    let asleep = lock(&self.asleep);
                    if self.hurried.load(Ordering::SeqCst) > 0 {
                        return;
                    }
                    let waited = self.wake.wait_timeout(asleep, rest);
                    if waited.is_ok_and(|(_, waited)| !waited.timed_out()) {
                        return;
                    }
                }
                _ => return,
            }
        }
    }

    /// Postpones nothing until the guard is dropped.
    pub fn hurry(self: &Arc<Self>) -> Hurry {
        self.hurried.fetch_add(1, Ordering::SeqCst);
        drop(lock(&self.asleep));
        self.wake.notify_all();
        Hurry(self.clone())
    }
}

#[derive(Debug)]
pub struct Hurry(Arc<IdleGate>);

impl Drop for Hurry {
    fn drop(&mut self) {
        self.0.hurried.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_waits_for_a_gap_but_not_for_ever_and_not_when_somebody_waits() {
        let gaps = Arc::new(IdleGate::default());
        let waited = |crowded: bool| {
            let since = Instant::now();
            gaps.wait(since, || crowded);
            since.elapsed()
        };
        assert!(waited(false) < GAP, "nothing has passed yet");
        std::thread::sleep(Duration::from_millis(1));
        gaps.passing();
        assert!(waited(true) < GAP);
        gaps.passing();
        assert!(waited(false) >= GAP / 2);
        gaps.passing();
        let hurry = gaps.hurry();
        assert!(waited(false) < GAP);
        drop(hurry);
        gaps.passing();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(GAP / 8);
                drop(gaps.hurry());
            });
            assert!(waited(false) < GAP / 2 + GAP / 4, "whoever comes in a hurry wakes us up");
        });
        let began = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while began.elapsed() < 3 * LATEST / 2 {
                    gaps.passing();
                    std::thread::sleep(GAP / 8);
                }
            });
            assert!(waited(false) <= LATEST + LATEST / 3);
        });
    }
}
