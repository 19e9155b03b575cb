//! A single request: its body, its answer, and its differences from the client's request.

use ctx_models::CacheWrite;
use ctx_models::cache::{FIVE_MINUTES, ONE_HOUR};

use crate::edit::RepairView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SentView {
    pub conversation: String,
    /// Its name, such as `r17`.
    pub request: String,
    pub number: u32,
    pub at: u64,
    pub class: String,
    pub verdict: String,
    pub model: Option<String>,
    /// Bytes of the client's body.
    pub client_bytes: u64,
    /// Bytes of the sent body; none if it cannot be rebuilt.
    pub bytes: Option<u64>,
    /// The sent body differs from the client's.
    pub changed: bool,
    /// The newest commit in force.
    pub head: Option<String>,
    /// Edits that `ctx` requested from the provider, in addition to the client's.
    pub asks: Vec<String>,
    /// Why its exact body cannot be shown; none if it can.
    pub missing: Option<String>,
    pub answer: Option<SentAnswer>,
    /// Further remarks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// The answer in short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SentAnswer {
    /// 0 without an answer.
    pub status: u16,
    pub ending: String,
    pub stop_reason: Option<String>,
    pub usage: Option<Usage>,
    pub error: Option<AnswerError>,
    pub first_byte_ms: Option<u64>,
    pub total_ms: u64,
}

/// No request has this many tokens: ten times the largest known context window.
pub const MOST_TOKENS: u64 = 20_000_000;

/// The provider's token counts for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    pub input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub output: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerError {
    pub kind: String,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CompositionView {
    pub conversation: String,
    /// The request equals the client's.
    pub untouched: bool,
    pub repairs: Vec<RepairView>,
    pub thinking_dropped: usize,
    /// Cache breakpoints in the messages.
    pub marks: usize,
    pub tokens: u64,
    pub source_tokens: u64,
    /// Active commits, newest first.
    pub commits: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    #[serde(flatten)]
    pub explained: CompositionView,
    /// The content that the provider refuses, if `ctx heal` can remove it.
    pub problem: Option<String>,
}

impl Usage {
    pub fn is_believable(&self) -> bool {
        let all = [self.input, self.cache_read, self.cache_write, self.output];
        let parts = [self.cache_write_1h, self.thinking].into_iter().flatten();
        all.into_iter().chain(parts).all(|tokens| tokens <= MOST_TOKENS)
    }

    /// All tokens that the model read.
    pub fn prompt(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// The same in the form common to all providers. `asked`: the lifetime in seconds that the request asked for, if
    /// the answer does not report that of its writes.
    pub fn counted(&self, asked: Option<u64>) -> ctx_models::Usage {
        let long = self.cache_write_1h.unwrap_or(0).min(self.cache_write);
        let short = self.cache_write - long;
        let write = |(seconds, tokens)| Some(CacheWrite { seconds, tokens });
        ctx_models::Usage {
            input: self.prompt(),
            cache_read: self.cache_read,
            cache_writes: [(asked.unwrap_or(FIVE_MINUTES), short), (ONE_HOUR, long)].map(write),
            output: self.output,
            reasoning: self.thinking,
        }
    }

    /// The tokens in the provider's cache after the answer.
    pub fn cached(&self) -> u64 {
        self.cache_read.saturating_add(self.cache_write)
    }
}
