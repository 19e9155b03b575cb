//! The events of a conversation, oldest first.

use ctx_core::edit::{CommitId, History, Operation};
use serde_json::Value;

use crate::cache::CacheMiss;
use crate::edit::When;
use crate::requests::{ErrorSaid, Usage};
use crate::waiting::Unmade;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct TimelineQuery {
    /// The newest so many; all without it.
    pub limit: Option<usize>,
    /// Only the beginning of long texts in operations, and no raw JSON.
    #[serde(default)]
    pub brief: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timeline {
    pub conversation: String,
    pub events: Vec<Event>,
    /// Records that could not be read.
    pub skipped: u64,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    #[serde(flatten)]
    pub what: What,
    /// Counts all that happens, over all conversations.
    pub seq: u64,
    pub at: u64,
    pub conversation: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum What {
    /// A conversation began.
    Opened {
        class: String,
        session: Option<String>,
        agent: Option<String>,
        client: Option<String>,
        parent: Option<String>,
        forked_from: Option<String>,
    },
    Request {
        /// Counts the requests of the conversation from 1.
        request: u32,
        class: String,
        verdict: String,
        /// Messages that were there before, that are new, and that came back otherwise.
        known: u32,
        new: u32,
        changed: u32,
        detail: Option<String>,
        model: Option<String>,
        bytes: u64,
        /// What the provider is asked to edit by itself, beside what the client asks.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        asks: Vec<String>,
        /// The frame that it ends in, as the conversation stands now; a timeline knows, a single event does not, and
        /// nobody knows it of side traffic.
        frame: Option<String>,
    },
    Answer {
        request: u32,
        /// 0 when there was no answer.
        status: u16,
        ending: String,
        stop_reason: Option<String>,
        usage: Option<Usage>,
        error: Option<ErrorSaid>,
        /// What the provider edited by itself. `first` and `last` are the steps whose results it must have cleared, as
        /// they were called then.
        applied_edits: Vec<Value>,
        /// The provider wrote a summary of what came before.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        compacted: bool,
        transformations: Vec<Value>,
        /// Rule and what.
        repairs: Vec<(String, String)>,
        cache_miss_reason: Option<String>,
        first_byte_ms: Option<u64>,
        total_ms: u64,
        undecodable: Option<String>,
        /// In dollars; nothing where the price of the model is not known.
        money: Option<f64>,
        /// The model of the same family whose prices stand in, where its own are not known.
        priced_as: Option<String>,
        /// Tokens that the provider should have read from its cache; a timeline knows, a single event does not.
        expected: Option<u64>,
        /// What the cache could have had and why it had not; a timeline knows, a single event does not.
        cache_miss: Option<Box<CacheMiss>>,
    },
    Commit {
        id: CommitId,
        parent: Option<CommitId>,
        author: String,
        note: Option<String>,
        /// `edit`, `revert`, `undo`, `redo`, `rollback` or `inherit`.
        change: String,
        operations: Vec<Operation>,
        /// Why each operation was made, in their order; nothing where nobody said.
        reasons: Vec<Option<String>>,
        reverts: Vec<CommitId>,
        summary: String,
        tokens_before: u64,
        tokens_after: u64,
    },
    /// A branch or a tag was made or removed, or another branch was checked out.
    Line { line: Line },
    /// The provider did not take what it was asked for beside the client, and is not asked for it again for a week.
    /// Without it the request went through.
    Refused {
        request: u32,
        model: String,
        /// The `type` of each edit.
        edits: Vec<String>,
        /// What the provider said.
        words: String,
    },
    /// The provider refused thinking; it is asked to drop such blocks from now on.
    Recovery,
    /// A phase of the work began or ended.
    Phase { name: String, ended: bool, author: String },
    /// What the automatic editor would have cleared, had somebody let it.
    Noted { request: u32, summary: String, note: String, tokens_before: u64, tokens_after: u64 },
    /// The limit is near, or something was cleared.
    Signal(Told),
    /// A wish waits for its moment from now on, or does not any more.
    Waiting {
        id: String,
        /// `waiting`, `made`, `failed` or `cancelled`.
        state: String,
        /// Of one that waits: the moment, and what it would do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        when: Option<When>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        author: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// The commit that it became.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<CommitId>,
        /// Why it was not made.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Unmade>,
    },
    /// An event of a newer daemon.
    #[serde(other)]
    #[schemars(skip)]
    Unknown,
}

/// A move on the lines of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    Branch { name: String, at: Option<CommitId> },
    Checkout { name: String },
    Tag { name: String, at: CommitId },
    RemoveBranch { name: String },
    RemoveTag { name: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Signal {
    ContextNearLimit,
    CompactionComplete,
}

/// How near the limit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// Of the request at hand.
    pub tokens: u64,
    /// What the model takes.
    pub window: u64,
    /// The share of it from which on the limit is near, and the tokens that this is.
    pub percent: u64,
    pub limit: u64,
}

/// What is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Told {
    pub signal: Signal,
    /// The number of the request at hand.
    pub request: u32,
    #[serde(flatten)]
    pub figures: Figures,
    /// Of something that was cleared: tokens before it, how many results and inputs went, and the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_before: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleared: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
}

impl Signal {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Signal::ContextNearLimit => "CONTEXT_NEAR_LIMIT",
            Signal::CompactionComplete => "COMPACTION_COMPLETE",
        }
    }
}

impl Line {
    /// Goes it.
    pub fn apply(&self, history: &mut History) {
        match self {
            Line::Branch { name, at } => history.branch(name, *at),
            Line::Checkout { name } => drop(history.checkout(name)),
            Line::Tag { name, at } => history.tag(name, *at),
            Line::RemoveBranch { name } => history.remove_branch(name),
            Line::RemoveTag { name } => history.remove_tag(name),
        }
    }
}

impl Event {
    /// With only the beginning of long texts.
    pub fn brief(mut self) -> Event {
        if let What::Commit { operations, .. } = &mut self.what {
            operations.iter_mut().for_each(Operation::shorten);
        }
        self
    }
}

impl What {
    /// The kind of event, as in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            What::Opened { .. } => "opened",
            What::Request { .. } => "request",
            What::Answer { .. } => "answer",
            What::Commit { .. } => "commit",
            What::Line { .. } => "line",
            What::Refused { .. } => "refused",
            What::Recovery => "recovery",
            What::Phase { .. } => "phase",
            What::Noted { .. } => "noted",
            What::Signal(_) => "signal",
            What::Waiting { .. } => "waiting",
            What::Unknown => "unknown",
        }
    }
}

impl Line {
    /// What is done, and the name of the branch or tag.
    pub fn action(&self) -> (&'static str, &str) {
        match self {
            Line::Branch { name, .. } => ("branch", name),
            Line::Checkout { name } => ("checkout", name),
            Line::Tag { name, .. } => ("tag", name),
            Line::RemoveBranch { name } => ("remove_branch", name),
            Line::RemoveTag { name } => ("remove_tag", name),
        }
    }
}
