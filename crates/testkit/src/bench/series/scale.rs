//! The cost of many commits and messages: the held request, the commit and the views of a conversation with two
//! thousand commits, and of one with nineteen thousand messages.

use super::editing::finish;
use super::parallel::ScriptedConversation;
use crate::bench::report::{Goal, Report, Row};
use crate::bench::script::Script;
use crate::bench::stage::{Daemon, Stage};
use crate::bench::{Plan, stats};
use std::io;
use std::path::Path;
use std::time::Instant;

const FEW: usize = 10;
const TURNS: usize = 60;
/// The number of measured requests.
const WINDOW: usize = 20;
const COMMITS: Goal = Goal::AtMost(3.0);
/// The milliseconds of a reading command, including its start.
const SHOWN: Goal = Goal::AtMost(500.0);
const MESSAGES: usize = 19_000;
const SHOWS: [(&str, &[&str]); 4] = [
    ("show t1", &["show", "t1"]),
    ("diff source HEAD", &["diff", "source", "HEAD"]),
    ("search", &["search", "part"]),
    ("list --steps", &["list", "--steps"]),
];

pub fn run(stage: &Stage, plan: &Plan, report: &mut Report) -> io::Result<()> {
    commits(stage, if plan.quick { 500 } else { 2000 }, report)?;
    messages(stage, if plan.quick { 1 } else { 5 }, report)
}

fn commits(stage: &Stage, many: usize, report: &mut Report) -> io::Result<()> {
    let home = stage.home("commits")?;
    let daemon = stage.daemon(&home)?;
    let script = Script::turns(2100, TURNS + WINDOW, 900);
    let mut edited = ScriptedConversation::edited_at(stage, &home, &daemon, script.clone(), 2 * TURNS - 2)?;
    let window = 2 * TURNS..2 * TURNS + WINDOW;
    let mut figures = Vec::new();
    let mut made = 1;
    for count in [FEW, many] {
        let mut commits = Vec::new();
        while made < count {
            let (frame, text) = (format!("t{}#0", 2 + made % (TURNS - 4)), format!("Part {made}."));
            commits.push(timed(stage, &home, &["edit", &frame, "--text", &text, "--conv", script.session()])?);
            made += 1;
        }
        commits.drain(..commits.len().saturating_sub(WINDOW));
        daemon.settle()?;
        let mut requests = edited.send(window.clone())?;
        figures.push((stats::millis(stats::percentile(&mut requests, 0.5)), stats::median(&commits)));
    }
    daemon.stop()?;
    let cold = after_a_start(stage, &home, &mut edited, window.end)?;
    let [(few, commit_after_few), (lots, commit_after_many)] = figures[..] else { return Ok(()) };
    let mut add = |what: String, unit, figure, goal| report.add(Row::alone("scale", what, unit, figure, goal));
    add(format!("a held request with {many} commits, against {FEW}"), "×", lots / few, COMMITS);
    add(format!("a held request with {many} commits"), "ms", lots, Goal::None);
    add(format!("a commit after {FEW}, the command's start included"), "ms", commit_after_few, Goal::None);
    add(format!("a commit after {many}, the command's start included"), "ms", commit_after_many, Goal::None);
    add(format!("the first request after a start, with {many} commits"), "ms", cold, Goal::None);
    Ok(())
}

fn messages(stage: &Stage, times: usize, report: &mut Report) -> io::Result<()> {
    let home = stage.home("messages")?;
    let daemon = stage.daemon(&home)?;
    let script = Script::turns(2200, MESSAGES / 4 + WINDOW, 60);
    let first = 2 * (MESSAGES / 4);
    let mut edited = ScriptedConversation::edited_at(stage, &home, &daemon, script.clone(), first)?;
    daemon.settle()?;
    let mut add = |what: String, figure, goal| {
        report.add(Row::alone("scale", format!("{MESSAGES} messages: {what}"), "ms", figure, goal));
    };
    for (name, command) in SHOWS {
        let command = [command, &["--conv", script.session()]].concat();
        let times: io::Result<Vec<f64>> = (0..times).map(|_| timed(stage, &home, &command)).collect();
        add(format!("`ctx {name}`"), stats::median(&times?), SHOWN);
    }
    let commits = (0..times).map(|number| {
        let text = format!("Part {number}.");
        timed(stage, &home, &["edit", "t2#0", "--text", &text, "--conv", script.session()])
    });
    add(
        "a commit, the command's start included".into(),
        stats::median(&commits.collect::<io::Result<Vec<_>>>()?),
        Goal::None,
    );
    let mut requests = edited.send(first + 2..first + WINDOW)?;
    add("a held request".into(), stats::millis(stats::percentile(&mut requests, 0.5)), Goal::None);
    daemon.stop()?;
    add(
        "the first request after a start".into(),
        after_a_start(stage, &home, &mut edited, first + WINDOW)?,
        Goal::None,
    );
    Ok(())
}

fn after_a_start(stage: &Stage, home: &Path, edited: &mut ScriptedConversation, number: usize) -> io::Result<f64> {
    let daemon: Daemon = stage.daemon(home)?;
    edited.connect(&daemon)?;
    let took = edited.send(number..number + 1)?;
    daemon.stop()?;
    Ok(took.first().map_or(0.0, |took| stats::millis(*took)))
}

fn timed(stage: &Stage, home: &Path, arguments: &[&str]) -> io::Result<f64> {
    let began = Instant::now();
    finish(stage.ctx(home).args(arguments).output()?)?;
    Ok(stats::millis(began.elapsed()))
}
