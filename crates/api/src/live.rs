//! The stream of live events.

use crate::timeline::Event;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct After {
    /// Start after this event: its `seq`, or its `id` in the stream.
    #[schemars(regex(pattern = r"^([0-9a-f]{1,16}-)?([0-9]{1,20}-)?[0-9]{1,20}$"))]
    pub after: Option<String>,
    /// Include replies in progress. These events have no id, are not repeated, and are dropped for a slow reader.
    #[serde(default)]
    pub streaming: bool,
    /// Shorten long texts in operations and omit raw JSON.
    #[serde(default)]
    pub brief: bool,
}

/// An event of the stream.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum LiveEvent {
    Happened(Box<Event>),
    Reset(Reset),
    /// Only with `streaming`.
    Streaming(Streaming),
}

/// The stream cannot resume from the given id. Reload the displayed state.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Reset {
    #[schemars(extend("const" = "reset"))]
    pub kind: String,
    pub reason: Reason,
    /// The stream continues after this number.
    pub seq: u64,
    pub at: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The daemon was restarted since: events that were not stored may have other numbers.
    Restarted,
    /// Too many events have happened since to repeat them.
    TooFarBehind,
    /// No event has this id.
    UnknownId,
}

/// An addition to a reply in progress. An `answer` event ends the reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Streaming {
    #[schemars(extend("const" = "streaming"))]
    pub kind: String,
    pub conversation: String,
    pub request: u32,
    /// Counts the additions to this reply, from 0. A missing one was dropped, or came before the stream began.
    pub piece: u32,
    /// The block of the reply, counted from 0.
    pub block: u64,
    /// `text`, `thinking` or `tool`: the arguments of a call.
    pub part: String,
    pub tool: Option<String>,
    /// The added text.
    pub text: String,
    pub at: u64,
}
