//! The stream of live events.

use crate::timeline::Event;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct After {
    /// Begin with what happened after this event: its `seq`, or its `id` in the stream.
    #[schemars(regex(pattern = r"^([0-9a-f]{1,16}-)?[0-9]{1,19}$"))]
    pub after: Option<String>,
    /// Also replies while they grow. These events have no id, are never told again, and are dropped for a slow reader.
    #[serde(default)]
    pub streaming: bool,
    /// Only the beginning of long texts in operations, and no raw JSON.
    #[serde(default)]
    pub brief: bool,
}

/// What a stream tells.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum LiveEvent {
    Happened(Box<Event>),
    Reset(Reset),
    /// Only where `streaming` was asked for.
    Streaming(Streaming),
}

/// The stream cannot go on from the given id. What is shown has to be read again.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Reset {
    #[schemars(extend("const" = "reset"))]
    pub kind: String,
    pub reason: Reason,
    /// The stream goes on behind this one.
    pub seq: u64,
    pub at: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The daemon was started again since then: what it had not stored yet may have got other numbers.
    Restarted,
    /// More has happened since then than is told again.
    TooFarBehind,
    /// No event has had this id.
    UnknownId,
}

/// What came of a reply since it was told last. Once it is there as a whole, an `answer` is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Streaming {
    #[schemars(extend("const" = "streaming"))]
    pub kind: String,
    pub conversation: String,
    pub request: u32,
    /// Counts what is told of this reply, from 0. One that is missing was dropped, or told before anybody listened.
    pub piece: u32,
    /// The block of the reply, counted from 0.
    pub block: u64,
    /// `text`, `thinking` or `tool`: the arguments of a call.
    pub part: String,
    pub tool: Option<String>,
    /// What was added to it.
    pub text: String,
    pub at: u64,
}
