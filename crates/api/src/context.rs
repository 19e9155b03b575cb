//! Context usage, clearable content, and stale content.

use ctx_core::edit::Operation;
use ctx_core::policy::{Mode, Target};

use crate::cache::CacheView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextView {
    pub conversation: String,
    /// Tokens of the next request, without results that the provider itself removes, and the model's window.
    pub tokens: u64,
    /// The provider has confirmed the scale of the token figures.
    pub calibrated: bool,
    pub window: u64,
    /// The usage of the window, in percent.
    pub percent: u64,
    /// The threshold, in percent, from which the limit is near.
    pub threshold_percent: u64,
    pub status: Standing,
    pub mode: Mode,
    /// The provider's own editing is on.
    pub provider_edits: bool,
    /// Tokens of preserved results: pinned, protected or recent.
    pub preserved: u64,
    /// Clearable content, in clearing order.
    pub clearable: Vec<ClearableView>,
    /// Tokens that all edits remove from the next request, and the part removed by the automatic editor.
    pub saved: u64,
    pub saved_automatically: u64,
    /// Tokens that the provider itself removed from the newest request, possibly replaced by its own summary.
    pub left_out: u64,
    /// Tokens that the automatic editor would have cleared in another mode.
    pub noted: u64,
    /// The running account of the automatic editor; none unless it edits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<AccountView>,
    /// Proposals that wait for your approval.
    pub proposals: u64,
    /// Obstacles for the automatic editor: an invalid setting, a file that cannot be written.
    pub hindrances: Vec<String>,
    /// Settings in the project's files that are not in force: they wait for `ctx trust`, or no project can set them.
    #[serde(default)]
    pub project_settings: Option<ProjectSettings>,
    /// Open phases of the work.
    pub phases: Vec<String>,
    pub cache: Option<CacheView>,
}

/// The running account of the edits of a conversation, in dollars, by the provider's counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AccountView {
    pub spent: f64,
    /// Saved by edits so far; negative while an edit has not paid off.
    pub saved: f64,
    /// The limit of the debt of edits, and the share of what was spent that it is.
    pub credit: f64,
    #[serde(default)]
    pub bound: f64,
    /// Edits near the end of the window beyond that limit, and what they cost; `saved` contains this cost too.
    #[serde(default)]
    pub exceptions: u64,
    #[serde(default)]
    pub exceptions_cost: f64,
    /// The part of `spent` that a helper model cost for summaries of phases.
    #[serde(default)]
    pub help: f64,
    /// The editor's next step, with its reason.
    pub next: String,
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

/// Settings in a project's files that are not in force, because the project is not trusted yet or because no project
/// can set them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ProjectSettings {
    /// The folder to trust: `ctx trust FOLDER`.
    pub folder: String,
    /// Settings that take effect once a person trusts the folder.
    pub waiting: Vec<ProjectSetting>,
    /// Settings that no project can set, and files that do not count at all.
    pub ignored: Vec<ProjectSetting>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ProjectSetting {
    pub file: String,
    /// None if it concerns the whole file.
    pub line: Option<u64>,
    /// Such as `context_editing.mode`.
    pub key: String,
    pub value: Option<String>,
    /// Why it is not in force, and what to do.
    pub why: String,
}

/// Stale and superseded content of the next request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorthView {
    pub conversation: String,
    /// The head that the figures apply to.
    pub head: Option<String>,
    /// None if there is too little to matter.
    pub worth: Option<WorthRemoving>,
    /// Tokens of tool results that the provider itself removed from the newest request. While it clears, nothing is
    /// worth removing here, because its own clearing already saves it.
    #[serde(default)]
    pub cleared_by_provider: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorthRemoving {
    /// The stale and superseded share of the context, in percent.
    pub percent: u64,
    /// Tokens that each turn would save.
    pub tokens: u64,
    /// Tokens that the provider reads again once; none with a cold cache.
    pub reread: u64,
    /// The number of turns after which it pays off; 0 is at once.
    pub pays_off_after: u64,
    /// Tool results to remove: stale ones to files that the agent can read, superseded ones for good.
    pub stale: usize,
    pub superseded: usize,
    /// The plan: preview it with `plan`, apply it with `operations`.
    pub operations: Vec<Operation>,
    /// A summary as a sentence.
    pub words: String,
}

impl Standing {
    /// The status of a context with a limit inside a window.
    pub fn of(tokens: u64, limit: u64, window: u64) -> Standing {
        match tokens {
            tokens if tokens >= window => Standing::Over,
            tokens if tokens >= limit => Standing::NearLimit,
            _ => Standing::Normal,
        }
    }

    /// The status as text.
    pub fn in_words(self) -> &'static str {
        match self {
            Standing::Normal => "NORMAL",
            Standing::NearLimit => "NEAR LIMIT",
            Standing::Over => "OVER",
        }
    }
}
