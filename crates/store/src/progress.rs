//! Reports how far a long operation has come.

use std::fmt;
use std::sync::Arc;

/// A listener that hears how many items are done, and how many there are. The default has none.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<dyn Fn(u64, u64) + Send + Sync>>);

impl Progress {
    pub fn new(listener: impl Fn(u64, u64) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    pub fn report(&self, done: u64, total: u64) {
        if let Some(listener) = &self.0 {
            listener(done, total);
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Progress").field(&self.0.is_some()).finish()
    }
}
