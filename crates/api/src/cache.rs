//! The provider's cache: the cached part of a conversation, and the causes of cache misses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The cached part of a conversation. The provider reads it from its cache as long as the cache is warm and the part
/// does not change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CacheView {
    /// The last frame or step that is completely cached; none if not even the tools are.
    pub until: Option<String>,
    pub tokens: u64,
    /// The last use by a request; the lifetime starts there.
    pub at: u64,
    pub ttl_seconds: u64,
    pub expires_at: u64,
    pub warm: bool,
    /// Tokens read from the cache and written to it by the newest answer.
    pub read: u64,
    pub written: u64,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct MissesQuery {
    /// One request, by name (`r17`) or number, whether it missed the cache or not.
    pub request: Option<String>,
    /// The maximum number of misses; 20 by default.
    pub limit: Option<usize>,
}

/// Cache forecasts and misses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Misses {
    pub conversation: String,
    /// Requests with a forecast.
    pub foreseen: u64,
    /// Forecasts that were right within five percent.
    pub came_true: u64,
    /// Newest first.
    pub misses: Vec<MissView>,
    /// The number of misses that are not listed.
    pub more: u64,
}

/// A request and its cache miss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MissView {
    pub request: u32,
    /// The time of the answer.
    pub at: u64,
    /// Tokens expected from the cache, and read from it; all tokens of the prompt.
    pub expected: Option<u64>,
    pub read: u64,
    pub prompt: u64,
    /// None if the miss is negligible.
    pub miss: Option<CacheMiss>,
}

/// Tokens that were in the provider's cache, or could have been, and were read again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CacheMiss {
    pub cause: Cause,
    pub by: By,
    /// The first difference, if that is the cause: a frame, step, message or block, `system#2`, `tools/Bash`.
    pub place: Option<String>,
    /// The commit that changed it.
    pub commit: Option<String>,
    /// Never more than the tokens read again.
    pub tokens: u64,
    /// For an expired cache: seconds since its last use, and its lifetime.
    pub idle_seconds: Option<u64>,
    pub ttl_seconds: Option<u64>,
    /// The miss as a sentence.
    pub words: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The cache was empty.
    FirstRequest,
    ModelChanged,
    ToolsChanged,
    SystemChanged,
    /// The settings for thinking or tool choice changed.
    MannerChanged,
    /// The conversation was edited.
    Edited,
    /// The client changed its history: it rewound, compacted or rewrote it.
    HistoryChanged,
    /// The provider cleared content itself.
    Cleared,
    /// The last use was too long ago.
    Expired,
    /// No breakpoint of the request looks back far enough.
    OutOfReach,
    /// The prompt is too short to be cached.
    BelowMinimum,
    Unknown,
}

/// The party responsible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    Client,
    User,
    Agent,
    Policy,
    Provider,
}

impl CacheMiss {
    pub fn new(cause: Cause, by: By, tokens: u64, words: String) -> CacheMiss {
        let (place, commit, idle_seconds, ttl_seconds) = (None, None, None, None);
        CacheMiss { cause, by, place, commit, tokens, idle_seconds, ttl_seconds, words }
    }
}
