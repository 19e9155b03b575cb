//! The bench: `ctx` and nginx with the same upstream, under the same load, in alternating rounds. `cargo xtask bench`
//! builds and starts everything; `docs/bench.md` explains the numbers.
//!
//! `script` generates the load, `load` sends it, `sink` answers it, `stage` starts the measured servers, and
//! each of `series` measures one thing. Every loop is bounded in count and time.

mod answer;
mod format;
mod load;
mod process;
mod report;
mod script;
mod series;
pub mod sink;
mod stage;
mod stats;
mod steady;

use report::{Report, Rounds};
use stage::{Daemon, Stage};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The measurements, and the programs for them.
#[derive(Debug, Clone)]
pub struct Plan {
    pub ctx: PathBuf,
    pub nginx: PathBuf,
    /// Fewer rounds: two minutes instead of eight.
    pub quick: bool,
    /// Only the series with this name, and those whose names continue it: `team` is also `team-load`.
    pub only: Option<String>,
    /// The file for the result as JSON.
    pub json: Option<PathBuf>,
}

type Series = fn(&Stage, &Plan, &mut Report) -> io::Result<()>;

const SERIES: [(&str, Series); 14] = [
    ("latency", series::latency::run),
    ("throughput", series::throughput::run),
    ("editing", series::editing::run),
    ("formats", series::formats::run),
    ("formats-edited", series::formats::edited),
    ("parallel", series::parallel::run),
    ("beside", series::beside::run),
    ("scale", series::scale::run),
    ("streaming", series::streaming::run),
    ("daemon", series::daemon::run),
    ("growth", series::growth::run),
    ("team", series::team::run),
    ("team-load", series::team_load::run),
    ("team-start", series::team_start::run),
];

/// The possible names in [`Plan::only`].
pub fn names() -> impl Iterator<Item = &'static str> {
    SERIES.iter().map(|(name, _)| *name)
}

/// Measures, prints, and returns the number of missed goals.
pub fn run(plan: &Plan) -> io::Result<usize> {
    let stage = Stage::set(&plan.ctx, &plan.nginx)?;
    let mut report = Report::new(plan.quick);
    for (name, measure) in SERIES {
        if plan.only.as_deref().is_none_or(|only| is_part(name, only)) {
            measure(&stage, plan, &mut report).map_err(|error| io::Error::other(format!("{name}: {error}")))?;
        }
    }
    println!("\n{}", report.table());
    if let Some(file) = &plan.json {
        std::fs::write(file, format!("{:#}\n", report.json()))?;
    }
    Ok(report.missed())
}

fn is_part(name: &str, whole: &str) -> bool {
    name.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// The three servers that a series compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rival {
    Direct,
    Nginx,
    Ctx,
}

impl Rival {
    /// The order of a round: forwards in one, backwards in the next, so that none always comes first.
    fn in_round(round: usize) -> [Rival; 3] {
        match round % 2 {
            0 => [Rival::Direct, Rival::Nginx, Rival::Ctx],
            _ => [Rival::Ctx, Rival::Nginx, Rival::Direct],
        }
    }

    fn address(self, stage: &Stage, daemon: &Daemon) -> SocketAddr {
        match self {
            Rival::Direct => stage.sink(),
            Rival::Nginx => stage.nginx(),
            Rival::Ctx => daemon.address,
        }
    }
}

impl Rounds {
    fn push(&mut self, rival: Rival, value: f64) {
        match rival {
            Rival::Direct => self.direct.push(value),
            Rival::Nginx => self.nginx.push(value),
            Rival::Ctx => self.ctx.push(value),
        }
    }
}

/// As many rounds as requested, but no new one once the time is up; at least three.
struct Pace {
    rounds: usize,
    until: Instant,
}

impl Pace {
    fn new(rounds: usize, time: Duration) -> Self {
        Self { rounds, until: Instant::now() + time }
    }

    fn rounds(self) -> impl Iterator<Item = usize> {
        (0..self.rounds).take_while(move |&round| round < 3 || Instant::now() < self.until)
    }
}
