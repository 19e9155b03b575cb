//! What is known of the provider's cache.

use super::cache_forecast::CacheForecast;
use ctx_api::requests::Usage;
use ctx_core::edit::CommitId;
use ctx_core::{Key, NodeIx};
use std::collections::VecDeque;

/// How many ends of requests are remembered.
const ENDS: usize = 64;

/// How many digests are remembered at which the cache was written.
const WRITTEN: usize = 256;

/// What is known of the provider's cache.
#[derive(Debug, Default)]
pub struct CacheState {
    pub answer: Option<CacheReport>,
    /// What the settings say of how long the provider's cache lives, in seconds.
    pub kept_for: Option<u64>,
    /// Digests at which the provider's cache was written lately, the newest last.
    pub written: VecDeque<Key>,
    /// Where the newest requests ended, the newest last: there too the cache was written.
    pub ends: VecDeque<NodeIx>,
    /// Those of them whose requests did not leave as they came.
    pub rewritten: VecDeque<NodeIx>,
    /// What the provider's cache should hold.
    pub forecast: CacheForecast,
}

impl CacheState {
    /// A request of the path ends here.
    pub fn end_at(&mut self, end: Option<NodeIx>) {
        self.ends.extend(end);
        self.ends.drain(..self.ends.len().saturating_sub(ENDS));
    }

    /// The newest request did not leave as it came.
    pub fn rewritten(&mut self) {
        self.rewritten.extend(self.ends.back());
        self.rewritten.drain(..self.rewritten.len().saturating_sub(ENDS));
    }

    /// The cache was written at these digests.
    pub fn write(&mut self, digests: impl Iterator<Item = Key>) {
        self.written.extend(digests);
        self.written.drain(..self.written.len().saturating_sub(WRITTEN));
    }

    /// Sets how many seconds it lives, whatever answers tell.
    pub fn keep_for(&mut self, seconds: Option<u64>) {
        self.kept_for = seconds;
        self.forecast.keep_for(seconds);
    }
}

/// What the newest answer told of the provider's cache.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheReport {
    /// When its request was sent: the cache lives from then on.
    pub at: u64,
    pub usage: Usage,
    /// Seconds that the cache lives, where something was written to it.
    pub ttl: Option<u64>,
    /// The newest commit when it was sent.
    pub head: Option<CommitId>,
}
