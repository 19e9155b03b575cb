//! Decides whether a request may be composed from the beginning of the previous one.

use ctx_core::SlotId;
use ctx_core::edit::{CommitId, History};
use ctx_core::fast_map::FastSet;
use std::cell::Cell;

/// The state under which the last request was composed.
#[derive(Debug, Default)]
pub struct Continuity {
    /// Increases with each request that could not continue the previous one.
    number: u64,
    head: Option<CommitId>,
    strayed: bool,
    /// The slots that operations name.
    named: FastSet<SlotId>,
    /// No message of the path from this one on is named.
    named_until: usize,
    /// The number of leading messages of the path that the last request shares.
    messages: usize,
    /// Thinking sent before is now bound to a different prompt.
    pub rebound: bool,
    /// Whether operations change the requests of this number; empty until computed.
    pub touches: Cell<Option<bool>>,
}

impl Continuity {
    /// Limits the messages whose bytes the next request shares with the last one.
    pub fn keep(&mut self, messages: usize) {
        self.messages = self.messages.min(messages);
    }

    /// The number of the requests that one with these slots may continue. `None`: an operation waits for its answer.
    pub fn continue_with(&mut self, history: &History, strayed: bool, slots: &[SlotId]) -> Option<u64> {
        let is_same = history.head() == self.head && strayed == self.strayed && !self.rebound;
        let is_named = |slot: &SlotId| self.named.contains(slot);
        let goes_on = is_same
            && self.messages >= self.named_until
            && slots.get(self.messages..).is_some_and(|rest| !rest.iter().any(is_named));
        if !goes_on {
            let sent = history.effects(history.head()).into_iter().filter(|(_, effect)| effect.is_sent());
            let named: FastSet<SlotId> = sent.flat_map(|(_, effect)| effect.slots()).collect();
            *self = Continuity {
                number: self.number + 1,
                head: history.head(),
                strayed,
                named_until: slots.iter().rposition(|slot| named.contains(slot)).map_or(0, |last| last + 1),
                named,
                ..Continuity::default()
            };
        }
        self.messages = slots.len();
        let waits = slots.last().is_some_and(|last| self.named.contains(last));
        (!waits).then_some(self.number)
    }
}
