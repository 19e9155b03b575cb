//! Whether a request may be composed from the beginning of the one before.

use ctx_core::SlotId;
use ctx_core::edit::{CommitId, History};
use ctx_core::fast_map::FastSet;
use std::cell::Cell;

/// The state under which the last request was composed.
#[derive(Debug, Default)]
pub struct Continuity {
    /// Goes up with each request that could not go on from the one before.
    number: u64,
    head: Option<CommitId>,
    strayed: bool,
    /// The slots that operations name.
    named: FastSet<SlotId>,
    /// Behind so many messages of the path none is named.
    named_until: usize,
    /// So many leading messages of the path are still those of the last request.
    messages: usize,
    /// Thinking that was sent before is bound to something else now.
    pub rebound: bool,
    /// Whether operations change the requests of this number, once that is known.
    pub touches: Cell<Option<bool>>,
}

impl Continuity {
    /// Only the first messages of the next request have the bytes of the last one.
    pub fn keep(&mut self, messages: usize) {
        self.messages = self.messages.min(messages);
    }

    /// The number of the requests that one with these slots may go on from. `None`: an operation waits for its answer.
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
