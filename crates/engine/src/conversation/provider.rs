//! What the provider edits by itself.

use crate::log::{AnswerRecord, Summary};
use std::collections::HashMap;

/// How many summaries of the provider's are remembered: after a rewind an older one is the newest.
const SUMMARIES: usize = 8;

/// What the provider edits by itself.
#[derive(Debug, Default)]
pub struct ProviderState {
    /// Tokens of results that the provider itself left out of the newest turn.
    pub cleared: u64,
    /// Requests under way that ask something of the provider, by number.
    pub asks: HashMap<u32, Asks>,
    /// Summaries that the provider wrote, the newest last.
    pub summaries: Vec<Summary>,
    /// Messages that the newest of them stands for, as of the newest answer.
    pub before_summary: usize,
    /// Tokens of these.
    pub summed_up: u64,
}

impl ProviderState {
    /// Remembers the summary that an answer brought.
    pub fn remember(&mut self, answered: &AnswerRecord) {
        self.summaries.extend(answered.summary.clone());
        self.summaries.drain(..self.summaries.len().saturating_sub(SUMMARIES));
    }
}

/// What is remembered of the asking until the answer comes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asks {
    /// The tools whose results are not cleared; nothing where no clearing is asked for.
    pub excluded: Option<Vec<String>>,
    /// Summaries of the provider's may be in it.
    pub compacts: bool,
    /// One stands for a part of it.
    pub summarised: bool,
}
