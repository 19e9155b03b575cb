//! Confidence in a figure: its range over resamples of the projects, and its value without one of them.
//! Conversations of one project are alike, so projects are drawn, not conversations.

use crate::run::Score;
use serde::Serialize;
use std::collections::BTreeMap;

const DRAWINGS: usize = 1000;

/// The ranges of a policy's figures.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Confidence {
    /// The middle 90 % of the change in cost over resamples of as many projects.
    pub change: Option<[f64; 2]>,
    /// The same for the share of harmed steps.
    pub harm: Option<[f64; 2]>,
    /// The figures without the project that changes the cost most.
    pub without: Option<WithoutProject>,
}

/// Figures without one project.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WithoutProject {
    pub project: String,
    pub change: f64,
    pub harm: f64,
}

/// Sums over conversations.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    cost: f64,
    first: f64,
    harmed: f64,
    steps: f64,
}

impl Sums {
    fn add(&mut self, other: &Sums, times: f64) {
        self.cost += other.cost * times;
        self.first += other.first * times;
        self.harmed += other.harmed * times;
        self.steps += other.steps * times;
    }

    fn change(&self) -> f64 {
        if self.first > 0.0 { self.cost / self.first - 1.0 } else { 0.0 }
    }

    fn harm(&self) -> f64 {
        self.harmed / self.steps.max(1.0)
    }
}

/// The ranges of a policy against the first one; none for a single project.
pub fn confidence(scores: &[Score], first: &[Score]) -> Confidence {
    let mut projects: BTreeMap<&str, Sums> = BTreeMap::new();
    for (own, first) in scores.iter().zip(first) {
        let sums = Sums { cost: own.cost(), first: first.cost(), harmed: own.harmed as f64, steps: own.steps as f64 };
        projects.entry(&own.project).or_default().add(&sums, 1.0);
    }
    if projects.len() < 2 {
        return Confidence::default();
    }
    let sums: Vec<Sums> = projects.values().copied().collect();
    let (change, harm) = resample(&sums);
    Confidence { change: Some(change), harm: Some(harm), without: without(&projects) }
}

/// The middle 90 % of change and harm over repeated drawings of as many projects.
fn resample(projects: &[Sums]) -> ([f64; 2], [f64; 2]) {
    // A fixed seed: a report is reproducible.
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut draw = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % projects.len().max(1) as u64) as usize
    };
    let (mut changes, mut harms) = (Vec::new(), Vec::new());
    for _ in 0..DRAWINGS {
        let mut all = Sums::default();
        let drawn = projects.iter().filter_map(|_| projects.get(draw()));
        drawn.for_each(|project| all.add(project, 1.0));
        changes.push(all.change());
        harms.push(all.harm());
    }
    (middle(changes), middle(harms))
}

fn middle(mut figures: Vec<f64>) -> [f64; 2] {
    figures.sort_by(f64::total_cmp);
    let edge = figures.len() / 20;
    [edge, figures.len().saturating_sub(edge + 1)].map(|at| figures.get(at).copied().unwrap_or_default())
}

fn without(projects: &BTreeMap<&str, Sums>) -> Option<WithoutProject> {
    let mut all = Sums::default();
    projects.values().for_each(|project| all.add(project, 1.0));
    let rest = |(name, own): (&&str, &Sums)| {
        let mut rest = all;
        rest.add(own, -1.0);
        WithoutProject { project: (*name).to_owned(), change: rest.change(), harm: rest.harm() }
    };
    let moved = |one: &WithoutProject| (one.change - all.change()).abs();
    projects.iter().map(rest).max_by(|one, other| moved(one).total_cmp(&moved(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(project: &str, cost: f64, harmed: usize) -> Score {
        Score { project: project.into(), input_cost: cost, harmed, steps: 100, ..Score::default() }
    }

    #[test]
    fn ranges_lie_around_the_figure_and_are_reproducible() {
        let own: Vec<Score> = (0..40_u32).map(|at| score(&at.to_string(), 8.0 + f64::from(at % 5), 1)).collect();
        let first: Vec<Score> = (0..40).map(|at| score(&at.to_string(), 12.0, 0)).collect();
        let found = confidence(&own, &first);
        let [low, high] = found.change.expect("a range");
        assert!(low < 10.0 / 12.0 - 1.0 && 10.0 / 12.0 - 1.0 < high && high - low < 0.12, "{low} {high}");
        assert_eq!(found.harm, Some([0.01, 0.01]));
        assert_eq!(confidence(&own, &first), found);
    }

    #[test]
    fn conversations_of_one_project_are_drawn_together() {
        let first: Vec<Score> = (0..20).map(|at| score(if at < 10 { "a" } else { "b" }, 10.0, 0)).collect();
        let own: Vec<Score> =
            first.iter().map(|one| score(&one.project, if one.project == "a" { 5.0 } else { 9.0 }, 0)).collect();
        assert_eq!(confidence(&own, &first).change, Some([-0.5, 9.0 / 10.0 - 1.0]), "one project or the other, alone");
        assert_eq!(confidence(&own[..10], &first[..10]), Confidence::default(), "a single one tells nothing");
    }

    #[test]
    fn the_project_that_changes_the_figure_most_is_named() {
        let first = ["a", "b", "c"].map(|project| score(project, 10.0, 0));
        let own = [score("a", 9.0, 0), score("b", 2.0, 3), score("c", 8.0, 1)];
        let without = confidence(&own, &first).without.expect("projects");
        assert_eq!((&*without.project, without.change), ("b", 17.0 / 20.0 - 1.0));
        assert_eq!(without.harm, 0.005);
    }
}
