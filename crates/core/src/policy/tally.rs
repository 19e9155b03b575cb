//! The tally for people: clearable and preserved tokens of a conversation.

use super::Look;
use super::eligible::{Eligibility, Facts, saved};
use super::settings::Settings;
use super::target::Target;

/// Tokens of clearable results and tool inputs, and of preserved results.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tally {
    /// Tokens of preserved results: pinned, protected, of excluded tools, or recent.
    pub preserved: u64,
    /// Tokens that clearing would save, by target, in clearing order.
    pub clearable: Vec<(Target, u64)>,
}

/// Counts the tokens that the settings allow to clear.
pub fn tally(settings: &Settings, look: &Look<'_>, facts: Facts<'_>) -> Tally {
    let eligible = Eligibility::of(settings, look, facts);
    let mut clearable: Vec<(Target, u64)> = settings.clear_targets.iter().map(|target| (*target, 0)).collect();
    let results = eligible.results().into_iter().filter(|(_, item)| !eligible.is_held(item));
    let results = results.map(|(target, item)| (target, saved(item)));
    let inputs = eligible.inputs().into_iter().map(|(target, _, saved)| (target, saved));
    for (target, saved) in results.chain(inputs) {
        clearable.iter_mut().filter(|(one, _)| *one == target).for_each(|(_, tokens)| *tokens += saved);
    }
    let whole = eligible.look.items.iter().filter(|item| !item.cleared);
    let stay = whole.filter(|item| item.pinned || eligible.is_held(item));
    Tally { preserved: stay.map(|item| item.tokens).sum(), clearable }
}
