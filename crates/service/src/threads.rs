//! Helpers for threads that share the processor and data.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, even after a panic elsewhere: the state is replayable, so a half-done change is at worst dropped.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives the calling thread the lowest priority: requests that have left must not delay those about to leave.
pub fn step_back() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, 19) {
        tracing::debug!(%error, "cannot lower its priority below the proxy's");
    }
}

/// Yields the processor. A kernel that preempts lazily lets a thread without system calls run to the next tick, even at
/// the lowest priority.
pub fn give_way() {
    std::thread::yield_now();
}
