//! The cost of a request by cause: what it reads from the cache, what it sends for the first time, what it writes again,
//! and its reply.

use ctx_models::Rates;
use ctx_models::cache::Reading;
use serde::Serialize;
use std::collections::HashMap;
use std::ops::AddAssign;

/// The cost in dollars by cause; together, the whole cost.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Causes {
    /// Content read from the cache.
    pub reads: f64,
    /// Content sent for the first time.
    pub first_writes: f64,
    /// Content sent again because an edit changed something before it.
    pub edit_rewrites: f64,
    /// Content sent again because the cache no longer had it: it had expired, or belonged to another model.
    pub cold_rewrites: f64,
    /// Replies.
    pub answers: f64,
    /// Looking again for content that an edit had removed.
    pub rereads: f64,
}

impl Causes {
    pub fn total(&self) -> f64 {
        self.each().into_iter().map(|(_, cost)| cost).sum()
    }

    /// Each cause with its name and cost.
    pub fn each(&self) -> [(&'static str, f64); 6] {
        let Causes { reads, first_writes, edit_rewrites, cold_rewrites, answers, rereads } = *self;
        [
            ("reads", reads),
            ("first writes", first_writes),
            ("rewrites after edits", edit_rewrites),
            ("rewrites when cold", cold_rewrites),
            ("answers", answers),
            ("re-reads", rereads),
        ]
    }
}

impl AddAssign for Causes {
    fn add_assign(&mut self, other: Causes) {
        self.reads += other.reads;
        self.first_writes += other.first_writes;
        self.edit_rewrites += other.edit_rewrites;
        self.cold_rewrites += other.cold_rewrites;
        self.answers += other.answers;
        self.rereads += other.rereads;
    }
}

/// A request that is charged.
pub struct ChargedRequest<'m> {
    pub reading: Reading,
    pub rates: Rates,
    /// Its tokens that no request had before.
    pub new: f64,
    /// The cache it uses, the time in milliseconds, and the lifetime of the cache in seconds.
    pub cache: &'m str,
    pub at: u64,
    pub lifetime: u64,
    /// A policy changed something before it that had been sent.
    pub edited: bool,
}

/// Knows why a request writes content again.
#[derive(Default)]
pub struct Ledger<'m> {
    /// The end of each cache's lifetime.
    warm_until: HashMap<&'m str, u64>,
    edited: bool,
}

impl<'m> Ledger<'m> {
    /// The cost of a prompt by cause.
    pub fn charge(&mut self, request: &ChargedRequest<'m>) -> Causes {
        let Reading { read, written, input } = request.reading;
        self.edited |= request.edited;
        let is_warm = self.warm_until.get(request.cache).is_some_and(|until| request.at <= *until);
        let until = request.at.saturating_add(request.lifetime * 1000);
        self.warm_until.entry(request.cache).and_modify(|end| *end = until.max(*end)).or_insert(until);
        let sent = request.rates.prompt(input, 0.0, written);
        let first = sent * (request.new / (written + input).max(1.0)).min(1.0);
        let mut causes =
            Causes { reads: request.rates.prompt(0.0, read, 0.0), first_writes: first, ..Causes::default() };
        match is_warm && self.edited {
            true => causes.edit_rewrites = sent - first,
            false => causes.cold_rewrites = sent - first,
        }
        causes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_models::Models;

    fn charge(
        ledger: &mut Ledger<'static>,
        minute: u64,
        (read, written, new): (f64, f64, f64),
        edited: bool,
    ) -> Causes {
        let rates = Models::listed()
            .of("claude-opus-4-5")
            .model()
            .and_then(|model| model.price(1000))
            .expect("a price")
            .rates(300);
        let reading = Reading { read, written, input: 0.0 };
        ledger.charge(&ChargedRequest { reading, rates, new, cache: "a", at: minute * 60_000, lifetime: 300, edited })
    }

    #[test]
    fn what_is_written_is_new_or_rewritten_after_an_edit_or_when_the_cache_is_cold() {
        let mut ledger = Ledger::default();
        let first = charge(&mut ledger, 0, (0.0, 1e6, 1e6), false);
        assert_eq!(first, Causes { first_writes: 6.25, ..Causes::default() });
        let grown = charge(&mut ledger, 1, (1e6, 1e6, 1e6), false);
        assert_eq!(grown, Causes { reads: 0.5, first_writes: 6.25, ..Causes::default() });
        let edited = charge(&mut ledger, 2, (1e6, 2e6, 1e6), true);
        assert_eq!((edited.edit_rewrites, edited.cold_rewrites), (6.25, 0.0));
        let cold = charge(&mut ledger, 9, (0.0, 3e6, 1e6), true);
        assert_eq!((cold.edit_rewrites, cold.cold_rewrites, cold.first_writes), (0.0, 12.5, 6.25));
        assert_eq!(cold.total(), 18.75);
    }

    #[test]
    fn before_any_edit_only_the_cache_itself_can_lose_something() {
        let mut ledger = Ledger::default();
        charge(&mut ledger, 0, (0.0, 1e6, 1e6), false);
        assert_eq!(charge(&mut ledger, 1, (0.0, 1e6, 0.0), false).cold_rewrites, 6.25);
    }
}
