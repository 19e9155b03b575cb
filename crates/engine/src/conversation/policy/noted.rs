//! Observe mode: the edits of tool results and inputs that would have been made.

use crate::conversation::policy::calls::input;
use crate::log::{Automatic, TrimmedResult};
use ctx_core::SlotId;
use ctx_core::edit::Operation;
use ctx_core::edit::effect::{Effect, NewResult};
use ctx_core::policy::Item;
use ctx_core::policy::stub::is_result_stub;
use ctx_core::tokens;
use ctx_wire::Wire;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

#[derive(Debug, Default)]
pub struct NotedEdits {
    /// The calls whose results would have been cleared, and whose inputs would have been shortened.
    cleared: HashSet<String>,
    inputs: HashSet<String>,
    /// Tokens that would have been trimmed from results before they were sent, by call.
    trimmed: HashMap<String, u64>,
    /// Calls whose results a user chose to keep before this conversation forked, and thinking: message and block.
    kept: HashSet<String>,
    kept_thinking: HashSet<(SlotId, usize)>,
}

impl NotedEdits {
    pub fn add(&mut self, noted: &Automatic) {
        if let Automatic::Kept { calls, thinking } = noted {
            self.kept.extend(calls.iter().cloned());
            self.kept_thinking.extend(thinking);
        }
        let Automatic::Noted { calls, trimmed, inputs, .. } = noted else { return };
        self.cleared.extend(calls.iter().cloned());
        self.inputs.extend(inputs.iter().cloned());
        self.trimmed.extend(trimmed.iter().map(|one| (one.call.clone(), one.tokens)));
    }

    /// Changes a result as if the edit had been made. Returns the saved tokens.
    pub fn assume_made(&self, item: &mut Item) -> u64 {
        let mut saved = 0;
        if let Some(input) = item.input.filter(|_| self.inputs.contains(&*item.call)) {
            saved += input.tokens.saturating_sub(input.left);
            item.input = None;
        }
        if !item.cleared {
            let trimmed = self.trimmed(&item.call).min(item.tokens);
            item.tokens -= trimmed;
            saved += trimmed;
            if self.cleared.contains(&*item.call) {
                saved += item.tokens.saturating_sub(item.left);
                item.cleared = true;
            }
        }
        saved
    }

    pub fn kept(&self) -> impl Iterator<Item = &str> {
        self.kept.iter().map(String::as_str)
    }

    pub fn kept_thinking(&self) -> impl Iterator<Item = (SlotId, usize)> {
        self.kept_thinking.iter().copied()
    }

    /// Tokens that would have been trimmed from a result before it was sent.
    pub fn trimmed(&self, call: &str) -> u64 {
        self.trimmed.get(call).copied().unwrap_or(0)
    }
}

/// Reads the automatic editor's operations: the calls whose results they clear, the tokens they trim from others, and
/// the calls whose inputs they shorten.
pub fn read(
    wire: &dyn Wire,
    operations: &[Operation],
    effects: &[Effect],
    scale: impl Fn(f64) -> u64,
) -> (Vec<String>, Vec<TrimmedResult>, Vec<String>) {
    let results = effects.iter().flat_map(|effect| match effect {
        Effect::Results { results, .. } => results.as_slice(),
        _ => &[],
    });
    let results: Vec<&NewResult> = results.collect();
    let (trims, clears): (Vec<&NewResult>, Vec<&NewResult>) =
        results.into_iter().partition(|result| !is_result_stub(&result.text));
    let call = |result: &NewResult| result.block.id.as_deref().map(str::to_owned);
    let trimmed = |result: &NewResult| {
        let chars = result.block.chars.saturating_sub(result.text.chars().count() as u32);
        let tokens = scale(tokens::estimate(chars, 0) - tokens::estimate(0, 0));
        Some(TrimmedResult { call: call(result)?, tokens })
    };
    (
        clears.into_iter().filter_map(call).collect(),
        trims.into_iter().filter_map(trimmed).collect(),
        operations.iter().filter_map(|operation| input(wire, operation)).map(Cow::into_owned).collect(),
    )
}
