//! Works on one conversation, passed in by the caller. Takes no conversation lock, starts no thread.

use crate::ports::handles::Handles;
use crate::ports::{Authors, NoProvider, OffloadFolder, Provider};
use ctx_models::Models;
use ctx_store::Reader;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The engine: settings and ports, without the state of a conversation.
pub struct Engine {
    /// Messages that are not in memory.
    pub contents: Arc<dyn Reader>,
    /// Prices, context windows and other model data.
    pub models: Models,
    /// The moments that deferred edits wait for.
    pub moments: Moments,
    /// The edits that the provider is asked to make.
    pub provider: Arc<dyn Provider>,
    pub offload_folder: Option<Arc<dyn OffloadFolder>>,
    /// Offloaded content stays in the store, and goes to no folder.
    pub handles: Option<Handles>,
    /// Who may edit; unset, everyone who can.
    pub authors: OnceLock<Arc<dyn Authors>>,
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
            handles: None,
            authors: OnceLock::new(),
            nonce: AtomicU64::new(0),
        }
    }

    /// Counts from another number, so that two daemons do not give the same ids.
    pub fn with_nonce(self, start: u64) -> Engine {
        Engine { nonce: AtomicU64::new(start), ..self }
    }

    /// The lifetime of the provider's cache for a model in seconds, unless answers report it: set by the user, `asked`
    /// for by the request, or usual for the provider.
    pub fn kept_for(&self, model: Option<&str>, asked: Option<u64>) -> Option<u64> {
        self.moments.cache_seconds.or_else(|| self.models.cache_seconds_of(model, asked))
    }

    /// A number that was not returned before.
    pub fn nonce(&self) -> u64 {
        self.nonce.fetch_add(1, Ordering::Relaxed)
    }
}

/// Settings of the moments for deferred edits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moments {
    /// The share of the model's context window from which the limit is near.
    pub near_limit_percent: u64,
    /// The lifetime of the provider's cache in seconds; overrides the provider's own.
    pub cache_seconds: Option<u64>,
}

impl Default for Moments {
    fn default() -> Moments {
        Moments { near_limit_percent: 80, cache_seconds: None }
    }
}
