//! How full the context is, what the automatic editor may clear, and what is worth removing.

use ctx_core::edit::Operation;
use ctx_core::policy::{Mode, Target};

use crate::cache::CacheView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextView {
    pub conversation: String,
    /// Tokens of the next request, without results that the provider itself leaves out, and what the model takes.
    pub tokens: u64,
    /// The scale of the tokens was confirmed by the provider.
    pub calibrated: bool,
    pub window: u64,
    /// The one of the other.
    pub percent: u64,
    /// From this share on the limit is near.
    pub threshold_percent: u64,
    pub status: Standing,
    pub mode: Mode,
    /// The provider edits by itself, too.
    pub provider_edits: bool,
    /// Tokens of results that stay: pinned, preserved or recent.
    pub preserved: u64,
    /// What could go, in the order in which it would.
    pub clearable: Vec<ClearableView>,
    /// Tokens that all edits keep out of the next request, and those of them that the automatic editor took out.
    pub saved: u64,
    pub saved_automatically: u64,
    /// Tokens that the provider itself left out of the newest request; a summary of its own may stand for them.
    pub left_out: u64,
    /// What it would have taken out, had somebody let it.
    pub noted: u64,
    /// Proposals of it that wait for your approval.
    pub proposals: u64,
    /// What keeps it from doing what is wanted: a setting that is wrong, a file that cannot be written.
    pub hindrances: Vec<String>,
    /// Settings in the project's own files that are not in force: they wait for `ctx trust`, or no project can decide them.
    #[serde(default)]
    pub project_settings: Option<ProjectSettings>,
    /// Phases of the work that are open.
    pub phases: Vec<String>,
    pub cache: Option<CacheView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClearableView {
    pub target: Target,
    pub tokens: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    Normal,
    NearLimit,
    Over,
}

/// Settings in a project's own files that are not in force, because nobody trusts the project yet or because a project cannot
/// decide them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ProjectSettings {
    /// The folder to trust: `ctx trust FOLDER`.
    pub folder: String,
    /// Settings that take effect once a person trusts the folder.
    pub waiting: Vec<ProjectSetting>,
    /// Settings that no project can decide, and files that are not believed at all.
    pub ignored: Vec<ProjectSetting>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ProjectSetting {
    pub file: String,
    /// None: it is about the whole file.
    pub line: Option<u64>,
    /// Such as `context_editing.mode`.
    pub key: String,
    pub value: Option<String>,
    /// Why it is not in force, and what to do.
    pub why: String,
}

/// What is stale or superseded in what would be sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorthView {
    pub conversation: String,
    /// The newest commit that it was worked out for.
    pub head: Option<String>,
    /// Nothing where it would not be worth a change.
    pub worth: Option<WorthRemoving>,
    /// Tokens of tool results that the provider itself left out of the newest request. While it clears, nothing is
    /// worth removing here: its own clearing saves that already.
    #[serde(default)]
    pub cleared_by_provider: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorthRemoving {
    /// The share of the context that is stale or superseded.
    pub percent: u64,
    /// Tokens that each turn would save.
    pub tokens: u64,
    /// Tokens that the provider reads again once; none with a cold cache.
    pub reread: u64,
    /// After so many turns it pays off; 0: at once.
    pub pays_off_after: u64,
    /// Tool results that would go: stale ones to files that the agent can read, superseded ones for good.
    pub stale: usize,
    pub superseded: usize,
    /// The plan: preview it with `plan`, make it with `operations`.
    pub operations: Vec<Operation>,
    /// All of it as a sentence.
    pub words: String,
}

impl Standing {
    /// The standing of a context with a limit inside a window.
    pub fn of(tokens: u64, limit: u64, window: u64) -> Standing {
        match tokens {
            tokens if tokens >= window => Standing::Over,
            tokens if tokens >= limit => Standing::NearLimit,
            _ => Standing::Normal,
        }
    }

    /// As people read it.
    pub fn in_words(self) -> &'static str {
        match self {
            Standing::Normal => "NORMAL",
            Standing::NearLimit => "NEAR LIMIT",
            Standing::Over => "OVER",
        }
    }
}
