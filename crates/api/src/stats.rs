//! Summed usage and cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct StatsQuery {
    /// The grouping; by conversation by default.
    #[serde(default)]
    pub by: Grouping,
    /// Only from the day that contains this time, in milliseconds since 1970. Days are in UTC.
    pub since: Option<u64>,
    /// One conversation only.
    pub conv: Option<String>,
    /// The figures of all people of a team, for auditors and admins. By person and by group, these are the default for
    /// them.
    #[serde(default)]
    pub everyone: bool,
    /// The maximum number of groups; the sums include all.
    pub limit: Option<usize>,
}

/// The grouping of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Grouping {
    Request,
    #[default]
    Conversation,
    /// By the client's working directory.
    Project,
    /// By day, in UTC.
    Day,
    Model,
    /// By the person of a team.
    Person,
    /// By the group of a team. People in several groups count in each, and once in the sums.
    Group,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stats {
    pub by: Grouping,
    /// The start of the first day.
    pub since: Option<u64>,
    /// The date of the prices.
    pub prices_as_of: String,
    /// Days and requests in order, others by cost, most expensive first.
    pub groups: Vec<GroupView>,
    /// The number of groups that are not listed, but in the sums.
    pub more: usize,
    pub total: Spending,
    /// The cost of each day, from the first to the last, in dollars.
    pub days: Vec<DayView>,
    /// Records that could not be read.
    pub skipped: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupView {
    /// The conversation, the folder, the day, the model, the person, the group or the request (`conversation/number`);
    /// none if it is unknown, or for people without a group.
    pub key: Option<String>,
    /// The title of a conversation.
    pub title: Option<String>,
    /// The model of a request.
    pub model: Option<String>,
    /// The time of the last request.
    pub at: u64,
    #[serde(flatten)]
    pub spent: Spending,
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Spending {
    pub requests: u64,
    /// Tokens read without the cache, from the cache, and written to it.
    pub input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub output: u64,
    /// Tokens that the provider itself cleared, and the number of requests in which it did.
    pub cleared: u64,
    #[serde(default)]
    pub clearings: u64,
    /// Tokens removed by operations; negative where they added some.
    pub removed: i64,
    /// In dollars, at list prices.
    pub cost: f64,
    /// In dollars: the cost of the same requests unedited, minus their actual cost.
    pub saved: f64,
    /// Requests to unlisted models, priced as the nearest of their family.
    pub nearest: u64,
    /// Requests to models without a known price; not in the cost.
    pub unpriced: u64,
    /// Edited requests whose unedited size was not recorded; they count as saving nothing.
    pub unweighed: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DayView {
    pub day: String,
    pub cost: f64,
}
