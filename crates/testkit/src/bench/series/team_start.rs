//! The start of a daemon on a database with many conversations, until its first request is answered: those of one person,
//! and those of a team.

use super::editing::finish;
use crate::bench::load::Connection;
use crate::bench::report::{Goal, Report, Row};
use crate::bench::script::Script;
use crate::bench::stage::Stage;
use crate::bench::{Plan, stats};
use crate::postgres::PostgresServer;
use std::io;
use std::path::Path;
use std::time::Instant;

const PEOPLE: usize = 100;
const GOAL: Goal = Goal::AtMost(1000.0);
/// The daemon is given time to record after so many requests.
const BREATH: usize = 500;

pub fn run(stage: &Stage, plan: &Plan, report: &mut Report) -> io::Result<()> {
    let Some(server) = PostgresServer::shared() else {
        report.note("team-start: left out, because PostgreSQL is not installed".into());
        return Ok(());
    };
    let conversations = if plan.quick { 5_000 } else { 100_000 };
    let url = || server.url(&server.new_database());
    let what = format!("start with {conversations} conversations of one person, first request answered");
    report.add(Row::alone("team-start", what, "ms", start(stage, "alone", &url(), 0, conversations)?, GOAL));
    let what = format!("start with {conversations} conversations of {PEOPLE} people, first request answered");
    report.add(Row::alone("team-start", what, "ms", start(stage, "people", &url(), PEOPLE, conversations)?, GOAL));
    Ok(())
}

/// The milliseconds that it takes. Without `people` there is one person, who needs no key.
fn start(stage: &Stage, name: &str, url: &str, people: usize, conversations: usize) -> io::Result<f64> {
    let home = stage.home(&format!("team-start-{name}"))?;
    finish(stage.ctx(&home).args(["store", "migrate", url]).output()?)?;
    let mut arguments = vec!["--store", url];
    if people > 0 {
        arguments.push("--team");
    }
    let filling = stage.daemon_with(&home, &arguments)?;
    let keys = (0..people).map(|person| key(stage, &home, person)).collect::<io::Result<Vec<_>>>()?;
    let base = Script::turns(3600, 1, 40);
    let script = |number: usize| {
        let script = base.variant(number);
        match keys.get(number % people.max(1)) {
            Some(key) => script.with_header("x-ctx-key", key),
            None => script,
        }
    };
    let mut connection = Connection::open(filling.address)?;
    for number in 0..conversations {
        connection.exchange(&script(number), 0)?;
        if number % BREATH == 0 {
            filling.settle()?;
        }
    }
    filling.settle()?;
    let home = stage.home(&format!("team-start-{name}-new"))?;
    let began = Instant::now();
    let daemon = stage.daemon_with(&home, &arguments)?;
    Connection::open(daemon.address)?.exchange(&script(conversations), 0)?;
    let took = stats::millis(began.elapsed());
    daemon.stop()?;
    filling.stop()?;
    Ok(took)
}

/// The key of a new person.
fn key(stage: &Stage, home: &Path, person: usize) -> io::Result<String> {
    let name = format!("person{person}");
    finish(stage.ctx(home).args(["people", "add", &name]).output()?)?;
    let made = stage.ctx(home).args(["keys", "new", &name]).output()?;
    let key = String::from_utf8_lossy(&made.stdout).trim().to_owned();
    finish(made)?;
    Ok(key)
}
