//! What is told to whoever listens: that the limit is near, and that something was cleared.

use super::run::By;
use crate::conversation::Conversation;
use crate::log::{self, Automatic};
use crate::{Composer, record};
use ctx_core::edit::history::Change;
use ctx_core::edit::{Commit, CommitId, Operation};
use ctx_core::policy::stub::is_result_stub;
use ctx_store::Step;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Signal {
    ContextNearLimit,
    CompactionComplete,
}

impl Signal {
    pub fn name(self) -> &'static str {
        match self {
            Signal::ContextNearLimit => "CONTEXT_NEAR_LIMIT",
            Signal::CompactionComplete => "COMPACTION_COMPLETE",
        }
    }
}

/// How near the limit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Figures {
    /// Of the request at hand.
    pub tokens: u64,
    /// What the model takes.
    pub window: u64,
    /// The share of it from which on the limit is near, and the tokens that this is.
    pub percent: u64,
    pub limit: u64,
}

/// What is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Told {
    pub signal: Signal,
    /// The number of the request at hand.
    pub request: u32,
    #[serde(flatten)]
    pub figures: Figures,
    /// Of something that was cleared: tokens before it, how many results and inputs went, and the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_before: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleared: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
}

impl Composer {
    /// Tells once that the limit is near, and again when it has been far in between.
    pub(super) fn tell_near(&self, conversation: &mut Conversation, figures: Figures, at: u64, step: &mut Step) {
        let is_near = figures.limit > 0 && figures.tokens >= figures.limit;
        if std::mem::replace(&mut conversation.near_limit, is_near) || !is_near {
            return;
        }
        let request = conversation.requests;
        let told = Told {
            signal: Signal::ContextNearLimit,
            request,
            figures,
            tokens_before: None,
            cleared: None,
            commit: None,
        };
        tell(conversation, told, at, step);
    }

    /// Tells that something was cleared. That what says nothing was left out of a new result is not worth a signal.
    pub(super) fn tell_done(&self, conversation: &Conversation, commit: &Commit, by: &By<'_>, step: &mut Step) {
        let window = self.window_of(conversation);
        let limit = by.editor.limit(&super::run::about(conversation, commit.at), by.settings, window);
        let cleared = match &commit.change {
            Change::Edit { operations, .. } => operations.iter().filter(|operation| clears(operation)).count() as u64,
            _ => 0,
        };
        if cleared == 0 {
            return;
        }
        let told = Told {
            signal: Signal::CompactionComplete,
            request: conversation.requests,
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

fn tell(conversation: &Conversation, told: Told, at: u64, step: &mut Step) {
    tracing::info!(
        conversation = %conversation.id,
        tokens = told.figures.tokens,
        window = told.figures.window,
        "{}",
        told.signal.name()
    );
    step.records.push(record(&conversation.id, at, log::AUTOMATIC, &Automatic::Signal(told), Vec::new()));
}
