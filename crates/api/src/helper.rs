//! The helper model that writes summaries and titles, and its jobs.

use crate::edit::EditResult;
use ctx_core::ReceivedCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A summary that replaces a part of the conversation.
    Summary,
    /// A summary of one tool result.
    Result,
    Title,
}

/// A text written for an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HelperText {
    pub kind: Kind,
    /// Its subject.
    pub of: String,
    /// The writer: `ctx` itself, or a model.
    pub by: String,
    pub text: String,
}

/// The helper model, its budget and its jobs.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct HelperView {
    /// `none`, `anthropic`, `openai` or `claude`.
    pub provider: String,
    pub model: Option<String>,
    pub url: Option<String>,
    /// The variable of the key, and whether the daemon found a value in it.
    pub key_env: Option<String>,
    pub has_key: bool,
    /// Tokens used today, and the daily limit.
    pub used_today: u64,
    pub budget_per_day: u64,
    pub timeout_seconds: f32,
    pub max_chars: usize,
    /// Whether titles are written in the background.
    pub titles: bool,
    /// Whether ended phases are summarised in the background.
    #[serde(default)]
    pub phases: bool,
    /// Newest first.
    pub jobs: Vec<JobView>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct HelperTest {
    pub by: String,
    /// Its answer, cleaned.
    pub said: String,
    pub took_ms: u64,
    pub used_today: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    Asking,
    Done,
    Failed,
    Cancelled,
}

/// The progress of a job.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct JobView {
    pub job: String,
    pub conversation: String,
    pub state: State,
    /// The writer: a model, or `ctx` itself.
    pub by: String,
    /// Written texts, and the total.
    pub found: usize,
    pub wanted: usize,
    pub started_at: u64,
    /// The outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<EditResult>,
    /// The reason for a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<JobError>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct JobError {
    #[schemars(with = "String")]
    pub code: ReceivedCode,
    pub message: String,
    pub hint: String,
}

impl Kind {
    /// The maximum number of characters of an answer.
    pub fn longest(self) -> usize {
        match self {
            Kind::Summary => 6_000,
            Kind::Result => 3_000,
            Kind::Title => 80,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Kind::Summary | Kind::Result => "summary",
            Kind::Title => "title",
        }
    }
}

impl State {
    /// The state as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            State::Asking => "asking",
            State::Done => "done",
            State::Failed => "failed",
            State::Cancelled => "cancelled",
        }
    }
}
