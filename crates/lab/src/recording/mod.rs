//! What was recorded of a conversation: its messages as they were sent, and what is known of each request.

mod corpus;
mod gather;
mod sessions;
mod store;
mod time;

pub use gather::{Gathered, Skipped, read};

use serde_json::value::RawValue;

/// One conversation, as it stood at its last request. The request of a turn is everything before its answer.
#[derive(Debug)]
pub struct Recording {
    pub name: String,
    /// Of its last answer, as it was recorded; which prices hold for it is decided elsewhere.
    pub model: String,
    /// The request without its messages: system, tools and settings, as an object.
    /// Where a recording does not tell them they are absent.
    pub head: Box<RawValue>,
    /// The bytes that were recorded; only a message that was recorded in pieces is written anew.
    pub messages: Vec<Box<RawValue>>,
    pub turns: Vec<Turn>,
}

/// One request and its answer. Not every answer among the messages has a turn: what a compaction kept was answered in
/// the recording before.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    /// Which message the model answered with. The request held the messages before it.
    pub answer: usize,
    /// When it was asked, in milliseconds since 1970, if that is known.
    pub at: Option<i64>,
    pub usage: Option<Usage>,
    /// Which model answered, where that is known of each.
    pub model: Option<Box<str>>,
}

impl Recording {
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
