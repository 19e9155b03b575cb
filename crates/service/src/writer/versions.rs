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

/// The number of the last record that memory has of each conversation; 0 before the first.
#[derive(Debug, Default)]
pub struct Versions(Mutex<HashMap<String, u64>>);

impl Versions {
    pub fn get(&self, id: &str) -> u64 {
        lock(&self.0).get(id).copied().unwrap_or(0)
    }

    pub fn put(&self, id: &str, version: u64) {
        let mut versions = lock(&self.0);
        match version {
            0 => versions.remove(id),
            version => versions.insert(id.to_owned(), version),
        };
    }

    /// Adds to each step the version that it builds on, and whether other daemons must know it. Returns their
    /// conversations too.
    pub fn expect(&self, mut steps: Vec<Step>) -> (Vec<Step>, Vec<Option<String>>) {
        let prepare = |step: &mut Step| {
            step.is_announced = step.records.iter().any(|record| ANNOUNCED.contains(&record.kind.as_str()))
                || step.notes.iter().any(|note| note.name == EDITED);
            let conversation = step.records.first()?.conversation.clone();
            let version = self.get(&conversation);
            step.expect = Some(Expectation { conversation: conversation.clone(), version });
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
                self.put(id, *last);
            }
        }
    }
}
