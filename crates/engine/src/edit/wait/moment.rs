//! Decides when a moment has come. Pure: the clock and all figures are inputs.

use crate::conversation::Conversation;
use crate::{Engine, card};
use ctx_api::edit::When;

/// The figures that moments depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Situation {
    pub now: u64,
    /// Until when the provider's cache may hold content of the conversation, for any model.
    pub warm_until: u64,
    /// The tokens of the next request.
    pub tokens: u64,
    /// The threshold from which the limit is near.
    pub limit: u64,
}

impl Situation {
    /// Whether the moment has come.
    pub fn has(&self, when: When) -> bool {
        match when {
            When::Now => true,
            When::Cold => self.now >= self.warm_until,
            When::NearLimit => self.tokens >= self.limit,
            When::Accepted => false,
        }
    }
}

impl Engine {
    pub fn situation(&self, conversation: &Conversation, now: u64) -> Situation {
        let tokens = conversation.tokens(card::weight(conversation));
        let limit = self.window_of(conversation) / 100 * self.moments.near_limit_percent;
        Situation { now, warm_until: conversation.warm_until(), tokens, limit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_told_by_the_clock_and_the_figures() {
        let at = |now, tokens| Situation { now, warm_until: 300_000, tokens, limit: 160_000 };
        assert!(at(0, 0).has(When::Now));
        assert!(!at(299_999, 0).has(When::Cold) && at(300_000, 0).has(When::Cold));
        assert!(!at(0, 159_999).has(When::NearLimit) && at(0, 160_000).has(When::NearLimit));
        assert!(!at(300_000, 0).has(When::NearLimit) && !at(0, 160_000).has(When::Cold));
    }
}
