//! Edited conversations in parallel: eight at once compared with one after another.

use super::editing::finish;
use crate::bench::Plan;
use crate::bench::load::Connection;
use crate::bench::report::{Goal, Report, Row};
use crate::bench::script::{SIZES, Script};
use crate::bench::stage::{Daemon, Stage};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

const CONVERSATIONS: usize = 8;
/// Requests per conversation in each of the two parts.
const REQUESTS: usize = 12;
/// Load and upstream share the two processors, so no gain is expected, but no loss either.
const AT_ONCE: Goal = Goal::AtMost(1.2);

pub fn run(stage: &Stage, _: &Plan, report: &mut Report) -> io::Result<()> {
    let home = stage.home("parallel")?;
    let daemon = stage.daemon(&home)?;
    let base = Script::near(SIZES[1], 1700, 2 + 2 * REQUESTS);
    let mut edited = Vec::new();
    for number in 0..CONVERSATIONS {
        edited.push(EditedConversation::begin(stage, &home, &daemon, base.variant(number))?);
    }
    let began = Instant::now();
    for conversation in &mut edited {
        conversation.send(2..2 + REQUESTS)?;
    }
    let in_turn = began.elapsed();
    daemon.settle()?;
    let began = Instant::now();
    std::thread::scope(|scope| {
        let send = |conversation: &mut EditedConversation| conversation.send(2 + REQUESTS..2 + 2 * REQUESTS).map(drop);
        let running: Vec<_> = edited.iter_mut().map(|conversation| scope.spawn(move || send(conversation))).collect();
        running.into_iter().try_for_each(|one| one.join().map_err(|_| io::Error::other("a client panicked"))?)
    })?;
    let ratio = began.elapsed().as_secs_f64() / in_turn.as_secs_f64();
    let what = format!("{CONVERSATIONS} edited conversations of {}, at once / in turn", SIZES[1].name);
    report.add(Row::alone("parallel", what, "×", ratio, AT_ONCE));

    daemon.stop()
}

/// A conversation with an edit, so that its requests are held.
pub struct EditedConversation {
    script: Script,
    connection: Connection,
}

impl EditedConversation {
    pub fn begin(stage: &Stage, home: &Path, daemon: &Daemon, script: Script) -> io::Result<EditedConversation> {
        EditedConversation::begin_at(stage, home, daemon, script, 0)
    }

    /// This is the first request of the script that is sent; the next one leaves edited.
    pub fn begin_at(
        stage: &Stage,
        home: &Path,
        daemon: &Daemon,
        script: Script,
        first: usize,
    ) -> io::Result<EditedConversation> {
        let mut connection = Connection::open(daemon.address)?;
        connection.exchange(&script, first)?;
        daemon.settle()?;
        let edit = ["edit", "t1#0", "--text", "Begin here.", "--conv", script.session()];
        finish(stage.ctx(home).args(edit).output()?)?;
        connection.exchange(&script, first + 1)?;
        Ok(EditedConversation { script, connection })
    }

    pub fn connect(&mut self, daemon: &Daemon) -> io::Result<()> {
        self.connection = Connection::open(daemon.address)?;
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.script.len()
    }

    pub fn send(&mut self, requests: std::ops::Range<usize>) -> io::Result<Vec<Duration>> {
        requests.map(|number| self.connection.exchange(&self.script, number)).collect()
    }
}
