//! The versions of conversations in memory, where several daemons write to one store.
//!
//! Each step names the version that it builds on. If another daemon was faster, the step is a conflict: the conversation
//! is read again, and the next request brings what was not stored.

use crate::threads::lock;
use ctx_engine::{EDITED, log};
use ctx_store::{AppendOutcome, Expectation, Step};
use std::collections::HashMap;
use std::sync::Mutex;

/// Records that change what leaves: every daemon must know them.
const ANNOUNCED: [&str; 4] = [log::COMMIT, log::LINE, log::RECOVERY, log::WAIT];

/// The state of each conversation in memory.
#[derive(Debug, Default)]
pub struct Versions(Mutex<HashMap<String, Version>>);

/// Numbers of records; 0 before the first.
#[derive(Debug, Clone, Copy, Default)]
struct Version {
    /// Of the last record that memory has.
    newest: u64,
    /// Of the last one when it was read from the store.
    read_at: u64,
}

impl Versions {
    pub fn get(&self, id: &str) -> u64 {
        lock(&self.0).get(id).copied().unwrap_or_default().newest
    }

    /// The version of a conversation, unless it has been read again since it was read at this one.
    pub fn since(&self, id: &str, read_at: u64) -> Option<u64> {
        let version = lock(&self.0).get(id).copied().unwrap_or_default();
        (version.read_at == read_at).then_some(version.newest)
    }

    /// Records the version at which a conversation was read from the store.
    pub fn put(&self, id: &str, version: u64) {
        let mut versions = lock(&self.0);
        match version {
            0 => versions.remove(id),
            version => versions.insert(id.to_owned(), Version { newest: version, read_at: version }),
        };
    }

    /// Adds to each step the version that it builds on, if it does not name one, and whether other daemons must know it.
    /// Returns their conversations too.
    pub fn expect(&self, mut steps: Vec<Step>) -> (Vec<Step>, Vec<Option<String>>) {
        let prepare = |step: &mut Step| {
            step.is_announced = step.records.iter().any(|record| ANNOUNCED.contains(&record.kind.as_str()))
                || step.notes.iter().any(|note| note.name == EDITED);
            let conversation = step.records.first()?.conversation.clone();
            let expect = || Expectation { version: self.get(&conversation), conversation: conversation.clone() };
            step.expect.get_or_insert_with(expect);
            Some(conversation)
        };
        let ids = steps.iter_mut().map(prepare).collect();
        (steps, ids)
    }

    /// Records the outcomes of an append.
    pub fn follow(&self, ids: &[Option<String>], outcomes: &[AppendOutcome]) {
        for (id, outcome) in ids.iter().zip(outcomes) {
            if let (Some(id), AppendOutcome::Stored { numbers }) = (id, outcome)
                && let Some(last) = numbers.last()
            {
                lock(&self.0).entry(id.clone()).or_default().newest = *last;
            }
        }
    }
}
