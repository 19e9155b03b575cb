//! The price of clearing: the tail that the provider caches again, against the tokens that each request saves.

use super::candidates::{Input, Item, Look, Thought};
use super::proposal::{Action, Proposal};
use ctx_models::{BreakEven, CacheState};

/// Sizes are estimates: the price may turn out higher by this factor.
const MARGIN: f64 = 1.15;

/// A possible cut: the tokens before it, and the tokens that it would remove.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PossibleCut {
    pub before: u64,
    pub removed: u64,
}

impl PossibleCut {
    /// The cut that shortens a result to its stub.
    pub fn of(item: &Item) -> PossibleCut {
        PossibleCut { before: item.before, removed: item.tokens.saturating_sub(item.left) }
    }
}

impl Look<'_> {
    /// Prices these cuts, in order of position, from each of them on: everything behind the last place before the first
    /// cut that the cache certainly holds is written again, once, unless the cache has expired anyway. Thinking behind
    /// the first cut goes too.
    pub fn prices(&self, cuts: &[PossibleCut]) -> Vec<Price> {
        if cuts.is_empty() {
            return Vec::new();
        }
        let (mut removed, held) = (0, self.held.places());
        let mut thinking = self.thinking.iter().rev().peekable();
        let mut prices: Vec<Price> = cuts
            .iter()
            .rev()
            .map(|cut| {
                removed += cut.removed;
                while let Some(thought) = thinking.next_if(|thought| thought.before >= cut.before) {
                    removed += thought.tokens;
                }
                let tail = self.tokens.saturating_sub(held.before(cut.before) + removed) as f64;
                let state = if self.cold { CacheState::Cold } else { CacheState::Warm };
                Price { break_even: BreakEven::of(tail, removed as f64, state, self.rates), removed }
            })
            .collect();
        prices.reverse();
        prices
    }

    /// Whether these edits together cost more than the account allows. Edits before content is first sent are free.
    pub fn exceeds_account(&self, proposals: &[Proposal]) -> bool {
        if self.cold || self.budget.is_none() {
            return false;
        }
        let mut cuts: Vec<PossibleCut> = proposals.iter().flat_map(|proposal| self.cuts(&proposal.what)).collect();
        cuts.sort_by_key(|cut| cut.before);
        self.prices(&cuts).first().is_some_and(|price| !self.affords(price))
    }

    /// The cuts of an edit in sent content.
    fn cuts(&self, what: &Action) -> Vec<PossibleCut> {
        let sent = |call: &str| self.items.iter().find(|item| &*item.call == call && !item.fresh);
        let input = |call: &str, removed: fn(&Input) -> u64| {
            let input = sent(call)?.input?;
            Some(PossibleCut { before: input.before, removed: removed(&input) })
        };
        match what {
            Action::ShortInput { call } => {
                input(call, |input| input.tokens.saturating_sub(input.left)).into_iter().collect()
            }
            Action::DropReplaced { call } => {
                input(call, |input| input.tokens.saturating_sub(input.unreplaced)).into_iter().collect()
            }
            Action::DropThinking { message, block } => {
                let is_it = |thought: &&Thought| (thought.message, thought.block) == (*message, *block);
                let thought = self.thinking.iter().find(is_it);
                thought.map(|thought| PossibleCut { before: thought.before, removed: 0 }).into_iter().collect()
            }
            other => other.results().iter().filter_map(|call| sent(call)).map(PossibleCut::of).collect(),
        }
    }

    /// Whether an edit of this price fits the account, even if it turns out somewhat dearer.
    pub fn affords(&self, price: &Price) -> bool {
        self.budget.is_none_or(|budget| price.break_even.once * MARGIN <= budget)
    }
}

/// The price of clearing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    pub break_even: BreakEven,
    pub removed: u64,
}

impl Price {
    /// The number of requests after which it pays off.
    pub fn pays_after(&self) -> f64 {
        self.break_even.requests().unwrap_or(if self.break_even.once <= 0.0 { 0.0 } else { f64::INFINITY })
    }

    /// The same as a phrase.
    pub fn forecast(&self) -> String {
        match self.pays_after().ceil() as u64 {
            0 => "at no cost".to_owned(),
            1 => "pays off after 1 request".to_owned(),
            requests => format!("pays off after {} requests", crate::format::count(requests)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_price_is_what_stands_behind_the_first_one() {
        let mut look = Look { tokens: 10_000, ..Look::default() };
        let (one, other) = (PossibleCut { before: 2000, removed: 900 }, PossibleCut { before: 6000, removed: 900 });
        let prices = look.prices(&[one, other]);
        assert_eq!(prices.iter().map(|price| price.removed).collect::<Vec<_>>(), [1800, 900]);
        assert!(
            (prices[0].break_even.once - 6200.0 * 1.15).abs() < 1e-6
                && (prices[1].break_even.once - 3100.0 * 1.15).abs() < 1e-6
        );
        assert!((prices[0].break_even.saves - 180.0).abs() < 1e-6);
        assert_eq!(prices[0].pays_after().ceil(), 40.0);
        look.cold = true;
        assert!((look.prices(&[one])[0].break_even.once + 900.0 * 1.25).abs() < 1e-6, "it saves at once");
        assert_eq!(look.prices(&[one])[0].pays_after(), 0.0);
    }

    #[test]
    fn an_edit_of_sent_content_may_exceed_the_account_unless_the_cache_has_expired() {
        let item = |call: &str, before: u64, fresh: bool| Item {
            call: call.into(),
            tokens: 5_000,
            before,
            left: 50,
            fresh,
            input: Some(Input { tokens: 900, before: before - 900, left: 100, unreplaced: 100 }),
            ..Item::default()
        };
        let items = vec![item("old", 10_000, false), item("new", 40_000, true)];
        let look = |budget: Option<f64>| Look { items: items.clone(), tokens: 50_000, budget, ..Look::default() };
        let shorten = |call: usize| Proposal::shorten([&items[call]], "old");
        // 35,050 tokens behind it are written again.
        let price = 35_050.0 * 1.15;
        for (budget, exceeds) in [(price * 1.10, true), (price * 1.16, false)] {
            assert_eq!(look(Some(budget)).exceeds_account(&shorten(0)), exceeds, "with a margin");
        }
        let short_input = vec![Proposal::short_input(&items[0], "old")];
        assert!(look(Some(price)).exceeds_account(&short_input), "it stands before its result");
        assert!(!look(Some(0.0)).exceeds_account(&shorten(1)), "it was never sent");
        assert!(!look(None).exceeds_account(&shorten(0)), "there is no account");
        assert!(!Look { cold: true, ..look(Some(-1.0)) }.exceeds_account(&shorten(0)), "it is free");
    }
}
