//! The switch of the automatic editor.

use ctx_engine::ports::Automatic;
use std::sync::{Arc, PoisonError, RwLock};

/// The current editor, if any.
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

    pub fn put(&self, editor: Option<Arc<dyn Automatic>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = editor;
    }
}
