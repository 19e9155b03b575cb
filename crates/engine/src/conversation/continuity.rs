//! Decides whether a request may be composed from the beginning of the previous one.

use ctx_core::SlotId;
use ctx_core::edit::effect::{Effect, EffectId, MessageRef};
use ctx_core::edit::{CommitId, History};
use ctx_core::fast_map::FastSet;
use ctx_wire::compose::Continuation;
use std::cell::Cell;

/// The state under which the last request was composed.
#[derive(Debug)]
pub struct Continuity {
    /// Increases with each request that could not continue the previous one.
    number: u64,
    head: Option<CommitId>,
    strayed: bool,
    /// The effects that change requests.
    effects: Vec<EffectId>,
    /// The slots that they name.
    named: FastSet<SlotId>,
    /// The slots that effects name which do more than replace tool results: these may wait for the next messages.
    awaited: FastSet<SlotId>,
    /// No message of the path from this one on is named.
    named_until: usize,
    /// The number of leading messages of the path that the last request shares.
    messages: usize,
    /// Effects added since a whole request was composed only replace tool results of messages from this one on.
    edited_from: Cell<usize>,
    /// Thinking sent before is now bound to a different prompt.
    pub rebound: bool,
    /// Whether operations change the requests of this number; empty until computed.
    pub touches: Cell<Option<bool>>,
}

impl Default for Continuity {
    fn default() -> Self {
        Continuity {
            number: 0,
            head: None,
            strayed: false,
            effects: Vec::new(),
            named: FastSet::default(),
            awaited: FastSet::default(),
            named_until: 0,
            messages: 0,
            edited_from: Cell::new(usize::MAX),
            rebound: false,
            touches: Cell::new(None),
        }
    }
}

impl Continuity {
    /// Limits the messages whose bytes the next request shares with the last one.
    pub fn keep(&mut self, messages: usize) {
        self.messages = self.messages.min(messages);
    }

    /// Relates a request with these slots to the ones before. `None`: an operation waits for its answer.
    pub fn continue_with(&mut self, history: &History, strayed: bool, slots: &[SlotId]) -> Option<Continuation> {
        let is_named = |slot: &SlotId| self.named.contains(slot);
        let goes_on = strayed == self.strayed
            && !self.rebound
            && self.messages >= self.named_until
            && slots.get(self.messages..).is_some_and(|rest| !rest.iter().any(is_named))
            && self.grow(history, slots);
        if !goes_on {
            *self = Continuity { number: self.number + 1, strayed, ..Continuity::default() };
            self.add(history, slots);
        }
        self.messages = slots.len();
        let waits = slots.last().is_some_and(|last| self.awaited.contains(last));
        (!waits).then(|| Continuation { number: self.number, edited_from: self.edited_from.get() })
    }

    /// A whole request is composed: its beginning has all effects.
    pub fn composed_whole(&self, under: Option<Continuation>) {
        if under.is_some() {
            self.edited_from.set(usize::MAX);
        }
    }

    /// Takes in effects that replace tool results of this path; false if there are other changes.
    fn grow(&mut self, history: &History, slots: &[SlotId]) -> bool {
        if history.head() == self.head {
            return true;
        }
        let effects = sent(history);
        let Some(added) = effects.get(self.effects.len()..) else { return false };
        let is_same = effects.iter().zip(&self.effects).all(|((id, _), known)| id == known);
        if !is_same || !added.iter().all(|(_, effect)| replaces_results(effect)) {
            return false;
        }
        for slot in added.iter().flat_map(|(_, effect)| effect.slots()) {
            let Some(at) = slots.iter().rposition(|other| *other == slot) else { return false };
            self.edited_from.set(self.edited_from.get().min(at));
        }
        // More effects may change requests that fewer did not.
        self.touches.set(self.touches.get().filter(|touches| *touches));
        self.add(history, slots);
        true
    }

    /// Adds the effects since the last request.
    fn add(&mut self, history: &History, slots: &[SlotId]) {
        for (id, effect) in sent(history).into_iter().skip(self.effects.len()) {
            self.effects.push(id);
            let slots = effect.slots();
            if !replaces_results(effect) {
                self.awaited.extend(&slots);
            }
            self.named.extend(slots);
        }
        self.head = history.head();
        self.named_until = slots.iter().rposition(|slot| self.named.contains(slot)).map_or(0, |last| last + 1);
    }
}

/// The effects at the head that change requests.
fn sent(history: &History) -> Vec<(EffectId, &Effect)> {
    history.effects(history.head()).into_iter().filter(|(_, effect)| effect.is_sent()).collect()
}

/// Whether it only replaces tool results of messages that were sent before.
fn replaces_results(effect: &Effect) -> bool {
    let is_sent = |of: &MessageRef| matches!(of, MessageRef::Slot(_));
    matches!(effect, Effect::Results { results, .. } if results.iter().all(|result| is_sent(&result.of)))
}
