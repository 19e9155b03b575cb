//! When the provider edits, with defaults filled in.

use super::settings::{ProviderSettings, Trigger};
use ctx_models::cache::ANTHROPIC;
use ctx_models::{BreakEven, Price};

/// Clearing begins at this share of the model's window; summaries a little later, as the last resort.
pub const CLEAR_PERCENT: u64 = 60;
pub const COMPACT_PERCENT: u64 = 80;
/// If the window is unknown: the provider's own defaults.
pub const CLEAR_TOKENS: u64 = 100_000;
pub const COMPACT_TOKENS: u64 = 150_000;
/// The provider does not summarise less.
pub const LEAST_COMPACT: u64 = 50_000;
/// The number of newest results to keep.
pub const CLEAR_KEEP: u64 = 5;
/// Tokens that an agent's request typically adds to the previous one.
const GROWTH: f64 = 1_500.0;

/// The minimum number of tokens to clear so that clearing pays: the provider clears near the beginning of the prompt,
/// and again when the prompt has grown to the trigger.
pub fn worth_clearing(trigger: u64, price: Option<Price>, lifetime: u64) -> u64 {
    let rates = price.filter(|price| price.read > 0.0).map(|price| price.rates(lifetime));
    let rates = rates.unwrap_or_else(|| Price::by_rules(1.0, 1.0, &ANTHROPIC).rates(lifetime));
    let least = BreakEven::least_removed(trigger as f64, GROWTH, rates);
    // In thousands, for people.
    (least / 1_000.0).ceil() as u64 * 1_000
}

impl Trigger {
    /// The tokens at which it fires; `None` if it counts calls, or if the window is unknown.
    pub(crate) fn tokens(self, window: Option<u64>) -> Option<u64> {
        match self {
            Trigger::Tokens(tokens) => Some(tokens),
            Trigger::Percent(percent) => window.map(|window| (window / 100).saturating_mul(percent).max(1)),
            Trigger::ToolUses(_) => None,
        }
    }
}

impl ProviderSettings {
    /// Whether the provider's triggers would fire for a prompt of this many tokens and tool uses.
    pub fn would_act(&self, window: Option<u64>, prompt: u64, tool_uses: u64) -> bool {
        let clears = self.clear_tool_uses.enabled.unwrap_or(true) && {
            let trigger = self.clear_tool_uses.trigger.unwrap_or(Trigger::Percent(CLEAR_PERCENT));
            match trigger {
                Trigger::ToolUses(calls) => tool_uses > calls,
                other => prompt >= other.tokens(window).unwrap_or(CLEAR_TOKENS),
            }
        };
        let compacts = self.compact.enabled.unwrap_or(false) && {
            let trigger = self.compact.trigger.unwrap_or(Trigger::Percent(COMPACT_PERCENT));
            prompt >= trigger.tokens(window).unwrap_or(COMPACT_TOKENS).max(LEAST_COMPACT)
        };
        clears || compacts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_models::Models;

    /// After the minimum clearing, the savings until the next clearing equal the cost of the rewrite.
    #[test]
    fn the_least_that_is_cleared_pays_for_itself() {
        for (model, window, lifetime) in [
            ("claude-opus-5-5", 1_000_000u64, 300),
            ("claude-opus-4-5", 200_000, 3600),
            ("claude-fable-5-2", 1_000_000, 3600),
        ] {
            let trigger = window * 60 / 100;
            let price = Models::listed().price(model, trigger).map(|(price, _)| price).expect("a price");
            let least = worth_clearing(trigger, Some(price), lifetime);
            let write = price.write(lifetime);
            let gain = |cleared: f64| {
                let saved = cleared * price.read * cleared / GROWTH;
                saved - (trigger as f64 - cleared) * (write - price.read)
            };
            assert!(gain(least as f64) >= 0.0 && gain(least as f64 - 1_000.0) < 0.0, "{model}: {least}");
            assert!(least > 0 && least < trigger);
        }
    }
}
