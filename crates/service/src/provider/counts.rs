//! Counts the edits that the provider was asked for, and made.

use ctx_api::timeline::ProviderEdit;
use ctx_engine::log::AnswerRecord;
use std::sync::atomic::{AtomicU64, Ordering};

/// Since the start.
#[derive(Debug, Default)]
pub struct Counts {
    pub asked: AtomicU64,
    pub clearings: AtomicU64,
    pub tool_uses: AtomicU64,
    pub thinking_turns: AtomicU64,
    pub tokens: AtomicU64,
    pub summaries: AtomicU64,
}

impl Counts {
    pub fn asked(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
    }

    pub fn answered(&self, answered: &AnswerRecord) {
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
