//! The bench: `ctx` beside nginx before the same upstream, under the same load, in alternating
//! rounds. `cargo xtask bench` builds what it needs and starts it; `docs/bench.md` tells what the
//! numbers mean.
//!
//! [`script`] makes the load, [`load`] sends it, [`sink`] answers it, [`stage`] starts those who are
//! measured, and each of [`series`] measures one thing. Every loop is bounded in count and in time.

mod load;
mod process;
mod report;
mod script;
mod series;
pub mod sink;
mod stage;
mod stats;

use report::{Report, Rounds};
use stage::{Daemon, Stage};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What to measure, and with which programs.
#[derive(Debug, Clone)]
pub struct Plan {
    pub ctx: PathBuf,
    pub nginx: PathBuf,
    /// Fewer rounds: two minutes instead of eight.
    pub quick: bool,
    /// Only the series of this name.
    pub only: Option<String>,
    /// Where to write the result as JSON.
    pub json: Option<PathBuf>,
}

type Series = fn(&Stage, &Plan, &mut Report) -> io::Result<()>;

const SERIES: [(&str, Series); 9] = [
    ("latency", series::latency::run),
    ("throughput", series::throughput::run),
    ("editing", series::editing::run),
    ("parallel", series::parallel::run),
    ("beside", series::beside::run),
    ("scale", series::scale::run),
    ("streaming", series::streaming::run),
    ("daemon", series::daemon::run),
    ("growth", series::growth::run),
];

/// The names that [`Plan::only`] may hold.
pub fn names() -> impl Iterator<Item = &'static str> {
    SERIES.iter().map(|(name, _)| *name)
}

/// Measures, prints, and tells how many goals were missed.
pub fn run(plan: &Plan) -> io::Result<usize> {
    let stage = Stage::set(&plan.ctx, &plan.nginx)?;
    let mut report = Report::new(plan.quick);
    for (name, measure) in SERIES {
        if plan.only.as_deref().is_none_or(|only| only == name) {
            measure(&stage, plan, &mut report).map_err(|error| io::Error::other(format!("{name}: {error}")))?;
        }
    }
    println!("\n{}", report.table());
    if let Some(file) = &plan.json {
        std::fs::write(file, format!("{:#}\n", report.json()))?;
    }
    Ok(report.missed())
}

/// The three that a series compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rival {
    Direct,
    Nginx,
    Ctx,
}

impl Rival {
    /// The order of a round: forth in one, back in the next, so that none always comes first.
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

/// As many rounds as wanted, but no new one once the time is up; three in any case.
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
