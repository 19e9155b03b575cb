//! Signals to listeners: the limit is near, or content was cleared.

use crate::automatic::By;
use crate::conversation::Conversation;
use crate::log::{self, Automatic};
use crate::{Engine, record};
use ctx_api::timeline::{Figures, Signal, SignalView};
use ctx_core::edit::history::Change;
use ctx_core::edit::{Commit, Operation};
use ctx_core::policy::stub::is_result_stub;
use ctx_store::Step;

impl Engine {
    /// Signals once that the limit is near, and again after it was far in between.
    pub fn tell_near(&self, conversation: &mut Conversation, figures: Figures, at: u64, step: &mut Step) {
        let is_near = figures.limit > 0 && figures.tokens >= figures.limit;
        if std::mem::replace(&mut conversation.policy.near_limit, is_near) || !is_near {
            return;
        }
        let request = conversation.progress.requests;
        let told = SignalView {
            signal: Signal::ContextNearLimit,
            request,
            figures,
            tokens_before: None,
            cleared: None,
            commit: None,
        };
        tell(conversation, told, at, step);
    }

    /// Signals that content was cleared. Trimming noise from a new result is not worth a signal.
    pub fn tell_done(&self, conversation: &Conversation, commit: &Commit, by: &By<'_>, step: &mut Step) {
        let window = self.window_of(conversation);
        let limit = by.editor.limit(&super::run::about(conversation, commit.at), by.settings, window);
        let cleared = match &commit.change {
            Change::Edit { operations, .. } => operations.iter().filter(|operation| clears(operation)).count() as u64,
            _ => 0,
        };
        if cleared == 0 {
            return;
        }
        let told = SignalView {
            signal: Signal::CompactionComplete,
            request: conversation.progress.requests,
            figures: Figures { tokens: commit.tokens_after, window, percent: limit.percent, limit: limit.tokens },
            tokens_before: Some(commit.tokens_before),
            cleared: Some(cleared),
            commit: Some(commit.id),
        };
        tell(conversation, told, commit.at, step);
    }
}

fn clears(operation: &Operation) -> bool {
    !matches!(operation, Operation::SummarizeResults { text: Some(text), .. } if !is_result_stub(text))
}

fn tell(conversation: &Conversation, told: SignalView, at: u64, step: &mut Step) {
    tracing::info!(
        conversation = %conversation.id(),
        tokens = told.figures.tokens,
        window = told.figures.window,
        "{}",
        told.signal.name()
    );
    step.records.push(record(conversation.id(), at, log::AUTOMATIC, &Automatic::Signal(told), Vec::new()));
}
