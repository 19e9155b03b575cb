//! What was recorded of a conversation: its messages as they were sent, and what is known of each request.

mod corpus;
mod gather;
mod sessions;
mod store;
mod time;

pub use gather::{Gathered, Skipped, read};

use ctx_core::message::Role;
use ctx_wire::{Wire, WireId};
use serde_json::value::RawValue;
use std::ops::Range;

/// One conversation, as it stood at its last request. The request of a turn is everything before its answer.
#[derive(Debug)]
pub struct Recording {
    pub name: String,
    /// The format of its messages.
    pub wire: WireId,
    /// Of its last answer, as it was recorded; which prices hold for it is decided elsewhere.
    pub model: String,
    /// The request without its messages: system, tools and settings, as an object.
    /// Where a recording does not tell them they are absent.
    pub head: Box<RawValue>,
    /// The messages at its beginning that belong to the system prompt.
    pub lead: Vec<Box<RawValue>>,
    /// The bytes that were recorded; only a message that was recorded in pieces is written anew.
    pub messages: Vec<Box<RawValue>>,
    pub turns: Vec<Turn>,
}

/// One request and its answer. Not every answer among the messages has a turn: what a compaction kept was answered in
/// the recording before.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    /// The first message that the model answered with. The request held the messages before it.
    pub answer: usize,
    /// When it was asked, in milliseconds since 1970, if that is known.
    pub at: Option<i64>,
    pub usage: Option<Usage>,
    /// Which model answered, where that is known of each.
    pub model: Option<Box<str>>,
}

impl Recording {
    /// The format of its messages.
    pub fn wire(&self) -> &'static dyn Wire {
        ctx_wire::wire(self.wire)
    }

    /// The messages of a turn's answer: one, or as many items as the model gave.
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

/// What the provider reported for a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub input: u64,
    pub cache_read: u64,
    pub cache_written: u64,
    /// What of it was written for an hour, where that was told.
    pub cache_written_1h: Option<u64>,
    pub output: u64,
}
