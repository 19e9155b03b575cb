//! The report of a run, for people, programs and spreadsheets.

mod confidence;
mod html;
mod lines;
mod plot;

pub use confidence::WithoutProject;
pub use html::html;
pub use lines::{Line, csv, lines};

use crate::causes::Causes;
use crate::policies::foresight;
use crate::run::{Outcome, Score};
use serde::Serialize;

/// The tokens from which a conversation counts as long.
pub const LONG: u64 = 150_000;

/// All conversations under one policy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    pub policy: String,
    pub about: String,
    pub conversations: usize,
    pub steps: usize,
    pub final_tokens: u64,
    pub cumulative_tokens: u64,
    pub peak_tokens: u64,
    /// In dollars, including output and forced re-reads.
    pub cost: f64,
    /// Relative to the first policy: −0.2 is a fifth less.
    pub change: f64,
    /// The middle 90 % over resamples of as many projects; none for a single one. A conversation of no known project
    /// counts as its own.
    pub change_range: Option<[f64; 2]>,
    /// The figures without the project that changes the cost most.
    pub without_project: Option<WithoutProject>,
    /// The change with knowledge of the future, without and with early edits, if those policies were replayed too.
    pub foresight_change: Option<f64>,
    pub foresight_early_change: Option<f64>,
    /// The most expensive and the cheapest conversation, relative to the first policy.
    pub worst: f64,
    pub best: f64,
    /// The part of the cost for forced re-reads.
    pub forced_cost: f64,
    /// The whole cost by cause.
    pub causes: Causes,
    pub cache_read_share: f64,
    pub clear_events: usize,
    /// The share of steps that relied on hidden content.
    pub harm: f64,
    /// Its middle 90 %, as for the change.
    pub harm_range: Option<[f64; 2]>,
    pub harmed_steps: usize,
    pub harmed_edits: usize,
    pub harmed_rereads: usize,
    /// The tokens of the content that harmed steps relied on. `forced_cost` is the money, `forced_seconds` the time.
    pub missed_tokens: u64,
    pub forced_seconds: f64,
    /// Steps that repeated a command or a search whose earlier result was hidden, the tokens of those results, and the
    /// cost of the steps. The recording has these steps too, so they are neither in `harm` nor added to `cost`.
    pub repeated_steps: usize,
    pub repeated_tokens: u64,
    pub repeated_cost: f64,
    /// Conversations charged, at least in part, as another model, because their own is not listed.
    pub stand_in_conversations: usize,
    /// Conversations larger than their model's window.
    pub beyond_window_conversations: usize,
}

/// Conversations of a certain length.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    pub name: &'static str,
    pub policies: Vec<Summary>,
}

/// A summary of all conversations, and of long and short ones. `names`: the policies with a description each.
pub fn groups(outcome: &Outcome, names: &[(String, String)]) -> Vec<Group> {
    let length: Vec<u64> =
        outcome.scores.first().map(|scores| scores.iter().map(|score| score.peak_tokens).collect()).unwrap_or_default();
    let group = |name, belongs: &dyn Fn(u64) -> bool| {
        let chosen: Vec<usize> =
            (0..length.len()).filter(|&at| length.get(at).is_some_and(|len| belongs(*len))).collect();
        let of =
            |scores: &'_ [Score]| -> Vec<Score> { chosen.iter().filter_map(|&at| scores.get(at).cloned()).collect() };
        let first = outcome.scores.first().map(|scores| of(scores)).unwrap_or_default();
        let summaries = outcome.scores.iter().zip(names).map(|(scores, name)| summary(name, &of(scores), &first));
        Group { name, policies: beside_bounds(summaries.collect()) }
    };
    let groups =
        [group("all", &|_| true), group("long", &|tokens| tokens >= LONG), group("short", &|tokens| tokens < LONG)];
    groups.into_iter().filter(|group| group.policies.first().is_some_and(|policy| policy.conversations > 0)).collect()
}

/// The same, each with the figures of the policies that know the future.
fn beside_bounds(mut policies: Vec<Summary>) -> Vec<Summary> {
    let change = |name: &str| policies.iter().find(|policy| policy.policy == name).map(|policy| policy.change);
    let (kept, early) = (change(foresight::NAME), change(foresight::EARLY));
    for policy in &mut policies {
        (policy.foresight_change, policy.foresight_early_change) = (kept, early);
    }
    policies
}

fn summary((policy, about): &(String, String), scores: &[Score], first: &[Score]) -> Summary {
    let sum = |of: &dyn Fn(&Score) -> f64| scores.iter().map(of).sum::<f64>();
    let count = |of: &dyn Fn(&Score) -> usize| scores.iter().map(of).sum::<usize>();
    let total = |of: &dyn Fn(&Score) -> u64| scores.iter().map(of).sum::<u64>();
    let pairs: Vec<(f64, f64)> = scores.iter().zip(first).map(|(own, first)| (own.cost(), first.cost())).collect();
    let each = pairs.iter().filter(|(_, first)| *first > 0.0).map(|(own, first)| own / first - 1.0);
    let (worst, best) = each.fold((f64::MIN, f64::MAX), |(worst, best), one| (worst.max(one), best.min(one)));
    let steps = count(&|score| score.steps);
    let mut causes = Causes::default();
    scores.iter().for_each(|score| causes += score.causes);
    let confidence = confidence::confidence(scores, first);
    let harmed_steps = count(&|score| score.harmed);
    Summary {
        policy: policy.clone(),
        about: about.clone(),
        conversations: scores.len(),
        steps,
        final_tokens: total(&|score| score.final_tokens),
        cumulative_tokens: total(&|score| score.cumulative_tokens),
        peak_tokens: scores.iter().map(|score| score.peak_tokens).max().unwrap_or(0),
        cost: sum(&Score::cost),
        change: change(pairs.iter().copied()),
        foresight_change: None,
        foresight_early_change: None,
        change_range: confidence.change,
        without_project: confidence.without,
        worst,
        best,
        forced_cost: sum(&|score| score.forced_cost),
        causes,
        cache_read_share: sum(&|score| score.read) / sum(&|score| score.prompt).max(1.0),
        clear_events: count(&|score| score.clear_events),
        harm: harmed_steps as f64 / steps.max(1) as f64,
        harm_range: confidence.harm,
        harmed_steps,
        harmed_edits: count(&|score| score.harmed_edits),
        harmed_rereads: count(&|score| score.harmed_rereads),
        missed_tokens: sum(&|score| score.missed_tokens).round() as u64,
        forced_seconds: sum(&|score| score.forced_seconds),
        repeated_steps: count(&|score| score.repeated),
        repeated_tokens: sum(&|score| score.repeated_tokens).round() as u64,
        repeated_cost: sum(&|score| score.repeated_cost),
        stand_in_conversations: count(&|score| usize::from(!score.stand_in.is_empty())),
        beyond_window_conversations: count(&|score| usize::from(score.beyond_window)),
    }
}

fn change(pairs: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (own, first) = pairs.fold((0.0, 0.0), |(own, first), (one, other)| (own + one, first + other));
    if first > 0.0 { own / first - 1.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversations_are_parted_by_their_length() {
        let score = |peak: u64, cost: f64| {
            let project = peak.to_string();
            Score { peak_tokens: peak, project, input_cost: cost, steps: 10, ..Score::default() }
        };
        let outcome = Outcome {
            scores: vec![
                vec![score(160_000, 10.0), score(20_000, 1.0)],
                vec![Score { harmed: 1, ..score(160_000, 7.0) }, score(20_000, 1.5)],
            ],
            ..Outcome::default()
        };
        let names = ["none", "other"].map(|name| (name.to_owned(), String::new()));
        let groups = groups(&outcome, &names);
        let told: Vec<(&str, usize, f64)> = groups
            .iter()
            .map(|group| (group.name, group.policies[1].conversations, group.policies[1].change))
            .collect();
        assert_eq!(told[1], ("long", 1, 7.0 / 10.0 - 1.0));
        assert_eq!(told[2], ("short", 1, 0.5));
        assert!(groups[0].policies[1].change_range.is_some() && groups[1].policies[1].change_range.is_none());
        assert_eq!((groups[0].policies[1].worst, groups[0].policies[1].harm), (0.5, 0.05));
    }
}
