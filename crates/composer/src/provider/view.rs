//! How the provider's own editing goes, for those who ask.

use super::known::WEEK_MS;
use crate::directory::lock;
use crate::log::Answered;
use crate::{Composer, now};
use ctx_api::status::{ProviderView, RefusedView};
use ctx_api::timeline::ProviderEdit;
use std::sync::atomic::{AtomicU64, Ordering};

/// Since the start.
#[derive(Debug, Default)]
pub struct Counts {
    asked: AtomicU64,
    clearings: AtomicU64,
    tool_uses: AtomicU64,
    thinking_turns: AtomicU64,
    tokens: AtomicU64,
    summaries: AtomicU64,
}

impl Counts {
    pub fn asked(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
    }

    pub fn answered(&self, answered: &Answered) {
        let sum = |count: fn(&ProviderEdit) -> Option<u64>| answered.applied_edits.iter().filter_map(count).sum();
        let add = |count: &AtomicU64, more: u64| {
            count.fetch_add(more, Ordering::Relaxed);
        };
        add(&self.clearings, u64::from(answered.clears()));
        add(&self.tool_uses, sum(|edit| edit.cleared_tool_uses));
        add(&self.thinking_turns, sum(|edit| edit.cleared_thinking_turns));
        add(&self.tokens, answered.cleared());
        add(&self.summaries, u64::from(answered.summary.is_some()));
    }
}

impl Composer {
    /// How the provider's own editing goes.
    pub fn provider_view(&self) -> ProviderView {
        let counts = &self.engine.provider.counts;
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let at = now();
        let known = lock(&self.engine.provider.known);
        let refused = known.refusals.iter().filter(|refusal| refusal.counts(at)).map(|refusal| RefusedView {
            model: refusal.model.clone(),
            edit: refusal.edit.clone(),
            at: refusal.at,
            until: refusal.at.saturating_add(WEEK_MS),
            words: refusal.words.clone(),
        });
        ProviderView {
            enabled: self.engine.provider.is_on(),
            asked: get(&counts.asked),
            clearings: get(&counts.clearings),
            cleared_tool_uses: get(&counts.tool_uses),
            cleared_thinking_turns: get(&counts.thinking_turns),
            cleared_tokens: get(&counts.tokens),
            summaries: get(&counts.summaries),
            refused: refused.collect(),
        }
    }
}
