//! Counts the steps that wait for the store.

use super::conversation_of;
use crate::threads::lock;
use ctx_store::Step;
use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// The number of unstored steps of each conversation.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    steps: Mutex<HashMap<String, usize>>,
    /// When they came. Steps are stored in this order, but for those that someone waits for.
    since: Mutex<VecDeque<Instant>>,
    stored: Condvar,
}

impl Backlog {
    pub(super) fn add(&self, step: &Step) {
        if let Some(id) = conversation_of(step) {
            *lock(&self.steps).entry(id.to_owned()).or_default() += 1;
            lock(&self.since).push_back(Instant::now());
        }
    }

    pub(super) fn remove(&self, ids: &[String]) {
        let mut steps = lock(&self.steps);
        for id in ids {
            if let Some(count) = steps.get_mut(id) {
                *count -= 1;
                if *count == 0 {
                    steps.remove(id);
                }
            }
        }
        drop(steps);
        let mut since = lock(&self.since);
        let count = ids.len().min(since.len());
        since.drain(..count);
        drop(since);
        self.stored.notify_all();
    }

    pub(super) fn oldest(&self) -> Duration {
        lock(&self.since).front().map(Instant::elapsed).unwrap_or_default()
    }

    pub(super) fn is_empty(&self, id: &str) -> bool {
        !lock(&self.steps).contains_key(id)
    }

    /// False after `most`.
    pub(super) fn wait(&self, id: &str, most: Duration) -> bool {
        let waited = self.stored.wait_timeout_while(lock(&self.steps), most, |steps| steps.contains_key(id));
        waited.is_ok_and(|(_, waited)| !waited.timed_out())
    }
}
