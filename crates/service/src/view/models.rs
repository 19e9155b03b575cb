//! The models of all providers, with prices, windows and caches.

use crate::parts::Parts;
use ctx_api::models::ModelsView;

impl Parts {
    pub(crate) fn models(&self) -> ModelsView {
        (&self.engine.models).into()
    }
}
