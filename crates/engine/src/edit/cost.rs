//! The cost and savings of an edit, given the content of the provider's cache (rulebook B6).
//!
//! With a warm cache, everything behind the first change is written again, once. With a cold one, everything is written
//! anyway: an edit costs nothing and saves at once.

use crate::Engine;
use crate::compose::{Ground, RepairReport};
use crate::conversation::Conversation;
use ctx_api::cost::{Cache, Cost, Money};
use ctx_api::edit::{EditResult, When};
use ctx_core::edit::fold::View;
use ctx_models::{CacheState, EditCost, EditRates, Models, Rates, Sizes};

/// The rates of a model for a prompt without and with an edit, in dollars per token.
#[derive(Debug, Clone, Copy)]
pub struct ModelRates {
    pub rates: EditRates,
    /// They are those of another model of the family.
    pub nearest: bool,
}

fn money(cost: &EditCost, nearest: bool) -> Money {
    Money {
        without: cost.without,
        next_without: cost.next_without,
        first: cost.first,
        later: cost.later,
        once: cost.once(),
        saves: cost.saves(),
        pays_off_after: cost.pays_off_after,
        nearest,
    }
}

/// The cost of a change of these sizes.
fn edit_cost(sizes: Sizes, cache: Cache, model: Option<ModelRates>) -> Cost {
    let tokens = |weighed: f64| weighed.round() as u64;
    let known = model.map(|model| model.rates).filter(|rates| rates.without.fresh > 0.0);
    let state = CacheState::from(cache);
    let weighed = EditCost::of(sizes, state, known.map_or_else(|| Rates::default().into(), EditRates::relative));
    let reread = if cache == Cache::Warm { sizes.after.saturating_sub(sizes.kept) } else { 0 };
    Cost {
        cache,
        reread,
        without: tokens(weighed.without),
        next_without: tokens(weighed.next_without),
        first: tokens(weighed.first),
        later: tokens(weighed.later),
        once: weighed.once().round() as i64,
        saves: weighed.saves().round() as i64,
        pays_off_after: weighed.pays_off_after,
        money: model.map(|model| money(&EditCost::of(sizes, state, model.rates), model.nearest)),
    }
}

impl Engine {
    /// Adds to a preview the cache content, and the cost of the change now or at its moment.
    pub fn priced(
        &self,
        conversation: &Conversation,
        ground: &Ground<'_>,
        (old, new): ((&View<'_>, &RepairReport), (&View<'_>, &RepairReport)),
        applied: &mut EditResult,
        (when, now): (When, u64),
    ) {
        let preview = &mut applied.preview;
        preview.cache = self.cached(conversation, ground, old, now);
        let cache = match when {
            When::Cold => Cache::Cold,
            When::Now | When::NearLimit | When::Accepted => conversation.cache(now),
        };
        let kept = match preview.first_change {
            // The request does not change, so nothing is read again.
            None => applied.tokens_after,
            // The cache may hold more than the content before the change: an undo restores content sent before.
            Some(_) => {
                let reached = self.cached(conversation, ground, new, now).map(|cache| cache.tokens);
                reached.unwrap_or(preview.tokens_ahead).min(applied.tokens_after)
            }
        };
        let sizes = Sizes { before: applied.tokens_before, after: applied.tokens_after, kept };
        let model = conversation.newest.envelope.model.as_deref();
        let cost = edit_cost(sizes, cache, rates(&self.models, model, conversation.lifetime(), sizes));
        // The same figure before and after an edit.
        applied.preview.tokens_reread = cost.reread;
        applied.preview.cost = Some(cost);
    }
}

impl Conversation {
    /// The cache state for a request that came now.
    pub fn cache(&self, now: u64) -> Cache {
        match &self.cache.answer {
            Some(cached) if cached.usage.cached() == 0 && self.progress.answered => Cache::Unused,
            Some(_) if now < self.newest_warm_until() => Cache::Warm,
            _ => Cache::Cold,
        }
    }

    /// Until when the provider's cache may hold content of the conversation. Each model has its own cache; this is the
    /// end of the last one.
    pub fn warm_until(&self) -> u64 {
        self.newest_warm_until().max(self.usage.account.warm_elsewhere())
    }

    /// The same for the cache of the newest model. An unanswered request counts from its arrival: rather too long than
    /// too short.
    fn newest_warm_until(&self) -> u64 {
        match &self.cache.answer {
            Some(cached) if cached.usage.cached() == 0 && self.progress.answered => 0,
            cached => {
                let used = cached.as_ref().map_or(0, |cached| cached.at).max(self.progress.heard);
                used.saturating_add(self.lifetime().saturating_mul(1000))
            }
        }
    }
}

/// The rates of a model with this cache lifetime for prompts of these sizes.
fn rates(models: &Models, model: Option<&str>, lifetime: u64, sizes: Sizes) -> Option<ModelRates> {
    let of = |prompt: u64| models.price(model?, prompt);
    let ((without, stand_in), (with, _)) = (of(sizes.before)?, of(sizes.after)?);
    let [without, with] = [without, with].map(|price| price.rates(lifetime).per_token());
    Some(ModelRates { rates: EditRates { without, with }, nearest: stand_in.is_some() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes { before: 10_000, after: 6_000, kept: 4_000 };
    const OPUS: Rates = Rates { fresh: 4e-6, read: 2e-7, write: 8e-6 };
    const RATES: ModelRates = ModelRates { rates: EditRates { without: OPUS, with: OPUS }, nearest: false };

    fn near(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-12
    }

    #[test]
    fn with_a_warm_cache_what_lies_behind_the_change_is_paid_for_once() {
        let cost = edit_cost(SIZES, Cache::Warm, None);
        assert_eq!((cost.without, cost.next_without, cost.first, cost.later), (1_000, 1_000, 2_900, 600));
        assert_eq!((cost.once, cost.saves, cost.reread), (1_900, 400, 2_000));
        assert_eq!(cost.pays_off_after, Some(6), "2,900 + 5 × 600 = 5,900 < 6 × 1,000");
        let cost = edit_cost(SIZES, Cache::Warm, Some(RATES));
        assert_eq!((cost.without, cost.first, cost.later), (500, 4_200, 300), "by the factors of the model");
        let money = cost.money.expect("prices");
        assert!(near(money.without, 0.002) && near(money.first, 0.0168) && near(money.later, 0.0012), "{money:?}");
        assert!(near(money.once, 0.0148) && near(money.saves, 0.0008), "{money:?}");
        assert_eq!(money.pays_off_after, Some(20), "an hour's cache is dear to write and cheap to read");
        assert_eq!(cost.pays_off_after, money.pays_off_after);
    }

    #[test]
    fn with_a_cold_cache_an_edit_is_free_and_saves_what_writing_costs_at_once() {
        let cost = edit_cost(SIZES, Cache::Cold, Some(RATES));
        assert_eq!((cost.next_without, cost.first, cost.without, cost.later), (20_000, 12_000, 500, 300));
        assert_eq!((cost.once, cost.saves, cost.pays_off_after), (-8_000, 200, Some(1)));
        assert!(near(cost.money.expect("prices").once, -4_000.0 * 8e-6));
    }

    #[test]
    fn where_nothing_is_cached_every_token_counts_each_time() {
        let cost = edit_cost(SIZES, Cache::Unused, None);
        assert_eq!((cost.without, cost.first, cost.later, cost.once), (10_000, 6_000, 6_000, -4_000));
        assert_eq!((cost.pays_off_after, cost.money), (Some(1), None));
    }

    #[test]
    fn an_edit_that_takes_a_prompt_below_the_size_from_which_it_costs_more_also_saves_the_surcharge() {
        let cost = |before, after| {
            let sizes = Sizes { before, after, kept: 100_000 };
            let model = rates(Models::listed(), Some("gpt-6.1-sol"), 1_800, sizes);
            edit_cost(sizes, Cache::Warm, model)
        };
        let below = cost(300_000, 200_000);
        let money = below.money.expect("prices");
        // Twice as much above 272,000 tokens: 0.2 for a read; below, 0.1, and 2.5 for a write.
        assert!(near(money.without, 0.06) && near(money.next_without, 0.06), "{money:?}");
        assert!(near(money.first, 0.26) && near(money.later, 0.02), "{money:?}");
        assert!(near(money.once, 0.2) && near(money.saves, 0.04), "{money:?}");
        assert_eq!((below.pays_off_after, money.pays_off_after), (Some(6), Some(6)));
        assert_eq!((below.without, below.later), (15_000, 5_000), "in input tokens of the prompt without the edit");
        let above = cost(400_000, 300_000).money.expect("prices");
        assert!(near(above.without, 0.08) && near(above.later, 0.06), "{above:?}");
        let grown = cost(200_000, 300_000).money.expect("prices");
        assert!(near(grown.without, 0.02) && near(grown.later, 0.06) && grown.pays_off_after.is_none(), "{grown:?}");
    }

    #[test]
    fn what_saves_nothing_never_pays_off() {
        let same = edit_cost(Sizes { before: 5_000, after: 5_000, kept: 5_000 }, Cache::Warm, None);
        assert_eq!((same.once, same.saves, same.pays_off_after), (0, 0, None));
        for cache in [Cache::Warm, Cache::Cold, Cache::Unused] {
            assert_eq!(edit_cost(Sizes { before: 0, after: 10, kept: 0 }, cache, None).pays_off_after, None);
        }
    }
}
