//! The daemon alone: its start, its idle usage, and its response times for commands.

use crate::bench::load::Connection;
use crate::bench::report::{Goal, Report, Row};
use crate::bench::script::{SIZES, Script};
use crate::bench::stage::Stage;
use crate::bench::{Plan, process, stats};
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

const STARTS: usize = 10;
const START: Goal = Goal::AtMost(100.0);
const IDLE: Goal = Goal::AtMost(30.0);
const TURNS: usize = 1000;
const LISTS: usize = 20;
const LIST: Goal = Goal::AtMost(30.0);

pub fn run(stage: &Stage, _plan: &Plan, report: &mut Report) -> io::Result<()> {
    let mut fresh = Vec::new();
    for number in 0..STARTS {
        let daemon = stage.daemon(&stage.home(&format!("start-{number}"))?)?;
        fresh.push(stats::millis(daemon.started_in));
        daemon.stop()?;
    }
    report.add(Row::alone("start", "in a new home".into(), "ms", stats::median(&fresh), START));

    let home = stage.home("daemon")?;
    let daemon = stage.daemon(&home)?;
    thread::sleep(Duration::from_millis(500));
    report.add(Row::alone("memory", "idle after the start".into(), "MB", megabytes(daemon.id())?, IDLE));
    let first = Script::near(SIZES[0], 500, 1);
    Connection::open(daemon.address)?.exchange(&first, 0)?;
    daemon.settle()?;
    report.add(Row::alone("memory", "idle after one request".into(), "MB", megabytes(daemon.id())?, IDLE));

    let long = Script::turns(501, TURNS, 600);
    let mut connection = Connection::open(daemon.address)?;
    for number in 0..long.len() {
        connection.exchange(&long, number)?;
    }
    daemon.settle()?;
    let name = format!("with a conversation of {TURNS} turns");
    report.add(Row::alone("memory", name, "MB", megabytes(daemon.id())?, Goal::None));
    for arguments in [["list"].as_slice(), &["list", "--json"], &["list", "--steps"]] {
        let mut times = Vec::new();
        let mut lines = 0;
        for _ in 0..LISTS {
            let (taken, output) = time(stage, &home, &daemon.address.to_string(), arguments)?;
            times.push(stats::millis(taken));
            lines = output.matches(&format!("t{TURNS}")).count();
        }
        if lines == 0 {
            return Err(io::Error::other(format!("`ctx {}` does not show turn {TURNS}", arguments.join(" "))));
        }
        let name = format!("`ctx {}`, {TURNS} turns", arguments.join(" "));
        report.add(Row::alone("answer", name, "ms", stats::median(&times), LIST));
    }
    daemon.stop()?;

    let mut known = Vec::new();
    for _ in 0..STARTS {
        let daemon = stage.daemon(&home)?;
        known.push(stats::millis(daemon.started_in));
        daemon.stop()?;
    }
    report.add(Row::alone("start", format!("with {TURNS} turns in the store"), "ms", stats::median(&known), START));
    Ok(())
}

fn megabytes(process: u32) -> io::Result<f64> {
    Ok(process::resident(process)? as f64 / 1e6)
}

/// Runs a command to its end.
fn time(stage: &Stage, home: &Path, listen: &str, arguments: &[&str]) -> io::Result<(Duration, String)> {
    let mut command = stage.ctx(home);
    command.args(arguments).env("CTX_LISTEN", listen).stdin(Stdio::null());
    let began = Instant::now();
    let output = command.output()?;
    let taken = began.elapsed();
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(io::Error::other(format!("`ctx {}` failed: {words}", arguments.join(" "))));
    }
    Ok((taken, String::from_utf8_lossy(&output.stdout).into_owned()))
}
