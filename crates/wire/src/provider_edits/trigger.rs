//! When the provider edits, with defaults filled in.

use super::settings::{ProviderSettings, Trigger};

/// Clearing begins at this share of the model's window; summaries a little later, as the last resort.
pub const CLEAR_PERCENT: u64 = 60;
pub const COMPACT_PERCENT: u64 = 80;
/// If the window is unknown: the provider's own defaults (C3, C8).
pub const CLEAR_TOKENS: u64 = 100_000;
pub const COMPACT_TOKENS: u64 = 150_000;
/// The provider does not summarise less.
pub const LEAST_COMPACT: u64 = 50_000;

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
