//! Usage and cost, summed up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct StatsQuery {
    /// By what figures are summed up; by conversation without it.
    #[serde(default)]
    pub by: Grouping,
    /// Only from the day on in which this lies, in milliseconds since 1970. Days are those of UTC.
    pub since: Option<u64>,
    /// One conversation only.
    pub conv: Option<String>,
    /// At most so many groups; the sums are of all.
    pub limit: Option<usize>,
}

/// By what figures are summed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Grouping {
    Request,
    #[default]
    Conversation,
    /// The folder that the client works in.
    Project,
    /// In UTC.
    Day,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stats {
    pub by: Grouping,
    /// The beginning of the first day that counts.
    pub since: Option<u64>,
    /// The day that the prices are of.
    pub prices_as_of: String,
    /// Days and requests in their order, others by what they cost, the dearest first.
    pub groups: Vec<GroupView>,
    /// Groups that are not listed, though they are in the sums.
    pub more: usize,
    pub total: Spent,
    /// What each day cost, from the first one to the last, in dollars.
    pub days: Vec<DayView>,
    /// Records that could not be read.
    pub skipped: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupView {
    /// The conversation, the folder, the day or the request (`conversation/number`); nothing where the folder is not
    /// known.
    pub key: Option<String>,
    /// Of a conversation.
    pub title: Option<String>,
    /// Of a request.
    pub model: Option<String>,
    /// When it was asked last.
    pub at: u64,
    #[serde(flatten)]
    pub spent: Spent,
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Spent {
    pub requests: u64,
    /// Tokens that the model read afresh, from its cache, and into it.
    pub input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub output: u64,
    /// Tokens that the provider itself cleared, and in how many requests it did.
    pub cleared: u64,
    #[serde(default)]
    pub clearings: u64,
    /// Tokens that operations kept from being sent; less than nothing where they added some.
    pub removed: i64,
    /// In dollars, at list prices.
    pub cost: f64,
    /// In dollars: what the same requests would have cost unedited, less what they did cost.
    pub saved: f64,
    /// Requests to models that are not listed: the nearest of their family stood in for the price.
    pub nearest: u64,
    /// Requests to models of which no price is known; they are not in the money.
    pub unpriced: u64,
    /// Edited requests of which nobody wrote down what they were unedited; they saved nothing here.
    pub unweighed: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DayView {
    pub day: String,
    pub cost: f64,
}
