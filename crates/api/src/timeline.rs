//! The events of a conversation, oldest first.

use ctx_core::edit::{CommitId, History, Operation};
use serde_json::Value;

use crate::cache::CacheMiss;
use crate::edit::When;
use crate::requests::{AnswerError, Usage};
use crate::waiting::DeferralFailure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct TimelineQuery {
    /// Only this many of the newest; all by default.
    pub limit: Option<usize>,
    /// Shorten long texts in operations and omit raw JSON.
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

/// An event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    #[serde(flatten)]
    pub what: What,
    /// Counts all events of all conversations.
    pub seq: u64,
    pub at: u64,
    pub conversation: String,
}

/// An edit that the provider made by itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProviderEdit {
    pub kind: String,
    pub cleared_tool_uses: Option<u64>,
    pub cleared_thinking_turns: Option<u64>,
    pub cleared_input_tokens: Option<u64>,
    /// The first step whose results it must have cleared, as it was called then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    /// The last such step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
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
        /// Known, new and changed messages.
        known: u32,
        new: u32,
        changed: u32,
        detail: Option<String>,
        model: Option<String>,
        bytes: u64,
        /// Edits that `ctx` requests from the provider, in addition to the client's.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        asks: Vec<String>,
        /// The frame that it ends in, as of now; only in a timeline, and not for side traffic.
        frame: Option<String>,
    },
    Answer {
        request: u32,
        /// 0 without an answer.
        status: u16,
        ending: String,
        stop_reason: Option<String>,
        usage: Option<Usage>,
        error: Option<AnswerError>,
        /// Edits by the provider itself. `first` and `last` are the steps whose results it must have cleared, by their
        /// ids at that time.
        applied_edits: Vec<ProviderEdit>,
        /// The provider wrote a summary of the history.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        compacted: bool,
        transformations: Vec<Value>,
        /// Rule and description.
        repairs: Vec<(String, String)>,
        cache_miss_reason: Option<String>,
        first_byte_ms: Option<u64>,
        total_ms: u64,
        undecodable: Option<String>,
        /// In dollars; none if the price of the model is unknown.
        money: Option<f64>,
        /// The model of the same family whose prices are used, if its own are unknown.
        priced_as: Option<String>,
        /// The cache forecast in tokens; only in a timeline.
        expected: Option<u64>,
        /// The cache miss and its cause; only in a timeline.
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
        /// The reason for each operation, in order; none where none was given.
        reasons: Vec<Option<String>>,
        reverts: Vec<CommitId>,
        summary: String,
        tokens_before: u64,
        tokens_after: u64,
    },
    /// A branch or tag was created or removed, or another branch was checked out.
    Line { line: Line },
    /// The provider refused edits that `ctx` added to the client's, and accepted the request without them. They are not
    /// requested again for a week.
    Refused {
        request: u32,
        model: String,
        /// The `type` of each edit.
        edits: Vec<String>,
        /// The provider's message.
        words: String,
    },
    /// The provider refused thinking; from now on it is asked to drop such blocks.
    Recovery,
    /// A phase of the work began or ended.
    Phase { name: String, ended: bool, author: String },
    /// Edits that the automatic editor would have made in another mode.
    Noted { request: u32, summary: String, note: String, tokens_before: u64, tokens_after: u64 },
    /// The limit is near, or content was cleared.
    Signal(SignalView),
    /// The conversation was shared, or opened by someone other than its owner.
    Access(AccessView),
    /// An edit was deferred, or its state changed.
    Waiting {
        id: String,
        /// `waiting`, `made`, `failed` or `cancelled`.
        state: String,
        /// While waiting: the condition, and the effect.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        when: Option<When>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        author: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// The resulting commit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<CommitId>,
        /// The reason for a failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<DeferralFailure>,
    },
    /// An event of a newer daemon.
    #[serde(other)]
    #[schemars(skip)]
    Unknown,
}

/// A change of who may open a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccessView {
    pub action: AccessAction,
    /// The person who did it.
    pub by: String,
    /// The person or group it is shared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<String>,
    /// The reason for opening it without the owner's permission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AccessAction {
    Shared,
    Unshared,
    Opened,
}

impl AccessAction {
    pub fn name(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Unshared => "unshared",
            Self::Opened => "opened",
        }
    }
}

/// A change of branches or tags.
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

/// The usage of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// The tokens of the current request.
    pub tokens: u64,
    /// The model's window.
    pub window: u64,
    /// The threshold in percent of the window, and in tokens.
    pub percent: u64,
    pub limit: u64,
}

/// A signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignalView {
    pub signal: Signal,
    /// The number of the current request.
    pub request: u32,
    #[serde(flatten)]
    pub figures: Figures,
    /// For a clearing: the tokens before it, the numbers of results and inputs, and the commit.
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
    /// Applies the change.
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
    /// Shortens long texts.
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
            What::Access(_) => "access",
            What::Waiting { .. } => "waiting",
            What::Unknown => "unknown",
        }
    }
}

impl Line {
    /// The action, and the name of the branch or tag.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The log holds it in this form.
    #[test]
    fn an_edit_of_the_provider_is_read_and_written_as_it_is_stored() {
        for stored in [
            r#"{"kind":"clear","cleared_tool_uses":3,"cleared_thinking_turns":null,"cleared_input_tokens":900}"#,
            r#"{"kind":"clear","cleared_tool_uses":3,"cleared_thinking_turns":null,"cleared_input_tokens":900,"first":"t1/1","last":"t1/3"}"#,
        ] {
            let edit: ProviderEdit = serde_json::from_str(stored).expect("an edit");
            assert_eq!(serde_json::to_string(&edit).expect("JSON"), stored);
        }
    }
}
