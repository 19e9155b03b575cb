//! Counts of events.

use std::collections::BTreeMap;

/// Counts over all worlds.
#[derive(Debug, Default, Clone)]
pub struct Tally {
    pub requests: u64,
    pub composed: u64,
    pub sides: u64,
    pub operations: BTreeMap<String, u64>,
    pub refusals: BTreeMap<String, u64>,
    pub repairs: BTreeMap<String, u64>,
    pub restarts: u64,
    pub faults: u64,
    pub withheld: u64,
}

impl Tally {
    pub fn add(&mut self, other: &Tally) {
        self.requests += other.requests;
        self.composed += other.composed;
        self.sides += other.sides;
        self.restarts += other.restarts;
        self.faults += other.faults;
        self.withheld += other.withheld;
        for (mine, theirs) in [
            (&mut self.operations, &other.operations),
            (&mut self.refusals, &other.refusals),
            (&mut self.repairs, &other.repairs),
        ] {
            theirs.iter().for_each(|(name, count)| *mine.entry(name.clone()).or_default() += count);
        }
    }
}
