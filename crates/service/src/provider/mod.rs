//! The provider's own context editing: its settings and its state.

mod counts;
mod known;
mod state;
mod view;

pub use state::ProviderRules;
pub(crate) use state::ProviderState;

use crate::parts::Parts;
use ctx_engine::ports::About;
use ctx_engine::ports::provider::ProviderKnowledge;
use std::sync::Arc;

impl Parts {
    pub(crate) fn ask_provider(&mut self, source: Arc<dyn ProviderRules>, upstream: &str) {
        let known = ProviderKnowledge::load(&*self.store, upstream);
        self.provider = Arc::new(ProviderState::new(source, upstream, known));
        self.engine.provider = self.provider.clone();
    }

    pub(crate) fn provider_edits(&self, about: &About<'_>) -> bool {
        self.engine.provider_edits(about)
    }

    pub(crate) fn asks_provider(&self) -> bool {
        self.provider.is_on()
    }
}
