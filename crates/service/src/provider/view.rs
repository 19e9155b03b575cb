//! The state of the provider's own editing, for display.

use crate::clock::now;
use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::status::{ProviderView, RefusedView};
use ctx_engine::ports::provider::WEEK_MS;
use std::sync::atomic::{AtomicU64, Ordering};

impl Parts {
    pub(crate) fn provider_view(&self) -> ProviderView {
        let counts = &self.provider.counts;
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let at = now();
        let known = lock(&self.provider.known);
        let refused = known.refusals.iter().filter(|refusal| refusal.counts(at)).map(|refusal| RefusedView {
            model: refusal.model.clone(),
            edit: refusal.edit.clone(),
            at: refusal.at,
            until: refusal.at.saturating_add(WEEK_MS),
            words: refusal.words.clone(),
        });
        ProviderView {
            enabled: self.provider.is_on(),
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
