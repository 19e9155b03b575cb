//! The sizes of edited conversations as sent, after the provider's rules. Computed on demand, never while a request
//! waits.

use crate::threads::lock;
use std::collections::HashMap;
use std::sync::Mutex;

/// Figures of a card: the last activity, and the estimate.
type CardSays = (u64, u64);

/// Tokens by conversation, and the card's figures when they were counted.
#[derive(Debug, Default)]
pub(crate) struct WeightCache(Mutex<HashMap<String, (CardSays, u64)>>);

impl WeightCache {
    /// The tokens of a conversation, unless its card has changed.
    pub fn get(&self, id: &str, card: CardSays) -> Option<u64> {
        let known = lock(&self.0).get(id).copied();
        known.filter(|(then, _)| *then == card).map(|(_, tokens)| tokens)
    }

    pub fn put(&self, id: &str, card: CardSays, tokens: u64) {
        lock(&self.0).insert(id.to_owned(), (card, tokens));
    }

    pub fn forget(&self, id: &str) {
        lock(&self.0).remove(id);
    }
}
