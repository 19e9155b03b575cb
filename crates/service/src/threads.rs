//! Threads that share the processor and their data.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, also after a panic elsewhere: the state is replayable, so a half-done change is at worst
/// dropped with its conversation.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets the calling thread work only when nobody else wants the processor: what has already left is not
/// worth delaying what is about to.
pub fn step_back() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, 19) {
        tracing::debug!(%error, "cannot lower its priority below the proxy's");
    }
}

/// Lets whoever waits for the processor have it. A kernel that preempts lazily lets a thread that never
/// asks it for anything run to the next tick, also one that has stepped back.
pub fn give_way() {
    std::thread::yield_now();
}
