//! A provider that clears old content itself. The client sends everything, and so does the engine; the model and the
//! provider's cache see the prompt without it. Each clearing breaks the cache at the first cleared block. Thinking stays
//! valid behind it.
//!
//! The providers' documentation leaves three things open, which are parameters: whether cleared results stay cleared and
//! no longer count (`lasting`), what a turn of thinking is (`by_message`), and whether a cleared request reads up to the
//! cleared place without a breakpoint there (`anywhere`).

use crate::harm::RecordedResult;
use crate::needs::Place;
use crate::replay::RecordingFacts;
use crate::request::{Prompt, RemovedContent};
use ctx_core::message::Kind;
use ctx_core::tokens;
use ctx_wire::provider_edits::{CLEAR_KEEP, CLEAR_PERCENT, CLEAR_TOKENS, worth_clearing};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The text in place of a cleared result, or of a cleared input.
pub const CLEARED: &str = "[cleared]";
/// The newest results that a provider keeps by default.
const USUAL_KEEP: usize = 3;

/// The requested clearing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ProviderClearing {
    /// Tool results are cleared.
    pub results: bool,
    /// Tokens of the prompt from which they are.
    pub trigger: u64,
    /// The same in percent of the window, where that is known; 0: `trigger` counts.
    pub percent: u64,
    /// The newest results that stay.
    pub keep: usize,
    /// The fewest tokens to clear at once.
    pub at_least: u64,
    /// At least as many as pay for the cache.
    pub pays: bool,
    /// Results that stay relevant are kept: of memory, skills, todos.
    pub keep_relevant: bool,
    /// The inputs of their calls are cleared too.
    pub inputs: bool,
    /// Cleared results stay cleared, and neither trigger nor minimum count them again. Otherwise each request is cleared
    /// anew, as if it were the first.
    pub lasting: bool,
    /// The newest turns of thinking that stay; 0: all.
    pub thinking: usize,
    /// A turn of thinking is one message; otherwise all messages from one of the person's to the next.
    pub by_message: bool,
    /// The cache finds any beginning that was sent before, not only those at breakpoints.
    pub anywhere: bool,
}

impl ProviderClearing {
    /// Results, with the provider's defaults.
    pub const RESULTS: ProviderClearing = ProviderClearing {
        results: true,
        trigger: CLEAR_TOKENS,
        percent: 0,
        keep: USUAL_KEEP,
        at_least: 0,
        pays: false,
        keep_relevant: false,
        inputs: false,
        lasting: true,
        thinking: 0,
        by_message: false,
        anywhere: false,
    };
    /// Results, as `ctx` requests it by default.
    pub const BY_CTX: ProviderClearing = ProviderClearing {
        percent: CLEAR_PERCENT,
        keep: CLEAR_KEEP as usize,
        pays: true,
        keep_relevant: true,
        ..ProviderClearing::RESULTS
    };
    /// Only thinking, of all turns but the newest.
    pub const THINKING: ProviderClearing =
        ProviderClearing { results: false, thinking: 1, ..ProviderClearing::RESULTS };
}

/// A recording's clearable content, and what is cleared so far.
pub struct ClearingProvider<'k> {
    known: &'k RecordingFacts<'k>,
    asked: ProviderClearing,
    /// The clearable results, in order.
    results: Vec<&'k RecordedResult>,
    /// The blocks of thinking, each with its turn, in order.
    thoughts: Vec<(Place, usize)>,
    /// The cleared blocks, each with the tokens that this saves.
    cleared: BTreeMap<Place, ClearedBlock>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct ClearedBlock {
    saves: f64,
    is_thinking: bool,
}

/// The content that a request loses, in addition to the one before.
#[derive(Debug, Default, PartialEq)]
pub struct NewlyCleared {
    pub calls: Vec<String>,
    /// The calls whose inputs are cleared.
    pub inputs: Vec<String>,
    pub thinking: usize,
    pub tokens: f64,
}

impl NewlyCleared {
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.inputs.is_empty() && self.thinking == 0
    }
}

impl<'k> ClearingProvider<'k> {
    pub fn new(known: &'k RecordingFacts<'k>, asked: ProviderClearing) -> ClearingProvider<'k> {
        let is_kept = |result: &&RecordedResult| {
            let call =
                result.asked.and_then(|Place { message, block }| known.script.facts().get(message)?.blocks.get(block));
            let tool = call.and_then(|call| call.tool.as_deref()).unwrap_or_default();
            asked.keep_relevant && ctx_clients::lexicon().is_lasting(tool)
        };
        let results = known.results.iter().filter(|result| !is_kept(result)).collect();
        let (mut turn, mut thoughts) = (0, Vec::new());
        for (at, message) in known.script.facts().iter().enumerate() {
            turn += usize::from(asked.by_message || message.speaks.is_some());
            let blocks = message.blocks.iter().enumerate().filter(|(_, block)| block.kind == Kind::Thinking);
            thoughts.extend(blocks.map(|(block, _)| (Place { message: at, block }, turn)));
        }
        ClearingProvider { known, asked, results, thoughts, cleared: BTreeMap::new() }
    }

    /// Clears the prompt of a turn.
    pub fn clear(&mut self, turn: usize, prompt: &mut Prompt) -> NewlyCleared {
        let answer = self.known.script.recording.turns.get(turn).map_or(0, |turn| turn.answer);
        let mut new = self.clear_thinking(answer);
        self.clear_results((turn, answer), prompt.size(), &mut new);
        let mut removed: BTreeMap<usize, RemovedContent> = BTreeMap::new();
        for (place, block) in &self.cleared {
            let of_message = removed.entry(place.message).or_default();
            of_message.blocks.push(place.block);
            of_message.tokens += block.saves;
            of_message.places += usize::from(block.is_thinking);
        }
        prompt.remove(&removed);
        if self.asked.anywhere {
            prompt.mark_all();
        }
        new
    }

    /// All thinking but that of the newest turns with any. It is cleared first.
    fn clear_thinking(&mut self, answer: usize) -> NewlyCleared {
        let mut new = NewlyCleared::default();
        if self.asked.thinking == 0 {
            return new;
        }
        let sent: Vec<(Place, usize)> =
            self.thoughts.iter().copied().take_while(|(place, _)| place.message < answer).collect();
        let mut turns: Vec<usize> = sent.iter().map(|(_, turn)| *turn).collect();
        turns.dedup();
        let kept = turns.len().checked_sub(self.asked.thinking).and_then(|first| turns.get(first)).copied();
        for (place, _) in sent.iter().filter(|(_, turn)| kept.is_some_and(|kept| *turn < kept)) {
            if !self.cleared.contains_key(place) {
                let saves = self.known.script.tokens(*place);
                self.cleared.insert(*place, ClearedBlock { saves, is_thinking: true });
                new.thinking += 1;
                new.tokens += saves;
            }
        }
        new
    }

    /// All results but the newest, if the prompt is large and enough would go.
    fn clear_results(&mut self, (turn, answer): (usize, usize), size: f64, new: &mut NewlyCleared) {
        let counts = |block: &&ClearedBlock| block.is_thinking || self.asked.lasting;
        let gone: f64 = self.cleared.values().filter(counts).map(|block| block.saves).sum();
        let (trigger, at_least) = self.thresholds(turn, size);
        if !self.asked.results || size - gone <= trigger as f64 {
            return;
        }
        let sent = self.known.results.iter().filter(|result| result.place.message < answer).count();
        let newest = self.known.results.get(sent.saturating_sub(self.asked.keep)).map(|result| result.place);
        let goes = |result: &&&RecordedResult| {
            result.place.message < answer && newest.is_none_or(|newest| result.place < newest)
        };
        let mut fresh = NewlyCleared::default();
        let (mut blocks, mut total) = (Vec::new(), 0.0);
        for result in self.results.iter().filter(goes) {
            let input = result.asked.filter(|_| self.asked.inputs);
            for (place, is_input) in [(Some(result.place), false), (input, true)] {
                let Some(place) = place else { continue };
                let saves = self.saves(place);
                let is_new = !self.cleared.contains_key(&place);
                if is_new || !self.asked.lasting {
                    total += saves;
                }
                if is_new {
                    fresh.tokens += saves;
                    if is_input { &mut fresh.inputs } else { &mut fresh.calls }.push(result.call.clone());
                    blocks.push((place, ClearedBlock { saves, is_thinking: false }));
                }
            }
        }
        if total >= at_least.max(1) as f64 {
            self.cleared.extend(blocks);
            new.calls.append(&mut fresh.calls);
            new.inputs.append(&mut fresh.inputs);
            new.tokens += fresh.tokens;
        }
    }

    /// The trigger and the minimum, in tokens.
    fn thresholds(&self, turn: usize, size: f64) -> (u64, u64) {
        let window = self.known.charge(turn).window().filter(|_| self.asked.percent > 0);
        let trigger = window.map_or(self.asked.trigger, |window| window / 100 * self.asked.percent);
        let (price, _) = self.known.price(turn, size);
        let pays = self.asked.pays.then(|| worth_clearing(trigger, Some(price), self.known.script.lifetime(turn)));
        (trigger, self.asked.at_least.max(pays.unwrap_or(0)))
    }

    /// The tokens that clearing a block saves.
    fn saves(&self, place: Place) -> f64 {
        let left = tokens::estimate(CLEARED.len() as u32, 0) * self.known.script.sizes.scale;
        (self.known.script.tokens(place) - left).max(0.0)
    }
}
