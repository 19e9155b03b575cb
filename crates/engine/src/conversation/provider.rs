//! The provider's own edits of a conversation.

use crate::log::{AnswerRecord, Summary};
use ctx_core::message::Message;
use std::collections::HashMap;

/// The number of the provider's summaries to remember: after a rewind an older one is the newest.
const SUMMARIES: usize = 8;

#[derive(Debug, Default)]
pub struct ProviderState {
    /// Tokens of results that the provider itself cleared from the newest turn.
    pub cleared: u64,
    /// Requests under way that ask the provider for edits, by number.
    pub asks: HashMap<u32, Asks>,
    /// The provider's summaries, oldest first.
    pub summaries: Vec<Summary>,
    /// The number of messages that the newest summary replaces, as of the newest answer.
    pub before_summary: usize,
    /// Their tokens.
    pub summed_up: u64,
}

impl ProviderState {
    /// Remembers the summary in an answer.
    pub fn remember(&mut self, answered: &AnswerRecord) {
        self.summaries.extend(answered.summary.clone());
        self.summaries.drain(..self.summaries.len().saturating_sub(SUMMARIES));
    }

    /// The message that the newest summary is sent back in; the client does not know it as one.
    pub fn summed_up(&self, messages: &[&Message]) -> Vec<usize> {
        let of = |summary: &Summary| messages.iter().rposition(|message| summary.is_of(message));
        self.summaries.iter().rev().find_map(of).into_iter().collect()
    }
}

/// The edits that a request asked for, kept until its answer comes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asks {
    /// The tools whose results are not cleared; `None` if no clearing is asked for.
    pub excluded: Option<Vec<String>>,
    /// The provider's summaries may be in it.
    pub compacts: bool,
    /// A summary replaces a part of it.
    pub summarised: bool,
}
