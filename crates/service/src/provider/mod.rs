//! The provider's own context editing: where it is switched on, and how it goes.

mod counts;
mod known;
mod state;
mod view;

pub use state::ProviderRules;
pub(crate) use state::ProviderState;

use crate::Service;
use ctx_engine::ports::About;
use ctx_engine::ports::provider::Known;
use std::sync::Arc;

impl Service {
    /// What the provider shall edit by itself. `upstream` says which provider that is.
    pub fn with_provider(mut self, source: Arc<dyn ProviderRules>, upstream: &str) -> Service {
        let known = Known::load(&*self.store, upstream);
        self.provider = Arc::new(ProviderState::new(source, upstream, known));
        self.engine.provider = self.provider.clone();
        self
    }

    /// Whether the provider edits the requests of a conversation by itself.
    pub fn provider_edits(&self, about: &About<'_>) -> bool {
        self.engine.provider_edits(about)
    }

    /// Whether anything is asked of a provider at all.
    pub fn asks_provider(&self) -> bool {
        self.provider.is_on()
    }
}
