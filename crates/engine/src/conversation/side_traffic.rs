//! Counts the side traffic of a conversation by class: requests that carry it and add nothing to it.

use crate::log::AnswerRecord;
use ctx_api::conversations::Side;
use std::collections::HashMap;

#[derive(Debug, Default)]
pub struct Sides {
    counted: Vec<Side>,
    /// Those still without an answer, with their index in `counted`.
    waiting: HashMap<u32, usize>,
}

impl Sides {
    pub fn counted(&self) -> &[Side] {
        &self.counted
    }

    pub fn came(&mut self, request: u32, class: &str, at: u64) {
        let place = self.counted.iter().position(|side| side.class == class).unwrap_or_else(|| {
            self.counted.push(Side { class: class.to_owned(), ..Side::default() });
            self.counted.len() - 1
        });
        if let Some(side) = self.counted.get_mut(place) {
            side.requests += 1;
            side.last_at = at;
            self.waiting.insert(request, place);
        }
    }

    /// False when it answers a turn.
    pub fn answered(&mut self, answered: &AnswerRecord) -> bool {
        let Some(side) = self.waiting.remove(&answered.request).and_then(|place| self.counted.get_mut(place)) else {
            return false;
        };
        let counted = answered.usage.map_or(0, |usage| usage.prompt().saturating_add(usage.output));
        side.tokens = side.tokens.saturating_add(counted);
        true
    }
}
