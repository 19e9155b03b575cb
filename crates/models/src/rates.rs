//! The cost of an edit, and the number of requests after which it pays off.
//!
//! With a warm cache, everything behind the first change is written again, once. With a cold one, the whole prompt is
//! written anyway: an edit costs nothing, and the removed tokens are saved at once.

use crate::cache::CacheRules;

/// The cost of a token in any unit: uncached, read from the cache, and written to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    pub fresh: f64,
    pub read: f64,
    pub write: f64,
}

/// The state of the provider's cache at the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheState {
    Warm,
    /// Expired or unknown.
    Cold,
    /// Unused: the prompt is too short, or the client sets no breakpoint.
    Unused,
}

/// Tokens of a request without and with an edit, and the cached part of the latter.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    pub before: u64,
    pub after: u64,
    pub kept: u64,
}

/// The rates of a prompt without and with an edit, which may take it below or above the size from which prompts cost
/// more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EditRates {
    pub without: Rates,
    pub with: Rates,
}

/// The cost of the prompts of a conversation with and without an edit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EditCost {
    /// Each request without the edit, once the cache is warm, and the next one.
    pub without: f64,
    pub next_without: f64,
    /// The first request with the edit, and each later one.
    pub first: f64,
    pub later: f64,
    /// The number of requests after which it pays off; none if it saves nothing.
    pub pays_off_after: Option<u64>,
}

/// A one-time cost against a saving per request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BreakEven {
    /// Negative if the next request is already cheaper.
    pub once: f64,
    pub saves: f64,
}

impl Default for Rates {
    /// In input tokens, for a model without known prices.
    fn default() -> Rates {
        Rates::from(&CacheRules::default())
    }
}

impl From<&CacheRules> for Rates {
    /// In input tokens, for a model with a known cache and unknown prices.
    fn from(rules: &CacheRules) -> Rates {
        let write = rules.lifetimes.first().map_or(1.0, |lifetime| lifetime.write);
        Rates { fresh: 1.0, read: rules.read, write }
    }
}

impl Rates {
    /// In input tokens.
    pub fn relative(self) -> Rates {
        self.by(self.fresh)
    }

    fn by(self, unit: f64) -> Rates {
        Rates { fresh: self.fresh / unit, read: self.read / unit, write: self.write / unit }
    }

    /// Per token, if these are per million.
    pub fn per_token(self) -> Rates {
        self.by(1e6)
    }
}

impl From<Rates> for EditRates {
    /// Those of a prompt that costs the same per token with the edit.
    fn from(rates: Rates) -> EditRates {
        EditRates { without: rates, with: rates }
    }
}

impl EditRates {
    /// In input tokens of the prompt without the edit.
    pub fn relative(self) -> EditRates {
        let unit = self.without.fresh;
        EditRates { without: self.without.by(unit), with: self.with.by(unit) }
    }
}

impl EditCost {
    pub fn of(sizes: Sizes, state: CacheState, EditRates { without: old, with: new }: EditRates) -> EditCost {
        let (before, after) = (sizes.before as f64, sizes.after as f64);
        let kept = (sizes.kept as f64).min(after);
        let (without, next_without, first, later) = match state {
            CacheState::Warm => {
                let first = new.read * kept + new.write * (after - kept);
                (old.read * before, old.read * before, first, new.read * after)
            }
            CacheState::Cold => (old.read * before, old.write * before, new.write * after, new.read * after),
            CacheState::Unused => (old.fresh * before, old.fresh * before, new.fresh * after, new.fresh * after),
        };
        let cost = EditCost { without, next_without, first, later, pays_off_after: None };
        EditCost { pays_off_after: cost.requests(), ..cost }
    }

    /// The number of requests after which the edit has cost no more than doing without it; the first one counts.
    fn requests(&self) -> Option<u64> {
        /// Differences of large figures are not exact.
        const SLACK: f64 = 1e-9;
        let more = self.once() / self.saves();
        (self.saves() > 0.0).then(|| (1.0 + more - SLACK).ceil().max(1.0) as u64)
    }

    /// The additional cost of the next request; negative if the edit saves at once.
    pub fn once(&self) -> f64 {
        self.first - self.next_without
    }

    /// The saving of each later request.
    pub fn saves(&self) -> f64 {
        self.without - self.later
    }
}

impl BreakEven {
    /// The break-even of removing `removed` tokens, with `tail` tokens behind the first of them.
    pub fn of(tail: f64, removed: f64, state: CacheState, rates: Rates) -> BreakEven {
        let Rates { fresh, read, write } = rates;
        match state {
            CacheState::Warm => BreakEven { once: tail * (write - read), saves: removed * read },
            CacheState::Cold => BreakEven { once: -removed * write, saves: removed * read },
            CacheState::Unused => BreakEven { once: -removed * fresh, saves: removed * fresh },
        }
    }

    /// The number of requests after which the savings cover the cost; none if they never do.
    pub fn requests(&self) -> Option<f64> {
        match self.once <= 0.0 {
            _ if self.saves <= 0.0 => None,
            true => Some(0.0),
            false => Some(self.once / self.saves),
        }
    }

    /// The minimum number of tokens to remove from the beginning of a prompt of `tokens` so that it pays, if the prompt
    /// grows by `growth` tokens per request and is cut again when it reaches its old size.
    ///
    /// Removing `c` of `t` tokens pays if its [`BreakEven::requests`] is at most the `c / g` requests until then:
    ///
    /// ```text
    /// (t - c)·(w - r) / (c·r) ≤ c / g
    /// ```
    ///
    /// The least such `c` is the positive root of `(r/g)·c² + (w-r)·c - t·(w-r) = 0`.
    pub fn least_removed(tokens: f64, growth: f64, rates: Rates) -> f64 {
        let more = (rates.write - rates.read).max(0.0);
        let by_growth = rates.read / growth;
        let root = (more * more + 4.0 * by_growth * more * tokens).sqrt();
        (root - more) / (2.0 * by_growth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes { before: 10_000, after: 6_000, kept: 4_000 };

    #[test]
    fn a_warm_cache_is_written_again_behind_the_change() {
        let cost = EditCost::of(SIZES, CacheState::Warm, Rates::default().into());
        assert_eq!([cost.without, cost.next_without, cost.first, cost.later], [1_000.0, 1_000.0, 2_900.0, 600.0]);
        assert_eq!((cost.once(), cost.saves()), (1_900.0, 400.0));
        assert_eq!(cost.pays_off_after, Some(6), "2,900 + 5 × 600 = 5,900 < 6 × 1,000");
        let hour = Rates { fresh: 4.0, read: 0.2, write: 8.0 };
        assert_eq!(
            EditCost::of(SIZES, CacheState::Warm, hour.into()).pays_off_after,
            Some(20),
            "dear to write, cheap to read"
        );
    }

    #[test]
    fn a_cold_or_unused_cache_makes_an_edit_free() {
        let cost = EditCost::of(SIZES, CacheState::Cold, Rates::default().into());
        assert_eq!((cost.once(), cost.saves(), cost.pays_off_after), (-5_000.0, 400.0, Some(1)));
        let cost = EditCost::of(SIZES, CacheState::Unused, Rates::default().into());
        assert_eq!((cost.once(), cost.saves(), cost.pays_off_after), (-4_000.0, 4_000.0, Some(1)));
    }

    #[test]
    fn each_side_is_priced_by_the_size_of_its_prompt() {
        let cheap = Rates { fresh: 1.0, read: 0.1, write: 1.25 };
        let dear = Rates { fresh: 2.0, read: 0.2, write: 2.5 };
        let rates = EditRates { without: dear, with: cheap };
        let cost = EditCost::of(SIZES, CacheState::Warm, rates);
        assert_eq!([cost.without, cost.next_without, cost.first, cost.later], [2_000.0, 2_000.0, 2_900.0, 600.0]);
        assert_eq!(cost.pays_off_after, Some(2), "2,900 + 600 = 3,500 < 2 × 2,000");
        let cold = EditCost::of(SIZES, CacheState::Cold, rates);
        assert_eq!([cold.next_without, cold.first, cold.once()], [25_000.0, 7_500.0, -17_500.0]);
        let back = EditCost::of(SIZES, CacheState::Warm, EditRates { without: cheap, with: dear });
        assert_eq!((back.saves(), back.pays_off_after), (-200.0, None), "smaller, and yet dearer");
        let relative = rates.relative();
        assert_eq!((relative.without.fresh, relative.with.fresh), (1.0, 0.5), "in the same unit");
    }

    #[test]
    fn an_edit_that_saves_nothing_never_pays_off() {
        for state in [CacheState::Warm, CacheState::Cold, CacheState::Unused] {
            let cost = EditCost::of(Sizes { before: 0, after: 10, kept: 0 }, state, Rates::default().into());
            assert_eq!(cost.pays_off_after, None);
        }
    }

    /// The break-even factors of the rulebook: tail · (w - r) / (removed · r).
    #[test]
    fn the_factor_between_tail_and_removed_tokens_is_the_rulebooks() {
        for (write, read, factor) in [(1.25, 0.1, 11.5), (2.0, 0.1, 19.0), (2.0, 0.05, 39.0), (2.0, 0.025, 79.0)] {
            let even = BreakEven::of(1_000.0, 1_000.0, CacheState::Warm, Rates { fresh: 1.0, read, write });
            assert!(even.requests().is_some_and(|requests| (requests - factor).abs() < 1e-9), "{even:?}");
        }
    }

    #[test]
    fn the_least_that_is_removed_breaks_even_when_it_has_grown_again() {
        let (tokens, growth, rates) = (120_000.0, 1_500.0, Rates::default());
        let least = BreakEven::least_removed(tokens, growth, rates);
        let even = BreakEven::of(tokens - least, least, CacheState::Warm, rates);
        assert!(even.requests().is_some_and(|requests| (requests - least / growth).abs() < 1e-6), "{even:?}");
    }
}
