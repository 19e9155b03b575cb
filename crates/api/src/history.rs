//! The history of edits: commits, branches, tags, history actions, and comparisons.

use ctx_core::edit::{CommitId, Operation};

use crate::edit::When;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct HistoryQuery {
    /// Only this many of the newest; all by default.
    pub limit: Option<usize>,
    /// The commits of all branches, not only the current one.
    #[serde(default)]
    pub all: bool,
    /// Shorten long texts in operations and omit raw JSON.
    #[serde(default)]
    pub brief: bool,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct DiffQuery {
    /// A point of the history; `source` by default.
    pub from: Option<String>,
    /// `HEAD` by default.
    pub to: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Revert,
    Undo,
    Redo,
    Rollback,
    Branch,
    Checkout,
    Tag,
    RemoveBranch,
    RemoveTag,
}

/// A history action.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistoryRequest {
    pub action: Action,
    /// A commit, the start of its id, a tag, a branch, `HEAD`, or `source`: before the first commit.
    #[serde(default)]
    pub target: Option<String>,
    /// The name of a branch or a tag.
    #[serde(default)]
    pub name: Option<String>,
    /// Include the commits that depend on it.
    #[serde(default)]
    pub cascade: bool,
    pub author: String,
    #[serde(default)]
    pub note: Option<String>,
    #[serde(default)]
    pub expect: Option<String>,
    #[serde(default)]
    pub dry_run: bool,
    /// The condition that a revert, undo, redo or rollback waits for.
    #[serde(default)]
    pub when: When,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryView {
    pub conversation: String,
    pub branch: String,
    pub head: Option<CommitId>,
    pub branches: Vec<BranchView>,
    pub tags: Vec<TagView>,
    /// The commits of this branch, or of all on request; newest first.
    pub commits: Vec<CommitView>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommitView {
    pub id: CommitId,
    pub parent: Option<CommitId>,
    pub at: u64,
    pub author: String,
    pub note: Option<String>,
    pub kind: String,
    pub operations: Vec<Operation>,
    /// The reason for each operation, in order; none where none was given.
    pub reasons: Vec<Option<String>>,
    pub reverts: Vec<CommitId>,
    pub summary: String,
    /// It is on the current branch.
    pub here: bool,
    pub active: bool,
    /// Active, but nothing that it names is on the path of the newest request.
    pub asleep: bool,
    pub source_changed: bool,
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub branches: Vec<String>,
    pub tags: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BranchView {
    pub name: String,
    pub head: Option<CommitId>,
    /// It is the current one.
    pub current: bool,
    pub commits: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Branches {
    pub conversation: String,
    /// The current branch.
    pub branch: String,
    pub branches: Vec<BranchView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TagView {
    pub name: String,
    pub commit: CommitId,
    /// The time and the summary of the commit.
    pub at: u64,
    pub summary: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tags {
    pub conversation: String,
    pub tags: Vec<TagView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diff {
    pub conversation: String,
    pub from: String,
    pub to: String,
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub frames: Vec<FrameDiff>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrameDiff {
    pub id: String,
    pub title: String,
    /// `same`, `changed`, `added`, `removed` or `moved`.
    pub change: String,
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub before: String,
    pub after: String,
}

impl HistoryView {
    /// Shortens long texts.
    pub fn brief(mut self) -> HistoryView {
        self.commits.iter_mut().flat_map(|commit| &mut commit.operations).for_each(Operation::shorten);
        self
    }
}
