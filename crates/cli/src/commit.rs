//! A commit as the control API tells it, and the words that history, timeline and live view share.

use serde::Deserialize;
use serde_json::Value;

use crate::output::words;

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
        // Nor what one reason says of many.
        let mut alike: Vec<(&Value, &str, usize)> = Vec::new();
        for (operation, reason) in told {
            let same = |other: &&mut (&Value, &str, usize)| other.0["op"] == operation["op"] && other.1 == reason;
            match alike.iter_mut().find(same) {
                Some((_, _, count)) => *count += 1,
                None => alike.push((operation, reason, 1)),
            }
        }
        let all: Vec<&str> = alike.iter().map(|(_, reason, _)| *reason).collect();
        let note = self.note.clone().filter(|note| *note != all.join("; "));
        let more = alike.len().saturating_sub(MOST);
        alike.truncate(MOST);
        let reasons = alike.into_iter().map(|(operation, reason, count)| match count {
            1 => format!("{}: {reason}", crate::commands::plan::shown::what(operation)),
            count => format!("{count} × {}: {reason}", operation["op"].as_str().unwrap_or("operation")),
        });
        let more = (more > 0).then(|| format!("and {more} more: --json has them all"));
        note.into_iter().chain(reasons).chain(more).collect()
    }

    pub fn tokens(&self) -> String {
        // Older forks did not note what they inherited is worth.
        if self.kind == "inherit" && self.tokens_before == 0 {
            return String::new();
        }
        format!("{} → {}", words::count(self.tokens_before), words::count(self.tokens_after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_reason_says_of_many_is_told_once() {
        let operation = |op: &str, id: &str| serde_json::json!({"op": op, "ids": [id]});
        let operations = vec![operation("delete", "t1"), operation("delete", "t2"), operation("pin", "t3")];
        let reasons = vec![Some("old".to_owned()), Some("old".to_owned()), Some("dear".to_owned())];
        let commit = Commit { operations, reasons, note: Some("old; dear".to_owned()), ..Commit::default() };
        assert_eq!(commit.whys(), ["2 × delete: old", "pin t3: dear"], "what the note says is told already");
        let commit = Commit { note: Some("before the review".to_owned()), ..commit };
        assert_eq!(commit.whys().len(), 3);
    }
}
