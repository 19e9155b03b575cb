//! Requests to edit a conversation, and their outcome.

use std::path::PathBuf;

use ctx_core::edit::Operation;

use crate::cache::CacheView;
use crate::cost::Cost;
use crate::helper::Written;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Operations that somebody wants as one commit.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    pub operations: Vec<Operation>,
    pub author: String,
    #[serde(default)]
    pub note: Option<String>,
    /// The head that the wish was made against; another one is refused. `none`: no commit yet.
    #[serde(default)]
    pub expect: Option<String>,
    /// Tell what it would do, and do nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// The moment that it waits for.
    #[serde(default)]
    pub when: When,
}

/// The moment that a wish waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    #[default]
    Now,
    /// The provider's cache of the conversation has expired: an edit costs nothing then.
    Cold,
    /// What will be sent reaches a share of what the model takes.
    NearLimit,
    /// Somebody says yes to it.
    Accepted,
}

/// A wish whose operation the daemon finds itself.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Heal {
    /// Who wants it.
    pub author: String,
    pub note: Option<String>,
    /// The head that it was asked for at; another one is refused.
    pub expect: Option<String>,
    #[serde(default)]
    /// Tell what it would do, and do nothing.
    pub dry_run: bool,
    /// The moment that it waits for.
    #[serde(default)]
    pub when: When,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Clear {
    /// Why.
    #[serde(default)]
    pub reason: Option<String>,
    /// Who wants it.
    pub author: String,
}

/// What was done, or would be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Applied {
    pub conversation: String,
    /// `None` when nothing was done.
    pub commit: Option<String>,
    /// The wish that waits for its moment, where no commit was made yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<String>,
    pub branch: String,
    /// The frames that changed.
    pub frames: Vec<String>,
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub summary: String,
    pub preview: Preview,
    #[serde(default)]
    pub problem: Option<String>,
    /// Files that were written.
    #[serde(default)]
    pub files: Vec<PathBuf>,
    /// What else is worth knowing: what stays though it was named, what does not come along.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Requests of this conversation that began to leave before the commit and go without it.
    #[serde(default, skip_serializing_if = "crate::is_zero")]
    pub on_their_way: usize,
    /// What would be lost that was hardly meant: told before anything else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Words that the operations lacked and that were found for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<Written>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Preview {
    /// The first frame that differs from what was sent last.
    pub first_change: Option<String>,
    /// The step of it that does, where it has steps.
    #[serde(default)]
    pub first_step: Option<String>,
    /// Tokens before the first change: they stay as they are.
    #[serde(default)]
    pub tokens_ahead: u64,
    /// What the provider must read again once because of the change, from the last place before it where its cache was
    /// written. Nothing where the cache is cold or unused: then it reads everything anyway.
    pub tokens_reread: u64,
    /// Thinking blocks that cannot be sent any more behind the change, and the tokens in them.
    pub thinking_dropped: usize,
    #[serde(default)]
    pub thinking_tokens: u64,
    /// Beside that.
    pub repairs: Vec<RepairView>,
    /// What the provider's cache holds now, before the change.
    #[serde(default)]
    pub cache: Option<CacheView>,
    /// What it costs and saves.
    #[serde(default)]
    pub cost: Option<Cost>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepairView {
    pub rule: String,
    /// The rule in a few words.
    #[serde(default)]
    pub name: String,
    pub what: String,
}

impl Preview {
    /// What it costs; nothing is said of what was not weighed.
    pub fn cost(&self) -> Cost {
        self.cost.unwrap_or_default()
    }
}

impl When {
    pub fn name(self) -> &'static str {
        match self {
            When::Now => "now",
            When::Cold => "cold",
            When::NearLimit => "near-limit",
            When::Accepted => "accepted",
        }
    }

    /// What is waited for.
    pub fn in_words(self) -> &'static str {
        match self {
            When::Now => "nothing",
            When::Cold => "a cold cache",
            When::NearLimit => "the limit to come near",
            When::Accepted => "your approval",
        }
    }
}
