//! The cost of an edit in tokens and in money.

use ctx_models::CacheState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the provider's cache does for the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cache {
    #[default]
    Warm,
    /// It has expired, or nothing is known of it.
    Cold,
    /// Nothing is kept there: the conversation is too short, or its client does not ask for it.
    Unused,
}

/// In input tokens, as the provider's cache weighs them.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// What the figures are worked out for.
    #[serde(default)]
    pub cache: Cache,
    /// Tokens that are read again only because of the change: from the last place before it where the cache was written.
    #[serde(default)]
    pub reread: u64,
    /// Of each request without the plan, once the cache is warm.
    pub without: u64,
    /// Of the next one without the plan: more, if the cache is cold.
    #[serde(default)]
    pub next_without: u64,
    /// Of the first request with it: what lies behind the first change is written anew.
    pub first: u64,
    /// Of each one after that.
    pub later: u64,
    /// What it costs once, beyond what the next request takes anyway; less than nothing if it saves at once.
    #[serde(default)]
    pub once: i64,
    /// What each later request saves.
    #[serde(default)]
    pub saves: i64,
    /// After so many requests it pays off; never, if it saves nothing.
    pub pays_off_after: Option<u64>,
    /// The same at the prices of the model and with what its cache costs; nothing where they are not known.
    #[serde(default)]
    pub money: Option<Money>,
}

/// In dollars, as [`Cost`]. Only what is read: answers cost what they cost.
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
    /// The prices are those of the nearest model of the family: its own are not known.
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
