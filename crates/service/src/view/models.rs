//! The models of all providers, with prices, windows and caches.

use crate::Service;
use ctx_api::models::ModelsView;

impl Service {
    pub fn models(&self) -> ModelsView {
        (&self.engine.models).into()
    }
}
