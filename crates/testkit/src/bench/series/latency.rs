//! One connection, one request after the other: from the first byte sent to the last byte received.

use crate::bench::load::Connection;
use crate::bench::report::{Goal, Report, Rounds};
use crate::bench::script::{SIZES, Script};
use crate::bench::stage::{Daemon, Stage};
use crate::bench::{Pace, Plan, Rival, stats};
use std::io;
use std::time::{Duration, Instant};

/// Measured requests per size and round: enough to tell the 99th percentile from the slowest.
const REQUESTS: [usize; 4] = [1000, 600, 400, 200];
const GOAL: Goal = Goal::AtMost(2.0);
/// Without a pause, while the recorder works.
const SUSTAINED: (Goal, Goal) = (Goal::AtMost(1.8), Goal::AtMost(3.0));

pub fn run(stage: &Stage, plan: &Plan, report: &mut Report) -> io::Result<()> {
    let daemon = stage.daemon(&stage.home("latency")?)?;
    let (rounds, time) = if plan.quick { (3, 6) } else { (11, 22) };
    for (index, (size, count)) in SIZES.into_iter().zip(REQUESTS).enumerate() {
        let base = Script::near(size, 100 + index as u64, count);
        let (typical, worst) = in_turn(stage, &daemon, (&base, count), (rounds, Duration::from_secs(time)))?;
        report.add(typical.ratio("latency", format!("{} p50", size.name), "µs", GOAL));
        report.add(worst.ratio("latency", format!("{} p99", size.name), "µs", GOAL));
    }
    sustained(stage, &daemon, plan, report)?;
    daemon.stop()
}

/// Typical and worst latencies of `count` requests in each round, in sessions like `base`.
pub fn in_turn(
    stage: &Stage,
    daemon: &Daemon,
    (base, count): (&Script, usize),
    (rounds, time): (usize, Duration),
) -> io::Result<(Rounds, Rounds)> {
    let mut connections = Vec::new();
    for rival in Rival::in_round(0) {
        connections.push((rival, Connection::open(rival.address(stage, daemon))?));
    }
    let (mut typical, mut worst) = (Rounds::default(), Rounds::default());
    let needed = count.div_ceil(base.len().saturating_sub(1).max(1));
    for round in Pace::new(rounds, time).rounds() {
        let scripts: Vec<Script> = (round * needed..(round + 1) * needed).map(|number| base.variant(number)).collect();
        for rival in Rival::in_round(round) {
            let Some((_, connection)) = connections.iter_mut().find(|(whose, _)| *whose == rival) else { continue };
            let mut samples = measure(connection, &scripts)?;
            typical.push(rival, stats::micros(stats::percentile(&mut samples, 0.5)));
            worst.push(rival, stats::micros(stats::percentile(&mut samples, 0.99)));
            if rival == Rival::Ctx {
                daemon.settle()?;
            }
        }
    }
    Ok((typical, worst))
}

fn sustained(stage: &Stage, daemon: &Daemon, plan: &Plan, report: &mut Report) -> io::Result<()> {
    let (rounds, time) = if plan.quick { (1, 3) } else { (3, 6) };
    let base = Script::near(SIZES[0], 200, REQUESTS[0]);
    let (typical, worst) = without_a_pause(stage, daemon, &base, (rounds, Duration::from_secs(time)))?;
    let name = format!("{}, {time} s without a pause", SIZES[0].name);
    report.add(typical.ratio("latency", format!("{name}, p50"), "µs", SUSTAINED.0));
    report.add(worst.ratio("latency", format!("{name}, p99"), "µs", SUSTAINED.1));
    Ok(())
}

/// Typical and worst latencies under a load without a pause, so that no work can be postponed: session after session,
/// for this long in each round.
pub fn without_a_pause(
    stage: &Stage,
    daemon: &Daemon,
    base: &Script,
    (rounds, time): (usize, Duration),
) -> io::Result<(Rounds, Rounds)> {
    /// More sessions than a round can have.
    const SESSIONS: usize = 1_000_000;
    let (mut typical, mut worst) = (Rounds::default(), Rounds::default());
    for round in 0..rounds {
        for rival in Rival::in_round(round) {
            let mut connection = Connection::open(rival.address(stage, daemon))?;
            let (until, mut samples) = (Instant::now() + time, Vec::new());
            for session in 0.. {
                let script = base.variant(SESSIONS * (round + 1) + session);
                samples.extend(measure(&mut connection, &[script])?);
                if Instant::now() > until {
                    break;
                }
            }
            typical.push(rival, stats::micros(stats::percentile(&mut samples, 0.5)));
            worst.push(rival, stats::micros(stats::percentile(&mut samples, 0.99)));
            daemon.settle()?;
        }
    }
    Ok((typical, worst))
}

/// The first request of a session is sent but not measured: a real conversation reaches these sizes turn by turn.
fn measure(connection: &mut Connection, scripts: &[Script]) -> io::Result<Vec<Duration>> {
    let mut samples = Vec::new();
    for script in scripts {
        for number in 0..script.len() {
            let taken = connection.exchange(script, number)?;
            if number > 0 {
                samples.push(taken);
            }
        }
    }
    Ok(samples)
}
