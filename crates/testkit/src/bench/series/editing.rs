//! A long conversation with many operations: the delay of its requests compared with nginx, and the time until an
//! operation is acknowledged.

use crate::bench::load::Connection;
use crate::bench::report::{Goal, Report, Rounds, Row};
use crate::bench::script::{SIZES, Script, Size};
use crate::bench::stage::{Daemon, Stage};
use crate::bench::{Pace, Plan, Rival, stats};
use serde_json::json;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

const OPERATIONS: usize = 500;
const REQUESTS: usize = 100;
const LATENCY: Goal = Goal::AtMost(2.2);
/// With automatic editing, compared with nginx, and added to a request of 300 KB.
const AUTOMATIC: Goal = Goal::AtMost(4.0);
const AUTOMATIC_WORST: Goal = Goal::AtMost(8.0);
const AUTOMATIC_ADDED: Goal = Goal::AtMost(2000.0);
const SINGLE: usize = 15;
const ACKNOWLEDGED: Goal = Goal::AtMost(20.0);

pub fn run(stage: &Stage, plan: &Plan, report: &mut Report) -> io::Result<()> {
    let size = SIZES[SIZES.len() - 1];
    let home = stage.home("editing")?;
    let daemon = stage.daemon(&home)?;
    let (typical, worst) =
        compare(stage, plan, (&daemon, &Script::near(size, 900, REQUESTS)), |sent| edit(stage, &home, &daemon, sent))?;
    let what = format!("{}, {OPERATIONS} operations", size.name);
    report.add(typical.ratio("latency", format!("{what}, p50"), "µs", LATENCY));
    report.add(worst.ratio("latency", format!("{what}, p99"), "µs", Goal::None));

    let mut times = Vec::new();
    for number in 0..SINGLE {
        let began = Instant::now();
        finish(stage.ctx(&home).args(["delete", &format!("t1/{}", OPERATIONS + 1 + number), "--json"]).output()?)?;
        times.push(stats::millis(began.elapsed()));
    }
    let name = format!("a commit, {}, the command's start included", size.name);
    report.add(Row::alone("answer", name, "ms", stats::median(&times), ACKNOWLEDGED));
    daemon.stop()?;
    let (typical, worst) = automatic(stage, plan, size, |sent, composed| composed < sent / 2)?;
    report.add(typical.ratio("latency", format!("{}, automatic editing on, p50", size.name), "µs", AUTOMATIC));
    report.add(worst.ratio("latency", format!("{}, automatic editing on, p99", size.name), "µs", AUTOMATIC_WORST));
    let size = SIZES[1];
    let (typical, _) = automatic(stage, plan, size, |_, _| true)?;
    report.add(typical.added("latency", format!("{}, automatic editing on, p50", size.name), "µs", AUTOMATIC_ADDED));
    Ok(())
}

/// The same with automatic editing. The longest conversation is larger than any window, so most of it is cleared, and
/// each later request is examined again.
fn automatic(
    stage: &Stage,
    plan: &Plan,
    size: Size,
    is_edited: impl Fn(usize, usize) -> bool,
) -> io::Result<(Rounds, Rounds)> {
    let home = stage.home(&format!("automatic-{}", size.bytes))?;
    // A daemon makes its home private first.
    stage.daemon(&home)?.stop()?;
    fs::write(home.join("ctx.toml"), "[context_editing]\nmode = \"on\"\n")?;
    let daemon = stage.daemon(&home)?;
    let measured = compare(stage, plan, (&daemon, &Script::near(size, 900, REQUESTS)), |sent| {
        let composed = finish(stage.ctx(&home).args(["compose", "--dump"]).output()?)?.len();
        match is_edited(sent, composed) {
            true => Ok(()),
            false => Err(io::Error::other(format!("of {sent} bytes the editor left {composed}"))),
        }
    })?;
    daemon.stop()?;
    Ok(measured)
}

/// Typical and worst latencies of the requests after `prepare`, which gets the length of the first one.
pub fn compare(
    stage: &Stage,
    plan: &Plan,
    (daemon, base): (&Daemon, &Script),
    prepare: impl Fn(usize) -> io::Result<()>,
) -> io::Result<(Rounds, Rounds)> {
    let (rounds, time) = if plan.quick { (3, 8) } else { (7, 30) };
    let (mut typical, mut worst) = (Rounds::default(), Rounds::default());
    let mut connections = Vec::new();
    for rival in Rival::in_round(0) {
        connections.push((rival, Connection::open(rival.address(stage, daemon))?));
    }
    for round in Pace::new(rounds, Duration::from_secs(time)).rounds() {
        let script = base.variant(round);
        for rival in Rival::in_round(round) {
            let Some((_, connection)) = connections.iter_mut().find(|(whose, _)| *whose == rival) else { continue };
            let mut samples = match rival {
                Rival::Ctx => samples(connection, (daemon, &script), &prepare)?,
                Rival::Direct | Rival::Nginx => {
                    connection.exchange(&script, 0)?;
                    (2..script.len()).map(|number| connection.exchange(&script, number)).collect::<io::Result<_>>()?
                }
            };
            typical.push(rival, stats::micros(stats::percentile(&mut samples, 0.5)));
            worst.push(rival, stats::micros(stats::percentile(&mut samples, 0.99)));
            daemon.settle()?;
        }
    }
    Ok((typical, worst))
}

/// The times of the requests after `prepare`. The first one after an edit does not count.
pub fn samples(
    connection: &mut Connection,
    (daemon, script): (&Daemon, &Script),
    prepare: &dyn Fn(usize) -> io::Result<()>,
) -> io::Result<Vec<Duration>> {
    connection.exchange(script, 0)?;
    daemon.settle()?;
    prepare(script.length(0))?;
    connection.exchange(script, 1)?;
    (2..script.len()).map(|number| connection.exchange(script, number)).collect()
}

/// Applies the operations as one commit, and verifies their effect.
pub fn edit(stage: &Stage, home: &Path, daemon: &Daemon, sent: usize) -> io::Result<()> {
    let operation = |step: usize| match step % 3 {
        0 => json!({"op": "delete", "ids": [format!("t1/{step}")]}),
        1 => json!({"op": "drop-results", "ids": [format!("t1/{step}")]}),
        _ => json!({"op": "edit", "id": format!("t1/{step}"), "text": "This step was of no use."}),
    };
    let lines: Vec<String> = (1..=OPERATIONS).map(|step| operation(step).to_string()).collect();
    let mut command = stage.ctx(home);
    command.args(["batch", "-", "--json"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn()?;
    if let Some(mut input) = running.stdin.take() {
        input.write_all(lines.join("\n").as_bytes())?;
    }
    finish(running.wait_with_output()?)?;
    daemon.settle()?;
    let composed = finish(stage.ctx(home).args(["compose", "--dump"]).output()?)?.len();
    if composed + 500 * OPERATIONS > sent {
        return Err(io::Error::other(format!("{OPERATIONS} operations made {sent} bytes only {composed}")));
    }
    Ok(())
}

pub fn finish(output: Output) -> io::Result<Vec<u8>> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()))
}
