//! One conversation that grows long: the size of its store and the work of the recorder, at its beginning and at its
//! end.

use crate::bench::load::Connection;
use crate::bench::report::{Goal, Report, Row};
use crate::bench::script::Script;
use crate::bench::stage::{Daemon, Stage};
use crate::bench::{Plan, process, stats};
use std::io;
use std::path::Path;
use std::time::Duration;

const STORE: Goal = Goal::AtMost(1.2);
/// The background threads.
const BEHIND: [&str; 2] = ["ctx-recorder", "ctx-writer"];
/// The requests at the end of a stretch whose work is measured.
const WINDOW: usize = 50;

pub fn run(stage: &Stage, plan: &Plan, report: &mut Report) -> io::Result<()> {
    let marks: &[usize] = if plan.quick { &[100, 500] } else { &[100, 500, 2000] };
    let turns = marks.last().copied().unwrap_or_default();
    let script = Script::turns(600, turns, 900);
    let home = stage.home("growth")?;
    // The empty store does not count as growth.
    stage.daemon(&home)?.stop()?;
    let (mut stored, mut sent, mut next) = (size_of(&home)?, 0, 0);
    for &mark in marks {
        let daemon = stage.daemon(&home)?;
        let mut connection = Connection::open(daemon.address)?;
        let end = (2 * mark).min(script.len());
        let window = end - WINDOW.min(end - next);
        send(&mut connection, &script, next..window)?;
        let work = work_of(&daemon, &mut connection, &script, window..end)?;
        // Closing moves the write-ahead log into the main file.
        daemon.stop()?;

        let (now, body) = (size_of(&home)?, script.length(end - 1));
        let grown = (now - stored) as f64 / (body - sent) as f64;
        let new = (body - sent) as f64 / (end - next) as f64;
        let name = format!("turn {mark}, of {new:.0} new bytes a request");
        report.add(Row::alone("store", name, "×", grown, STORE));
        let name = format!("turn {mark}, {:.2} MB resent", body as f64 / 1e6);
        report.add(Row::alone("work", name, "µs", stats::micros(work), Goal::None));
        (stored, sent, next) = (now, body, end);
    }
    Ok(())
}

fn send(connection: &mut Connection, script: &Script, numbers: std::ops::Range<usize>) -> io::Result<()> {
    for number in numbers {
        connection.exchange(script, number)?;
    }
    Ok(())
}

/// Background processor time per request.
fn work_of(
    daemon: &Daemon,
    connection: &mut Connection,
    script: &Script,
    numbers: std::ops::Range<usize>,
) -> io::Result<Duration> {
    daemon.settle()?;
    let before = process::thread_time(daemon.id(), &BEHIND)?;
    let count = numbers.len().max(1);
    send(connection, script, numbers)?;
    daemon.settle()?;
    Ok((process::thread_time(daemon.id(), &BEHIND)? - before) / count as u32)
}

/// All files of a home.
fn size_of(folder: &Path) -> io::Result<u64> {
    let mut total = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let facts = entry.metadata()?;
        total += if facts.is_dir() { size_of(&entry.path())? } else { facts.len() };
    }
    Ok(total)
}
