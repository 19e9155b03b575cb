//! Whether a request may be composed from the beginning of the one before.

use crate::conversation::Conversation;
use ctx_core::SlotId;
use ctx_core::edit::CommitId;

/// The state under which the last request was composed.
#[derive(Debug, Default)]
pub struct Continuity {
    /// Goes up with each request that could not go on from the one before.
    number: u64,
    head: Option<CommitId>,
    strayed: bool,
    /// So many leading messages of the path are still those of the last request.
    messages: usize,
    /// Slots from this one on were not there yet: no operation of then names them.
    next: SlotId,
    /// Thinking that was sent before is bound to something else now.
    pub rebound: bool,
}

impl Conversation {
    /// Only the first messages of the next request have the bytes of the last one.
    pub fn keep(&mut self, messages: usize) {
        self.memo.keep(messages);
        self.continuity.messages = self.continuity.messages.min(messages);
    }

    /// The number of the requests that one with these slots may go on from. `None`: an operation waits for its answer.
    pub fn continue_with(&mut self, slots: &[SlotId]) -> Option<u64> {
        // Slots of one tree differ in their lowest bits only.
        const SLOTS: u64 = 1 << 24;
        let before = &self.continuity;
        let is_new = |slot: &SlotId| slot.0.checked_sub(before.next.0).is_some_and(|ahead| ahead < SLOTS);
        let goes_on = self.history.head() == before.head
            && self.strayed == before.strayed
            && !before.rebound
            && slots.get(before.messages..).is_some_and(|rest| rest.iter().all(is_new));
        self.continuity = Continuity {
            number: before.number + u64::from(!goes_on),
            head: self.history.head(),
            strayed: self.strayed,
            messages: slots.len(),
            next: self.tree.next_slot(0),
            rebound: false,
        };
        let effects = || self.history.effects(self.history.head()).into_iter();
        let waits = || effects().flat_map(|(_, effect)| effect.replies()).any(|after| slots.last() == Some(&after));
        (goes_on || !waits()).then_some(self.continuity.number)
    }
}
