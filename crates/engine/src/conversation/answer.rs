//! Learns from an answer: the state of the cache, the token count, and the bindings of the thinking.

use super::account::AnsweredRequest;
use super::cache::CacheReport;
use super::{Conversation, estimate};
use crate::log::AnswerRecord;
use ctx_core::Key;

impl Conversation {
    /// Learns from the provider's report on a turn sent at `at`.
    pub fn learn(&mut self, answered: &AnswerRecord, at: u64) {
        self.cache.forecast.answered(answered);
        self.provider.remember(answered);
        let Some(estimated) = answered.estimated else { return };
        self.usage.hidden_thinking.answered(answered);
        // A stream can say `error` and end cleanly, and a client can disconnect once it has read the stop reason.
        let whole = answered.ending == "complete" || answered.stop_reason.is_some();
        self.progress.answered = answered.status == 200 && answered.error.is_none() && whole;
        if let Some(usage) = answered.usage {
            let cleared = answered.cleared();
            // The estimate covers neither repairs nor content that a summary replaces.
            let is_all = answered.summary.is_none() && !answered.summarised;
            if is_all && answered.repairs.iter().all(|(rule, _)| rule == "A65") {
                answered.model.iter().for_each(|model| self.usage.calibration.is_for(model));
                let counted = usage.prompt().saturating_add(cleared);
                let estimated = self.corrected(estimated, counted);
                self.usage.calibration.learn(estimated, counted);
            }
            if answered.status == 200 {
                self.provider.cleared = answered.cleared_results();
                self.provider.summed_up = self.sum_up(answered, estimated, usage.prompt());
                let before = self.cache.answer.as_ref().and_then(|cached| cached.ttl);
                let (ttl, head) = (answered.ttl().or(before), self.progress.asked);
                self.cache.answer = Some(CacheReport { at, usage, ttl, head });
                let tokens = |estimate: f64| self.tokens(estimate) as i64;
                let removed = answered.edited.map_or(0, |edited| tokens(edited.own) - tokens(edited.sent));
                let (model, lifetime) = (self.newest.envelope.model.as_deref(), self.lifetime());
                let exception = head.and_then(|head| self.history.get(head)).is_some_and(|commit| commit.exception);
                let usage = usage.counted(answered.asked_lifetime);
                let answered = AnsweredRequest { usage, removed, model, at, lifetime, head, exception };
                self.usage.account.add(&answered);
            }
        }
    }

    /// The estimate of a counted prompt, with thinking no larger than the count allows.
    fn corrected(&mut self, estimated: f64, counted: u64) -> f64 {
        let (too_large, excess) = self.usage.hidden_thinking.counted(estimated, counted, &self.usage.calibration);
        let mut corrected = estimated;
        for (slot, at) in too_large {
            let Some(block) = self.messages.tree.slot(slot).and_then(|slot| slot.message.blocks.get(at)) else {
                continue;
            };
            let size = block.fixed_tokens;
            if let Some(smaller) = self.usage.hidden_thinking.corrected(block, excess) {
                corrected -= f64::from(size - smaller);
                self.messages.tree.set_fixed_tokens(slot, at, smaller);
                self.composing.weight = None;
            }
        }
        corrected
    }

    /// Counts the tokens that the provider's own summary replaces.
    fn sum_up(&mut self, answered: &AnswerRecord, estimated: f64, prompt: u64) -> u64 {
        self.provider.before_summary = match &answered.summary {
            Some(summary) => summary.messages as usize,
            None if answered.summarised => self.provider.before_summary,
            None => 0,
        };
        let whole = self.tokens(estimated);
        match &answered.summary {
            // From the next request on.
            Some(_) => whole.saturating_sub(self.tokens(estimate(&self.newest.envelope, std::iter::empty()))),
            None if answered.summarised => whole.saturating_sub(prompt + answered.cleared()),
            None => 0,
        }
    }

    /// Binds the thinking of an answer, and records where its request wrote the cache.
    pub fn bind(&mut self, signatures: impl Iterator<Item = Key>, answered: &AnswerRecord) {
        let Some(prefix) = answered.prefix.filter(|_| answered.status == 200) else { return };
        self.composing.continuity.rebound |= self.reasoning.bind(signatures, prefix);
        self.cache.write(answered.marks.iter().copied().chain([prefix]));
    }
}
