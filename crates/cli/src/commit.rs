//! A commit as the control API tells it, and the words that history, timeline and live view share.

use serde::Deserialize;
use serde_json::Value;

use crate::terminal::words;

/// Reasons that are told of one commit.
const MOST: usize = 12;

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Commit {
    pub id: String,
    pub at: u64,
    pub author: String,
    pub note: Option<String>,
    pub operations: Vec<Value>,
    /// Why each operation was made.
    pub reasons: Vec<Option<String>>,
    pub kind: String,
    pub summary: String,
    /// Not switched off by a later one.
    pub active: bool,
    /// What it names is not on the client's path now.
    pub asleep: bool,
    /// The client has changed what it was made over.
    pub source_changed: bool,
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub branches: Vec<String>,
    pub tags: Vec<String>,
}

impl Commit {
    /// What it did, after what is odd about it.
    pub fn in_words(&self) -> String {
        let chips =
            [(!self.active, "off"), (self.active && self.asleep, "asleep"), (self.source_changed, "source changed")];
        let chips: String = chips.iter().filter(|(holds, _)| *holds).map(|(_, chip)| format!("[{chip}] ")).collect();
        format!("{chips}{}", words::grouped(&self.summary))
    }

    /// The names that point at it.
    pub fn names(&self) -> String {
        let tags = self.tags.iter().map(|tag| format!("tag {tag}"));
        let names: Vec<String> = self.branches.iter().cloned().chain(tags).collect();
        if names.is_empty() { String::new() } else { format!("({}) ", names.join(", ")) }
    }

    /// Why it was made: its note, and the reasons of its operations.
    pub fn whys(&self) -> Vec<String> {
        let told = self.operations.iter().zip(&self.reasons);
        let mut told: Vec<(&Value, &str)> =
            told.filter_map(|(operation, reason)| Some((operation, reason.as_deref()?))).collect();
        // What the note says for all of them need not be said of each.
        told.retain(|(_, reason)| self.note.as_deref() != Some(*reason));
        let more = told.len().saturating_sub(MOST);
        told.truncate(MOST);
        let reasons = told
            .into_iter()
            .map(|(operation, reason)| format!("{}: {reason}", crate::verbs::plan::shown::what(operation)));
        let more = (more > 0).then(|| format!("and {more} more: --json has them all"));
        self.note.iter().cloned().chain(reasons).chain(more).collect()
    }

    pub fn tokens(&self) -> String {
        format!("{} → {}", words::count(self.tokens_before), words::count(self.tokens_after))
    }
}
