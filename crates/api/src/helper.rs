//! The helper model that writes summaries and titles, and its jobs.

use crate::edit::Applied;
use ctx_core::ReceivedCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Of a part of the conversation, in its place.
    Summary,
    /// Of what one tool answered.
    Result,
    Title,
}

/// Words that were found for an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Written {
    pub kind: Kind,
    /// What they are about.
    pub of: String,
    /// Who found them: `ctx` itself, or a model.
    pub by: String,
    pub text: String,
}

/// Who finds words, and what that may cost.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct HelperView {
    /// `none`, `anthropic`, `openai` or `claude`.
    pub provider: String,
    pub model: Option<String>,
    pub url: Option<String>,
    /// The variable that holds the key, and whether the daemon found something in it.
    pub key_env: Option<String>,
    pub has_key: bool,
    /// Tokens of today, and the most that a day may have.
    pub used_today: u64,
    pub budget_per_day: u64,
    pub timeout_seconds: f32,
    pub max_chars: usize,
    /// Whether titles are re-written in the background.
    pub titles: bool,
    /// The newest first.
    pub jobs: Vec<JobView>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct HelperTested {
    pub by: String,
    /// What it said, cleaned.
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

/// How far a job is.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct JobView {
    pub job: String,
    pub conversation: String,
    pub state: State,
    /// Who is asked: a model, or `ctx` itself.
    pub by: String,
    /// Words that are found, and how many are to be.
    pub found: usize,
    pub wanted: usize,
    pub started_at: u64,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<Applied>,
    /// Why nothing came of it.
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
    /// The most characters that an answer may have.
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
