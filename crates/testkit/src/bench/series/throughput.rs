//! Thirty-two connections, each with its own conversations, at full speed.

use crate::bench::load::Connection;
use crate::bench::report::{Goal, Report, Rounds};
use crate::bench::script::{SIZES, Script};
use crate::bench::stage::Stage;
use crate::bench::{Pace, Plan, Rival, stats};
use std::io;
use std::net::SocketAddr;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

const CONNECTIONS: usize = 32;
/// Requests of each connection in a round.
const REQUESTS: [usize; 4] = [180, 80, 30, 10];
const GOAL: Goal = Goal::AtLeast(0.5);

pub fn run(stage: &Stage, plan: &Plan, report: &mut Report) -> io::Result<()> {
    let home = stage.home("throughput")?;
    let daemon = stage.daemon(&home)?;
    let (rounds, time) = if plan.quick { (3, 6) } else { (9, 22) };
    for (index, (size, count)) in SIZES.into_iter().zip(REQUESTS).enumerate() {
        let base = Script::near(size, 200 + index as u64, count);
        let sessions = count.div_ceil(base.len());
        let mut speed = Rounds::default();
        let mut behind = Vec::new();
        for round in Pace::new(rounds, Duration::from_secs(time)).rounds() {
            // Conversations of this round only.
            let first = round * CONNECTIONS * sessions;
            let scripts: Vec<Vec<Script>> = (0..CONNECTIONS)
                .map(|connection| {
                    (0..sessions).map(|session| base.variant(first + connection * sessions + session)).collect()
                })
                .collect();
            for rival in Rival::in_round(round) {
                speed.push(rival, measure(rival.address(stage, &daemon), &scripts)?);
                if rival == Rival::Ctx {
                    behind.push(stats::millis(daemon.settle()?));
                }
            }
        }
        report.add(speed.ratio("throughput", size.name.to_owned(), "/s", GOAL));
        let behind = stats::median(&behind);
        report.note(format!("throughput, {}: the recorder was done {behind:.0} ms after the last answer", size.name));
    }
    daemon.stop()
}

/// Responses per second.
fn measure(address: SocketAddr, scripts: &[Vec<Script>]) -> io::Result<f64> {
    let mut connections = Vec::with_capacity(scripts.len());
    for _ in scripts {
        connections.push(Connection::open(address)?);
    }
    let ready = Barrier::new(scripts.len() + 1);
    let ready = &ready;
    thread::scope(|scope| {
        let threads: Vec<_> = connections
            .into_iter()
            .zip(scripts)
            .map(|(mut connection, scripts)| {
                scope.spawn(move || -> io::Result<usize> {
                    ready.wait();
                    let mut answered = 0;
                    for script in scripts {
                        for number in 0..script.len() {
                            connection.exchange(script, number)?;
                            answered += 1;
                        }
                    }
                    Ok(answered)
                })
            })
            .collect();
        ready.wait();
        let started = Instant::now();
        let mut answered = 0;
        for thread in threads {
            answered += thread.join().map_err(|_| io::Error::other("a connection's thread ended badly"))??;
        }
        Ok(answered as f64 / started.elapsed().as_secs_f64())
    })
}
