//! Edited conversations side by side: eight at once against one after another, and held requests beside one that is a
//! hundred times as long.

use crate::bench::load::Connection;
use crate::bench::report::{Goal, Report, Row};
use crate::bench::script::{GIANT, SIZES, Script};
use crate::bench::stage::{Daemon, Stage};
use crate::bench::{Plan, stats};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

const CONVERSATIONS: usize = 8;
/// Requests of a conversation in each of the two parts.
const REQUESTS: usize = 12;
/// Two processors are shared with the load and the upstream, so nothing is gained; but nothing may be lost.
const AT_ONCE: Goal = Goal::AtMost(1.2);
/// Milliseconds that another conversation may cost.
const BESIDE: Goal = Goal::AtMost(20.0);

pub fn run(stage: &Stage, plan: &Plan, report: &mut Report) -> io::Result<()> {
    let home = stage.home("parallel")?;
    let daemon = stage.daemon(&home)?;
    let base = Script::near(SIZES[1], 1700, 2 + 2 * REQUESTS);
    let mut edited = Vec::new();
    for number in 0..CONVERSATIONS {
        edited.push(Edited::begin(stage, &home, &daemon, base.variant(number))?);
    }
    let began = Instant::now();
    let mut alone = Vec::new();
    for conversation in &mut edited {
        alone.extend(conversation.send(2..2 + REQUESTS)?);
    }
    let in_turn = began.elapsed();
    daemon.settle()?;
    let began = Instant::now();
    std::thread::scope(|scope| {
        let send = |conversation: &mut Edited| conversation.send(2 + REQUESTS..2 + 2 * REQUESTS).map(drop);
        let running: Vec<_> = edited.iter_mut().map(|conversation| scope.spawn(move || send(conversation))).collect();
        running.into_iter().try_for_each(|one| one.join().map_err(|_| io::Error::other("a client panicked"))?)
    })?;
    let ratio = began.elapsed().as_secs_f64() / in_turn.as_secs_f64();
    let what = format!("{CONVERSATIONS} edited conversations of {}, at once / in turn", SIZES[1].name);
    report.add(Row::alone("parallel", what, "×", ratio, AT_ONCE));

    daemon.settle()?;
    let usual = stats::millis(stats::percentile(&mut alone, 0.5));
    let giants = if plan.quick { 1 } else { 3 };
    let giant = Script::near(GIANT, 1800, 1);
    let mut slowest = Vec::new();
    for number in 0..giants {
        slowest.push(stats::millis(beside(&daemon, &giant.variant(number), &mut edited)?) - usual);
        daemon.settle()?;
    }
    let what = format!("a held request of {} beside {}, slowest, added", SIZES[1].name, GIANT.name);
    report.add(Row::alone("parallel", what, "ms", stats::median(&slowest), BESIDE));
    daemon.stop()
}

/// The slowest request of the edited conversations while a giant is sent and read.
fn beside(daemon: &Daemon, giant: &Script, edited: &mut [Edited]) -> io::Result<Duration> {
    const LONG: Duration = Duration::from_secs(2);
    let mut connection = Connection::open(daemon.address)?;
    std::thread::scope(|scope| {
        let sending = scope.spawn(move || connection.exchange(giant, 0));
        let (began, mut slowest) = (Instant::now(), Duration::ZERO);
        // The giant is read after it has passed.
        while !sending.is_finished() || began.elapsed() < LONG {
            for conversation in edited.iter_mut() {
                let last = 1 + 2 * REQUESTS;
                let took = conversation.send(last..last + 1)?;
                slowest = took.into_iter().fold(slowest, Duration::max);
            }
        }
        sending.join().map_err(|_| io::Error::other("the giant's client panicked"))??;
        Ok(slowest)
    })
}

/// A conversation with an edit, so that its requests are held.
struct Edited {
    script: Script,
    connection: Connection,
}

impl Edited {
    fn begin(stage: &Stage, home: &Path, daemon: &Daemon, script: Script) -> io::Result<Edited> {
        let mut connection = Connection::open(daemon.address)?;
        connection.exchange(&script, 0)?;
        daemon.settle()?;
        let deleted = stage.ctx(home).args(["delete", "t1/2", "--json"]).output()?;
        if !deleted.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&deleted.stderr).into_owned()));
        }
        connection.exchange(&script, 1)?;
        Ok(Edited { script, connection })
    }

    fn send(&mut self, requests: std::ops::Range<usize>) -> io::Result<Vec<Duration>> {
        requests.map(|number| self.connection.exchange(&self.script, number)).collect()
    }
}
