//! The cost of an edit in tokens and in money.

use ctx_models::CacheState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of the provider's cache at the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cache {
    #[default]
    Warm,
    /// Expired or unknown.
    Cold,
    /// Unused: the conversation is too short, or its client sets no breakpoint.
    Unused,
}

/// In input tokens, weighted by the prices of the provider's cache.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// The cache state that the figures assume.
    #[serde(default)]
    pub cache: Cache,
    /// Tokens read again only because of the change: from the last cached position before it.
    #[serde(default)]
    pub reread: u64,
    /// Each request without the plan, once the cache is warm.
    pub without: u64,
    /// The next request without the plan: more, if the cache is cold.
    #[serde(default)]
    pub next_without: u64,
    /// The first request with it: everything behind the first change is written again.
    pub first: u64,
    /// Each later request.
    pub later: u64,
    /// The additional cost of the next request; negative if it saves at once.
    #[serde(default)]
    pub once: i64,
    /// The saving of each later request.
    #[serde(default)]
    pub saves: i64,
    /// The number of requests after which it pays off; none if it saves nothing.
    pub pays_off_after: Option<u64>,
    /// The same at the prices of the model and its cache; none if they are unknown.
    #[serde(default)]
    pub money: Option<Money>,
}

/// In dollars, like [`Cost`]. Input only: answers cost the same either way.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Money {
    pub without: f64,
    #[serde(default)]
    pub next_without: f64,
    pub first: f64,
    pub later: f64,
    #[serde(default)]
    pub once: f64,
    #[serde(default)]
    pub saves: f64,
    pub pays_off_after: Option<u64>,
    /// The prices are those of the nearest model of the family, because its own are unknown.
    #[serde(default)]
    pub nearest: bool,
}

impl From<Cache> for CacheState {
    fn from(cache: Cache) -> CacheState {
        match cache {
            Cache::Warm => CacheState::Warm,
            Cache::Cold => CacheState::Cold,
            Cache::Unused => CacheState::Unused,
        }
    }
}
