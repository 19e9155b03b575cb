//! The automatic editor that is switched on, and where it keeps what it clears. What it does to a conversation is in
//! [`ctx_engine::automatic`].

mod ask;
mod editor;
mod keep;

pub use editor::{Editor, ProviderEdits};

use crate::Service;
use ctx_engine::ports::Automatic;
use std::sync::{Arc, PoisonError, RwLock};

/// The editor that is switched on, if any.
#[derive(Default)]
pub(crate) struct Switch(RwLock<Option<Arc<dyn Automatic>>>);

impl Switch {
    pub fn get(&self) -> Option<Arc<dyn Automatic>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether every request must be held for it.
    pub fn holds_all(&self) -> bool {
        self.get().is_some_and(|editor| editor.holds_all())
    }
}

impl Service {
    /// From now on conversations are edited by `editor`, or by nobody. What was made stays.
    pub fn automate(&self, editor: Option<Arc<dyn Automatic>>) {
        *self.automatic.0.write().unwrap_or_else(PoisonError::into_inner) = editor;
    }
}
