//! The provider's cache: the part of a conversation that it holds, and the causes of its misses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The provider reads it from its cache, as long as that is warm and nothing in it changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CacheView {
    /// The last frame or step that lies wholly in it; nothing where not even the tools do.
    pub until: Option<String>,
    pub tokens: u64,
    /// When the newest request used it; it lives from then on.
    pub at: u64,
    pub ttl_seconds: u64,
    pub expires_at: u64,
    pub warm: bool,
    /// Tokens that the newest answer was read from there, and that were written.
    pub read: u64,
    pub written: u64,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct MissesQuery {
    /// One request, by its name (`r17`) or number, whether it missed something or not.
    pub request: Option<String>,
    /// At most so many; 20 without it.
    pub limit: Option<usize>,
}

/// What was foreseen of the cache, and what was missed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Misses {
    pub conversation: String,
    /// Requests of which it was foreseen what would be read from the cache.
    pub foreseen: u64,
    /// Those of them where that came true, within five of a hundred.
    pub came_true: u64,
    /// The newest first.
    pub misses: Vec<MissView>,
    /// Misses that are not listed.
    pub more: u64,
}

/// A request and what it missed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MissView {
    pub request: u32,
    /// When it was answered.
    pub at: u64,
    /// Tokens that should have been read from the cache, and that were; all tokens of the prompt.
    pub expected: Option<u64>,
    pub read: u64,
    pub prompt: u64,
    /// Nothing where nothing worth a word was missed.
    pub miss: Option<CacheMiss>,
}

/// Tokens that were in the provider's cache, or could have been, and were read anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CacheMiss {
    pub cause: Cause,
    pub by: By,
    /// The first thing that differed, where that is the cause: a frame, step, message or block, `system#2`,
    /// `tools/Bash`.
    pub place: Option<String>,
    /// The commit that changed it.
    pub commit: Option<String>,
    /// Never more than what was read anew.
    pub tokens: u64,
    /// Seconds since the cache was used before, and how many it lives; of what expired.
    pub idle_seconds: Option<u64>,
    pub ttl_seconds: Option<u64>,
    /// All of it as a sentence.
    pub words: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Nothing was there yet.
    FirstRequest,
    ModelChanged,
    ToolsChanged,
    SystemChanged,
    /// How the model shall think or choose its tools.
    MannerChanged,
    /// The conversation was edited.
    Edited,
    /// The client sent its history otherwise than before: it went back, compacted it or wrote it anew.
    HistoryChanged,
    /// The provider itself took something out.
    Cleared,
    /// It was used too long ago.
    Expired,
    /// No mark of the request looks back as far as what was written.
    OutOfReach,
    /// The prompt is too short to be cached.
    BelowMinimum,
    Unknown,
}

/// Who is behind it.
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
