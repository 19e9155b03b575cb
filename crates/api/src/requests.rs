//! A single request: what was sent, what came back, and how it differs from what the client sent.

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
    /// Bytes of the body that the client sent.
    pub client_bytes: u64,
    /// Bytes of the body that left; absent where that cannot be rebuilt.
    pub bytes: Option<u64>,
    /// It left otherwise than it came.
    pub changed: bool,
    /// The newest commit that counted in it.
    pub head: Option<String>,
    /// What the provider was asked to edit by itself, beside what the client asked.
    pub asks: Vec<String>,
    /// Why its exact body cannot be shown; absent where it can.
    pub missing: Option<String>,
    pub answer: Option<SentAnswer>,
    /// What else happened to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// What came back, in short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SentAnswer {
    /// 0 when there was no answer.
    pub status: u16,
    pub ending: String,
    pub stop_reason: Option<String>,
    pub usage: Option<Usage>,
    pub error: Option<ErrorSaid>,
    pub first_byte_ms: Option<u64>,
    pub total_ms: u64,
}

/// No request has so many tokens: ten times the largest context window that is known.
pub const MOST_TOKENS: u64 = 20_000_000;

/// Token counts that the provider reported for a request.
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
pub struct ErrorSaid {
    pub kind: String,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Explained {
    pub conversation: String,
    /// Nothing differs from what the client sent.
    pub untouched: bool,
    pub repairs: Vec<RepairView>,
    pub thinking_dropped: usize,
    /// Cache marks in the messages.
    pub marks: usize,
    pub tokens: u64,
    pub source_tokens: u64,
    /// Active commits, the newest first.
    pub commits: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    #[serde(flatten)]
    pub explained: Explained,
    /// What the provider refuses, if `ctx heal` knows a way out.
    pub problem: Option<String>,
}

impl Usage {
    pub fn is_believable(&self) -> bool {
        let all = [self.input, self.cache_read, self.cache_write, self.output];
        let parts = [self.cache_write_1h, self.thinking].into_iter().flatten();
        all.into_iter().chain(parts).all(|tokens| tokens <= MOST_TOKENS)
    }

    /// All the tokens the model read.
    pub fn prompt(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// The same in the form that all providers share.
    pub fn counted(&self) -> ctx_models::Usage {
        let long = self.cache_write_1h.unwrap_or(0).min(self.cache_write);
        let short = self.cache_write - long;
        let write = |(seconds, tokens)| Some(CacheWrite { seconds, tokens });
        ctx_models::Usage {
            input: self.prompt(),
            cache_read: self.cache_read,
            cache_writes: [(FIVE_MINUTES, short), (ONE_HOUR, long)].map(write),
            output: self.output,
            reasoning: self.thinking,
        }
    }

    /// Those that the provider's cache holds now.
    pub fn cached(&self) -> u64 {
        self.cache_read.saturating_add(self.cache_write)
    }

    /// How many seconds the end of what was written stays in the cache.
    pub fn ttl(&self) -> Option<u64> {
        self.counted().lifetime()
    }
}
