//! Slow streams: the delay of events, and the memory of a thousand streams.

use crate::bench::format::Format;
use crate::bench::load::Connection;
use crate::bench::report::{Goal, Report, Rounds, Row};
use crate::bench::script::{SIZES, Script};
use crate::bench::stage::{Daemon, Stage};
use crate::bench::{Pace, Plan, Rival, process, stats};
use std::io;
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const ADDED: Goal = Goal::AtMost(100.0);
const MANY_WORST: Goal = Goal::AtMost(1.5);
/// Simultaneous streams, events per stream, and microseconds between two of them.
const CASES: [(usize, usize, u64); 2] = [(1, 400, 1000), (50, 60, 20_000)];

const MANY: usize = 1000;
const MANY_MEMORY: Goal = Goal::AtMost(150.0);
/// Reading threads of the load.
const STACK: usize = 128 * 1024;

pub fn run(stage: &Stage, plan: &Plan, report: &mut Report) -> io::Result<()> {
    let daemon = stage.daemon(&stage.home("streaming")?)?;
    let (rounds, time) = if plan.quick { (5, 8) } else { (31, 45) };
    for (streams, events, gap) in CASES {
        let base = Script::near(SIZES[0], 300, 1).slow(events, gap);
        let (mut typical, mut worst) = (Rounds::default(), Rounds::default());
        for round in Pace::new(rounds, Duration::from_secs(time)).rounds() {
            let scripts: Vec<Script> = (0..streams).map(|number| base.variant(round * streams + number)).collect();
            for rival in Rival::in_round(round) {
                let mut travelled = follow(rival.address(stage, &daemon), &scripts, events)?;
                typical.push(rival, stats::micros(stats::percentile(&mut travelled, 0.5)));
                worst.push(rival, stats::micros(stats::percentile(&mut travelled, 0.99)));
                if rival == Rival::Ctx {
                    daemon.settle()?;
                }
            }
        }
        let name = if streams == 1 { "one stream".to_owned() } else { format!("{streams} streams") };
        report.add(typical.added("event", format!("{name} p50"), "µs", ADDED));
        // Fifty simultaneous events delay each other in any proxy; nginx shows by how much.
        report.add(match streams {
            1 => worst.added("event", format!("{name} p99"), "µs", ADDED),
            _ => worst.ratio("event", format!("{name} p99"), "µs", MANY_WORST),
        });
    }
    daemon.stop()?;
    many(stage, plan, report)
}

/// A new daemon, so that its memory is that of the streams.
fn many(stage: &Stage, plan: &Plan, report: &mut Report) -> io::Result<()> {
    let daemon = stage.daemon(&stage.home("many")?)?;
    let (events, gap) = if plan.quick { (10, 200_000) } else { (30, 200_000) };
    let base = Script::near(SIZES[0], 400, 1).slow(events, gap);
    let scripts: Vec<Script> = (0..MANY).map(|number| base.variant(number)).collect();
    let (complete, most, broken) = watched(&daemon, &scripts, events)?;
    let name = format!("{MANY} streams at once");
    if let Some(error) = broken {
        report.note(format!("{name}: one that was not complete: {error}"));
    }
    report.add(Row::alone("memory", name.clone(), "MB", most as f64 / 1e6, MANY_MEMORY));
    report.add(Row::alone("complete", name, "", complete as f64, Goal::AtLeast(MANY as f64)));
    daemon.stop()
}

/// The number of complete streams, the peak memory, and the first missing event.
fn watched(daemon: &Daemon, scripts: &[Script], events: usize) -> io::Result<(usize, u64, Option<io::Error>)> {
    let complete = AtomicUsize::new(0);
    let ended = AtomicUsize::new(0);
    let broken = OnceLock::new();
    let (complete_ref, ended_ref, broken_ref, address) = (&complete, &ended, &broken, daemon.address);
    let most = thread::scope(|scope| {
        for script in scripts {
            let followed = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || {
                let travelled =
                    Connection::open(address).and_then(|mut connection| connection.follow(script, 0, events));
                match travelled {
                    Ok(travelled) if travelled.len() == events => drop(complete_ref.fetch_add(1, Ordering::Relaxed)),
                    Ok(travelled) => drop(broken_ref.set(io::Error::other(format!("{} events", travelled.len())))),
                    Err(error) => drop(broken_ref.set(error)),
                }
                ended_ref.fetch_add(1, Ordering::Relaxed);
            });
            if let Err(error) = followed {
                drop(broken.set(error));
                ended.fetch_add(1, Ordering::Relaxed);
            }
        }
        let mut most = 0;
        while ended.load(Ordering::Relaxed) < scripts.len() {
            most = most.max(process::resident(daemon.id()).unwrap_or(0));
            thread::sleep(Duration::from_millis(20));
        }
        most
    });
    Ok((complete.load(Ordering::Relaxed), most, broken.into_inner()))
}

/// The time that `ctx` adds to the events of one stream in each format.
pub fn formats(stage: &Stage, plan: &Plan, report: &mut Report) -> io::Result<()> {
    let (_, events, gap) = CASES[0];
    let (rounds, time) = if plan.quick { (3, 6) } else { (21, 20) };
    for format in Format::ALL {
        let daemon = stage.daemon(&stage.home(&format!("streams-{}", format.name()))?)?;
        let base = Script::of(format, SIZES[0], 500, 1).slow(events, gap);
        let mut worst = Rounds::default();
        for round in Pace::new(rounds, Duration::from_secs(time)).rounds() {
            for rival in Rival::in_round(round) {
                let script = [base.variant(round)];
                let mut travelled = follow(rival.address(stage, &daemon), &script, events)?;
                worst.push(rival, stats::micros(stats::percentile(&mut travelled, 0.99)));
                if rival == Rival::Ctx {
                    daemon.settle()?;
                }
            }
        }
        report.add(worst.added("formats", format!("{}, added to an event, p99", format.name()), "µs", ADDED));
        daemon.stop()?;
    }
    Ok(())
}

/// The travel time of each event of all streams.
fn follow(address: SocketAddr, scripts: &[Script], events: usize) -> io::Result<Vec<Duration>> {
    thread::scope(|scope| {
        let threads: Vec<_> = scripts
            .iter()
            .map(|script| scope.spawn(move || Connection::open(address)?.follow(script, 0, events)))
            .collect();
        let mut travelled = Vec::with_capacity(scripts.len() * events);
        for thread in threads {
            travelled.extend(thread.join().map_err(|_| io::Error::other("a stream's thread ended badly"))??);
        }
        Ok(travelled)
    })
}
