//! Stale and superseded results, and the price of removing them.

use super::eligible::{Eligibility, Facts};
use super::settings::Settings;
use super::target::Target;
use super::{Look, PossibleCut, Price};
use std::sync::Arc;

/// Tokens left of a result that is offloaded to a file (a note with the path), and of one that is dropped.
const OFFLOADED: u64 = 110;
const DROPPED: u64 = 40;

/// Results that are worth removing, by the ids of their calls.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Worth {
    /// Not needed for a long time: offload their content.
    pub stale: Vec<Arc<str>>,
    /// Out of date: the same file was read again, or changed, later.
    pub superseded: Vec<Arc<str>>,
    /// Tokens that each request would save.
    pub removed: u64,
    /// Tokens that the provider reads again once; none with a cold cache.
    pub reread: u64,
    /// The price of removing them all; none if there are none.
    pub price: Option<Price>,
}

/// Finds clearable results that are stale, superseded, or details of an ended phase.
pub fn worth(settings: &Settings, look: &Look<'_>, facts: Facts<'_>) -> Worth {
    let mut worth = Worth::default();
    let mut cuts: Vec<PossibleCut> = Vec::new();
    let eligible = Eligibility::of(settings, look, facts);
    for (target, item) in eligible.results().into_iter().filter(|(_, item)| !eligible.is_held(item)) {
        let (calls, stays) = match target {
            Target::SupersededFileReads => (&mut worth.superseded, DROPPED),
            _ if item.superseded => (&mut worth.superseded, DROPPED),
            Target::StaleToolResults | Target::CompletedPhaseDetails => (&mut worth.stale, OFFLOADED),
            Target::IntermediateOutputs | Target::VerboseDebug => continue,
        };
        let removed = item.tokens.saturating_sub(stays);
        if removed > 0 {
            calls.push(item.call.clone());
            cuts.push(PossibleCut { before: item.before, removed });
        }
    }
    cuts.sort_by_key(|cut| cut.before);
    worth.price = look.prices(&cuts).first().copied();
    worth.removed = cuts.iter().map(|cut| cut.removed).sum();
    let first = cuts.first().map_or(look.tokens, |cut| cut.before);
    worth.reread = if look.cold { 0 } else { look.tokens.saturating_sub(first + worth.removed) };
    worth
}

#[cfg(test)]
mod tests {
    use super::super::eligible::Fact;
    use super::*;
    use crate::policy::Item;

    fn item(call: &str, step: usize, before: u64, superseded: bool) -> Item {
        Item { call: call.into(), tokens: 5_000, left: 100, step, before, superseded, ..Item::default() }
    }

    #[test]
    fn what_is_stale_or_superseded_is_priced_as_a_whole() {
        let items =
            vec![item("old", 1, 10_000, false), item("outdated", 25, 20_000, true), item("new", 30, 40_000, false)];
        let look = Look { items, tokens: 50_000, window: 200_000, steps: 30, ..Look::default() };
        let settings = Settings { preserve_recent_turns: 3, ..Settings::default() };
        let found = worth(&settings, &look, &|_| Fact::default());
        assert_eq!((found.stale, found.superseded), (vec!["old".into()], vec!["outdated".into()]));
        assert_eq!((found.removed, found.reread), (4_890 + 4_960, 50_000 - 10_000 - 9_850));
        let price = found.price.expect("a price");
        assert_eq!(price.pays_after().ceil(), (30_150.0_f64 * 1.15 / 985.0).ceil());
        let cold = worth(&settings, &Look { cold: true, ..look }, &|_| Fact::default());
        assert_eq!((cold.reread, cold.price.expect("a price").pays_after()), (0, 0.0));
    }
}
