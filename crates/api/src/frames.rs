//! The frames of a conversation as sent, with their steps.

use crate::cache::CacheView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct FramesQuery {
    /// Include the steps of each frame.
    #[serde(default)]
    pub steps: bool,
    /// Include frames that the client left behind: from before a compaction, or rewound.
    #[serde(default)]
    pub all: bool,
    /// The point of the history; the newest by default.
    pub at: Option<String>,
}

/// The point of the history; the newest by default.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct AtQuery {
    /// A commit, the start of its id, a tag, a branch, `HEAD` or `source`.
    pub at: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Frames {
    pub conversation: String,
    pub model: Option<String>,
    /// Whether the provider has confirmed the scale of the token figures.
    pub calibrated: bool,
    pub tokens: u64,
    /// The model's context window, if known.
    pub window: Option<u64>,
    /// The newest commit of the current branch.
    #[serde(default)]
    pub head: Option<String>,
    /// The cached part; none before the first answer.
    #[serde(default)]
    pub cache: Option<CacheView>,
    /// The number of frames that the client left behind: from before a compaction, or rewound. Listed on request.
    #[serde(default)]
    pub left_frames: usize,
    pub frames: Vec<FrameView>,
    /// The conversation that this one continues in another format, while edits there are not in force here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<MovedFrom>,
    /// That the provider keeps the history, and the way out, in words. Such a conversation cannot be edited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
    /// Requests that have passed and are still being read: the list does not include them yet.
    #[serde(default, skip_serializing_if = "crate::is_zero")]
    pub unread: u64,
    /// The newest requests could not be stored, so frames may be missing until the next one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
}

/// A conversation before its client moved to another format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MovedFrom {
    pub conversation: String,
    /// Such as `openai-chat`.
    pub format: String,
    /// Edits in force there. `import` with `edits` carries them over.
    pub edits: usize,
}

impl MovedFrom {
    /// As people read it.
    pub fn in_words(&self) -> String {
        let MovedFrom { conversation, format, edits } = self;
        let edits = if *edits == 1 { "1 edit".to_owned() } else { format!("{edits} edits") };
        format!(
            "This continues {conversation}, which came as {format}. {edits} there do not hold here: \
             `ctx import {conversation} --edits` carries them over."
        )
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrameView {
    pub id: String,
    pub kind: String,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    pub tokens: u64,
    /// Tokens of the client's content; differs from `tokens` where an operation is active.
    pub source_tokens: u64,
    pub messages: usize,
    pub steps: usize,
    pub state: Vec<String>,
    /// Why it is no longer sent, if the client left it behind. Its tokens are in no sum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<LeftReason>,
    /// The active commits that made it, newest first.
    #[serde(default)]
    pub by: Vec<String>,
    pub pinned: bool,
    /// It ends with a reply that the client has not sent back yet.
    pub pending: bool,
    /// Deferred edits and proposals that affect it, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_list: Option<Vec<StepView>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepView {
    pub id: String,
    pub title: String,
    pub tokens: u64,
    #[serde(default)]
    pub source_tokens: u64,
    pub messages: usize,
    pub tools: Vec<String>,
    /// It contains a read of a file that is read again, or changed, later.
    #[serde(default)]
    pub superseded: bool,
    /// The superseded results and their tokens; operations can name them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub superseded_results: Vec<String>,
    #[serde(default, skip_serializing_if = "crate::is_zero")]
    pub superseded_tokens: u64,
    #[serde(default)]
    pub state: Vec<String>,
    /// The active commits that made it, newest first.
    #[serde(default)]
    pub by: Vec<String>,
}

/// Why a frame is no longer sent, though no edit removed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeftReason {
    /// The client has summarised it.
    BeforeCompaction,
    /// The client rewound behind it and continued with other words.
    Rewound,
}

impl LeftReason {
    /// Its name among the states of a frame.
    pub fn state(self) -> &'static str {
        match self {
            LeftReason::BeforeCompaction => "before-compaction",
            LeftReason::Rewound => "rewound",
        }
    }

    pub fn in_words(self) -> &'static str {
        match self {
            LeftReason::BeforeCompaction => "before compaction",
            LeftReason::Rewound => "rewound",
        }
    }
}
