//! Leaks and swallows, counted per behaviour.

use crate::behaviour::Behaviour;
use ctx_core::Verdict;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Default, Clone, Copy)]
struct Row {
    requests: u64,
    sightings: u64,
    /// Messages that the exact walk did not cover.
    contested: u64,
    /// Messages that lost their slot here; a leak is counted whenever one of them is sent again.
    lost: u64,
    leaks: u64,
    /// Messages that came into the slot of another here; a swallow is counted wherever it is sent.
    taken: u64,
    swallows: u64,
}

#[derive(Default)]
pub struct Tally {
    rows: BTreeMap<Behaviour, Row>,
    /// The first few, to look into.
    examples: Vec<String>,
    pub wrong_verdicts: Vec<String>,
}

impl Tally {
    fn row(&mut self, behaviour: Behaviour) -> &mut Row {
        self.rows.entry(behaviour).or_default()
    }

    pub fn request(&mut self, behaviour: Behaviour, sightings: usize, contested: usize) {
        let row = self.row(behaviour);
        row.requests += 1;
        row.sightings += sightings as u64;
        row.contested += contested as u64;
    }

    pub fn leak(&mut self, cause: Behaviour, first: bool, shown: impl Fn() -> String) {
        let row = self.row(cause);
        row.leaks += 1;
        row.lost += u64::from(first);
        self.example(first, || format!("leak    {cause:?}, {}", shown()));
    }

    pub fn swallow(&mut self, behaviour: Behaviour, first: bool, shown: impl Fn() -> String) {
        let row = self.row(behaviour);
        row.swallows += 1;
        row.taken += u64::from(first);
        self.example(first, || format!("swallow {behaviour:?}, {}", shown()));
    }

    fn example(&mut self, first: bool, shown: impl Fn() -> String) {
        if first && self.examples.len() < 30 {
            self.examples.push(shown());
        }
    }

    pub fn verdict(&mut self, behaviour: Behaviour, expected: Option<Verdict>, got: Verdict, name: &str) {
        if let Some(expected) = expected.filter(|expected| *expected != got) {
            let (expected, got) = (expected.name(), got.name());
            self.wrong_verdicts.push(format!("{name}: {behaviour:?} is {expected} and was called {got}"));
        }
    }

    fn total(&self) -> Row {
        let mut total = Row::default();
        for row in self.rows.values() {
            total.requests += row.requests;
            total.sightings += row.sightings;
            total.contested += row.contested;
            total.lost += row.lost;
            total.leaks += row.leaks;
            total.taken += row.taken;
            total.swallows += row.swallows;
        }
        total
    }

    /// Prints everything and fails if there are more leaks or swallows in 10,000 sightings, or any
    /// wrong verdict.
    #[track_caller]
    pub fn assert_at_most(&self, leaks: f64, swallows: f64) {
        println!("{self}");
        self.examples.iter().chain(self.wrong_verdicts.iter().take(30)).for_each(|line| println!("{line}"));
        let (leak_rate, swallow_rate) = self.rates();
        assert!(leak_rate <= leaks, "{leak_rate:.2} leaks in 10,000 sightings");
        assert!(swallow_rate <= swallows, "{swallow_rate:.2} swallows in 10,000 sightings");
        assert!(self.wrong_verdicts.is_empty(), "{} wrong verdicts", self.wrong_verdicts.len());
    }

    /// Per 10,000 sightings.
    fn rates(&self) -> (f64, f64) {
        let total = self.total();
        let per = |count: u64| count as f64 * 10_000.0 / total.sightings.max(1) as f64;
        (per(total.leaks), per(total.swallows))
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ["requests", "sightings", "contested", "lost", "leaks", "taken", "swallows"];
        write!(f, "{:<22}", "behaviour")?;
        names.iter().try_for_each(|name| write!(f, "{name:>10}"))?;
        writeln!(f)?;
        let all = [("all".to_owned(), self.total())];
        for (name, row) in self.rows.iter().map(|(behaviour, row)| (format!("{behaviour:?}"), *row)).chain(all) {
            let Row { requests, sightings, contested, lost, leaks, taken, swallows } = row;
            write!(f, "{name:<22}")?;
            let numbers = [requests, sightings, contested, lost, leaks, taken, swallows];
            numbers.iter().try_for_each(|number| write!(f, "{number:>10}"))?;
            writeln!(f)?;
        }
        let (leaks, swallows) = self.rates();
        write!(f, "per 10,000 sightings: {leaks:.2} leaks, {swallows:.2} swallows")
    }
}
