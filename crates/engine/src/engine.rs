//! Acts on one conversation: it is given the conversation, and all that is needed beside it. No lock of a conversation,
//! no thread, nothing of other conversations.

use crate::ports::{NoProvider, OffloadFolder, Provider};
use ctx_models::Models;
use ctx_store::Reader;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The engine: settings and ports, and no state of a conversation.
pub struct Engine {
    /// Messages that are not in memory.
    pub contents: Arc<dyn Reader>,
    /// Prices, windows and the like.
    pub models: Models,
    /// The moments that deferred edits wait for.
    pub moments: Moments,
    /// What the provider is asked to edit by itself.
    pub provider: Arc<dyn Provider>,
    /// Offloaded content goes there.
    pub offload_folder: Option<Arc<dyn OffloadFolder>>,
    nonce: AtomicU64,
}

impl Engine {
    pub fn new(contents: Arc<dyn Reader>) -> Engine {
        Engine {
            contents,
            models: Models::listed().clone(),
            moments: Moments::default(),
            provider: Arc::new(NoProvider),
            offload_folder: None,
            nonce: AtomicU64::new(0),
        }
    }

    /// Seconds that the provider's cache lives for a model, where the settings say so.
    pub fn kept_for(&self, model: Option<&str>) -> Option<u64> {
        self.moments.cache_seconds.or_else(|| self.models.cache_seconds_of(model))
    }

    /// A number that was not given before.
    pub fn nonce(&self) -> u64 {
        self.nonce.fetch_add(1, Ordering::Relaxed)
    }
}

/// What the settings say of moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moments {
    /// The share of what the model takes from which on the limit is near.
    pub near_limit_percent: u64,
    /// How many seconds the provider's cache lives, where its own word does not count.
    pub cache_seconds: Option<u64>,
}

impl Default for Moments {
    fn default() -> Moments {
        Moments { near_limit_percent: 80, cache_seconds: None }
    }
}
