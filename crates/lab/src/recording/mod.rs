//! A recorded conversation: its messages as sent, and the data of each request.

mod corpus;
mod gather;
mod labels;
mod sessions;
mod store;
mod time;

pub use gather::{GatheredRecordings, SkippedFile, read};
pub use labels::{Labels, Split};
pub use store::newest;

use ctx_core::message::Role;
use ctx_wire::{Wire, WireId};
use serde_json::value::RawValue;
use std::ops::Range;

/// A conversation at its last request. The request of a turn is everything before its reply.
#[derive(Debug)]
pub struct Recording {
    pub name: String,
    /// The format of its messages.
    pub wire: WireId,
    /// The model of its last reply, as recorded; prices are decided elsewhere.
    pub model: String,
    /// The request without its messages: system, tools and settings, as an object. Unrecorded ones are absent.
    pub head: Box<RawValue>,
    /// The messages at its beginning that belong to the system prompt.
    pub lead: Vec<Box<RawValue>>,
    /// The recorded bytes; only a message that was recorded in pieces is rewritten.
    pub messages: Vec<Box<RawValue>>,
    pub turns: Vec<Turn>,
    pub labels: Labels,
}

/// A request and its reply. Not every reply among the messages has a turn: those that a compaction kept belong to the
/// earlier recording.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    /// The first message of the reply. The request contained the messages before it.
    pub answer: usize,
    /// The time of the request in milliseconds since 1970, if known.
    pub at: Option<i64>,
    pub usage: Option<Usage>,
    /// The model of this reply, if known.
    pub model: Option<Box<str>>,
}

impl Recording {
    /// The format of its messages.
    pub fn wire(&self) -> &'static dyn Wire {
        ctx_wire::wire(self.wire)
    }

    /// The messages of a turn's reply: one, or several items.
    pub fn answer(&self, turn: usize) -> Range<usize> {
        let Some(start) = self.turns.get(turn).map(|turn| turn.answer) else { return 0..0 };
        let next = self.turns.get(turn + 1).map_or(self.messages.len(), |next| next.answer);
        let others = self.messages.get(start + 1..next.max(start + 1)).unwrap_or_default();
        let others = others.iter().map(|message| message.get().as_bytes());
        let is_answer = |message: &&[u8]| self.wire().glance(message).0 == Role::Assistant;
        let more = if self.wire().answers_in_items() { others.take_while(is_answer).count() } else { 0 };
        start..start + 1 + more
    }

    /// The model of a turn.
    pub fn model_of(&self, turn: usize) -> &str {
        self.turns.get(turn).and_then(|turn| turn.model.as_deref()).unwrap_or(&self.model)
    }
}

/// The provider's report for a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub input: u64,
    pub cache_read: u64,
    pub cache_written: u64,
    /// The part written for an hour, if reported.
    pub cache_written_1h: Option<u64>,
    pub output: u64,
}
