//! The tally for people: how many tokens of a conversation may go, and how many stay.

use super::Look;
use super::eligible::{Eligibility, Facts, saved};
use super::settings::Settings;
use super::target::Target;

/// Tokens of results and tool inputs that may go, and of results that stay.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tally {
    /// Tokens of results that stay: pinned, preserved, of excluded tools, or recent.
    pub preserved: u64,
    /// Tokens that clearing would save, by target, in the order in which they would go.
    pub clearable: Vec<(Target, u64)>,
}

/// Counts what may go by the settings.
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
