//! The known state of the provider's cache.

use super::cache_forecast::CacheForecast;
use ctx_api::requests::Usage;
use ctx_core::edit::CommitId;
use ctx_core::{Key, NodeIx};
use std::collections::VecDeque;

/// The number of remembered request ends.
const ENDS: usize = 64;

/// The number of remembered digests at which the cache was written.
const WRITTEN: usize = 256;

#[derive(Debug, Default)]
pub struct CacheState {
    pub answer: Option<CacheReport>,
    /// The lifetime of the provider's cache in seconds, unless answers report it.
    pub kept_for: Option<u64>,
    /// Digests at which the provider's cache was recently written, oldest first.
    pub written: VecDeque<Key>,
    /// The ends of the newest requests, oldest first. The cache was written there too.
    pub ends: VecDeque<NodeIx>,
    /// Those of `ends` whose requests were changed.
    pub rewritten: VecDeque<NodeIx>,
    /// The expected content of the provider's cache.
    pub forecast: CacheForecast,
    pub newest: NewestRequest,
}

/// The digests of the newest request as sent. Not replayed: after a restart nothing of it is certain.
#[derive(Debug, Default)]
pub struct NewestRequest {
    pub head: Key,
    /// After each message.
    pub after: Vec<Key>,
    /// The messages of the client's request.
    pub messages: usize,
}

impl CacheState {
    /// Adds the end of a request of the path.
    pub fn end_at(&mut self, end: Option<NodeIx>) {
        self.ends.extend(end);
        self.ends.drain(..self.ends.len().saturating_sub(ENDS));
    }

    /// Marks the newest request as rewritten.
    pub fn rewritten(&mut self) {
        self.rewritten.extend(self.ends.back());
        self.rewritten.drain(..self.rewritten.len().saturating_sub(ENDS));
    }

    /// Adds digests at which the cache was written.
    pub fn write(&mut self, digests: impl Iterator<Item = Key>) {
        self.written.extend(digests);
        self.written.drain(..self.written.len().saturating_sub(WRITTEN));
    }

    /// Sets its lifetime in seconds, overriding answers.
    pub fn keep_for(&mut self, seconds: Option<u64>) {
        self.kept_for = seconds;
        self.forecast.keep_for(seconds);
    }
}

/// The newest answer's report on the provider's cache.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheReport {
    /// The time its request was sent; the lifetime begins there.
    pub at: u64,
    pub usage: Usage,
    /// The lifetime of the cache in seconds, if something was written to it.
    pub ttl: Option<u64>,
    /// The newest commit when it was sent.
    pub head: Option<CommitId>,
}
