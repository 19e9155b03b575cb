//! Edit requests and their outcome.

use std::path::PathBuf;

use ctx_core::edit::Operation;

use crate::cache::CacheView;
use crate::cost::Cost;
use crate::helper::HelperText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Operations to apply as one commit.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditRequest {
    pub operations: Vec<Operation>,
    pub author: String,
    #[serde(default)]
    pub note: Option<String>,
    /// The expected head; the request is refused if it has moved. `none`: no commit yet.
    #[serde(default)]
    pub expect: Option<String>,
    /// Return the effect without applying it.
    #[serde(default)]
    pub dry_run: bool,
    /// The condition to wait for.
    #[serde(default)]
    pub when: When,
}

/// The condition that a deferred edit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    #[default]
    Now,
    /// The provider's cache of the conversation has expired: an edit costs nothing then.
    Cold,
    /// The request reaches a share of the model's window.
    NearLimit,
    /// A person accepts it.
    Accepted,
}

/// An edit whose operation the daemon determines itself.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Heal {
    /// The author.
    pub author: String,
    pub note: Option<String>,
    /// The expected head; the request is refused if it has moved.
    pub expect: Option<String>,
    #[serde(default)]
    /// Return the effect without applying it.
    pub dry_run: bool,
    /// The condition to wait for.
    #[serde(default)]
    pub when: When,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Clear {
    /// The reason.
    #[serde(default)]
    pub reason: Option<String>,
    /// The author.
    pub author: String,
}

/// The outcome of an edit, or its preview.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EditResult {
    pub conversation: String,
    /// `None` if nothing was committed.
    pub commit: Option<String>,
    /// The id of the deferred edit, if there is no commit yet.
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
    /// Written files.
    #[serde(default)]
    pub files: Vec<PathBuf>,
    /// Remarks: named content that stays, content that is not copied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Requests of this conversation that began to leave before the commit, without it.
    #[serde(default, skip_serializing_if = "crate::is_zero")]
    pub on_their_way: usize,
    /// Warnings about unintended losses, to show first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Missing texts that were written for the operations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<HelperText>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Preview {
    /// The first frame that differs from the last request.
    pub first_change: Option<String>,
    /// The first step in it that differs, if it has steps.
    #[serde(default)]
    pub first_step: Option<String>,
    /// Tokens before the first change, which stay as they are.
    #[serde(default)]
    pub tokens_ahead: u64,
    /// Tokens that the provider reads again once because of the change, from the last cached position before it. None
    /// if the cache is cold or unused: then it reads everything anyway.
    pub tokens_reread: u64,
    /// Thinking blocks behind the change that can no longer be sent, and their tokens.
    pub thinking_dropped: usize,
    #[serde(default)]
    pub thinking_tokens: u64,
    /// Other repairs.
    pub repairs: Vec<RepairView>,
    /// The cached content before the change.
    #[serde(default)]
    pub cache: Option<CacheView>,
    /// Cost and savings.
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
    /// The cost; zero where it was not computed.
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

    /// The condition as text.
    pub fn in_words(self) -> &'static str {
        match self {
            When::Now => "nothing",
            When::Cold => "a cold cache",
            When::NearLimit => "the limit to come near",
            When::Accepted => "your approval",
        }
    }
}
