//! A list that a server writes and a test reads, waiting for a condition instead of sleeping.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// The timeout for events that should happen at once.
const PATIENCE: Duration = Duration::from_secs(20);

/// The awaited condition did not come true in time.
#[derive(Debug, thiserror::Error)]
#[error("waited {PATIENCE:?} in vain; {seen} entries were seen")]
pub struct NotObserved {
    seen: usize,
}

#[derive(Debug)]
pub(crate) struct ObservedValue<T> {
    entries: Mutex<Vec<T>>,
    changed: Notify,
}

impl<T: Clone> ObservedValue<T> {
    pub(crate) fn new() -> Self {
        Self { entries: Mutex::new(Vec::new()), changed: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<T>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn all(&self) -> Vec<T> {
        self.lock().clone()
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Vec<T>)) {
        change(&mut self.lock());
        self.changed.notify_waiters();
    }

    pub(crate) async fn wait_until(&self, condition: impl Fn(&[T]) -> bool) -> Result<Vec<T>, NotObserved> {
        let watch = async {
            loop {
                // Registered before the check, so that no change is missed.
                let changed = self.changed.notified();
                tokio::pin!(changed);
                changed.as_mut().enable();
                let entries = self.all();
                if condition(&entries) {
                    return entries;
                }
                changed.await;
            }
        };
        tokio::time::timeout(PATIENCE, watch).await.map_err(|_| NotObserved { seen: self.lock().len() })
    }
}
