//! The frames of a conversation as they are sent, with their steps.

use crate::cache::CacheView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct FramesQuery {
    /// Each frame with its steps.
    #[serde(default)]
    pub steps: bool,
    /// Also the frames that the client has left behind: from before a compaction, or rewound.
    #[serde(default)]
    pub all: bool,
    /// The point of the history that is meant; the newest without one.
    pub at: Option<String>,
}

/// The point of the history that is meant: the newest without one.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct AtQuery {
    /// A commit, the beginning of its id, a tag, a branch, `HEAD` or `source`.
    pub at: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Frames {
    pub conversation: String,
    pub model: Option<String>,
    /// Whether the provider has confirmed the scale of the token figures.
    pub calibrated: bool,
    pub tokens: u64,
    /// The model's context window, where it is known.
    pub window: Option<u64>,
    /// The newest commit of the current branch.
    #[serde(default)]
    pub head: Option<String>,
    /// What the provider's cache holds of it; nothing while no answer has told.
    #[serde(default)]
    pub cache: Option<CacheView>,
    /// Frames that the client has left behind: from before a compaction, or rewound. They are listed on request.
    #[serde(default)]
    pub left_frames: usize,
    pub frames: Vec<FrameView>,
    /// Requests that have passed and are still being read: the list lacks what they add.
    #[serde(default, skip_serializing_if = "crate::is_zero")]
    pub unread: u64,
    /// The newest requests could not be stored, so frames may be missing until the next one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrameView {
    pub id: String,
    pub kind: String,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    pub tokens: u64,
    /// Tokens of what the client sent; differs from `tokens` where an operation is active.
    pub source_tokens: u64,
    pub messages: usize,
    pub steps: usize,
    pub state: Vec<String>,
    /// Why it is no longer sent, where the client has left it behind. Its tokens are in no sum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Left>,
    /// The commits that made it what it is, the newest first.
    #[serde(default)]
    pub by: Vec<String>,
    pub pinned: bool,
    /// The end of it is a reply that the client has not sent back yet.
    pub pending: bool,
    /// Pending changes that name something in it: deferred edits and proposals, by their ids.
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
    /// Something in it was read from a file that is read again, or changed, later.
    #[serde(default)]
    pub superseded: bool,
    /// The results that this is said of, and what they weigh: they can be named in an operation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub superseded_results: Vec<String>,
    #[serde(default, skip_serializing_if = "crate::is_zero")]
    pub superseded_tokens: u64,
    #[serde(default)]
    pub state: Vec<String>,
    /// The commits that made it what it is, the newest first.
    #[serde(default)]
    pub by: Vec<String>,
}

/// Why a frame is no longer sent, though no edit removed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Left {
    /// The client has summarised it.
    BeforeCompaction,
    /// The client went back to before it and on with other words.
    Rewound,
}

impl Left {
    /// As it stands among the states of a frame.
    pub fn state(self) -> &'static str {
        match self {
            Left::BeforeCompaction => "before-compaction",
            Left::Rewound => "rewound",
        }
    }

    pub fn in_words(self) -> &'static str {
        match self {
            Left::BeforeCompaction => "before compaction",
            Left::Rewound => "rewound",
        }
    }
}
