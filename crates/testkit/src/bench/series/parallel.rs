//! Edited conversations in parallel: eight at once compared with one after another. What the machine can give shows in
//! the same load on nginx and on the upstream itself.

use super::editing::finish;
use crate::bench::load::Connection;
use crate::bench::report::{Goal, Report, Rounds, Row};
use crate::bench::script::{SIZES, Script};
use crate::bench::stage::{Daemon, Stage};
use crate::bench::{Plan, Rival, stats};
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

const CONVERSATIONS: usize = 8;
/// Requests per conversation in each of the two parts of a round.
const REQUESTS: usize = 12;
const ROUNDS: usize = 5;
/// On two free processors. Here, load and upstream share them.
const GAIN: Goal = Goal::AtLeast(1.7);

pub fn run(stage: &Stage, _: &Plan, report: &mut Report) -> io::Result<()> {
    let home = stage.home("parallel")?;
    let daemon = stage.daemon(&home)?;
    let base = Script::near(SIZES[1], 1700, 2 + 2 * REQUESTS * ROUNDS);
    let mut all = Vec::new();
    for rival in Rival::in_round(0) {
        let conversation = |number| match rival {
            Rival::Ctx => ScriptedConversation::edited(stage, &home, &daemon, base.variant(number)),
            _ => ScriptedConversation::untouched(rival.address(stage, &daemon), base.variant(number)),
        };
        all.push((rival, (0..CONVERSATIONS).map(conversation).collect::<io::Result<Vec<_>>>()?));
    }
    let mut gains = Rounds::default();
    for round in 0..ROUNDS {
        let first = 2 + 2 * REQUESTS * round;
        for (rival, conversations) in &mut all {
            let in_turn = in_turn(conversations, first..first + REQUESTS)?;
            daemon.settle()?;
            let at_once = at_once(conversations, first + REQUESTS..first + 2 * REQUESTS)?;
            daemon.settle()?;
            gains.push(*rival, in_turn.as_secs_f64() / at_once.as_secs_f64());
        }
    }
    let what = format!("{CONVERSATIONS} edited conversations of {}, at once / in turn", SIZES[1].name);
    let (direct, nginx, ctx) = (stats::median(&gains.direct), stats::median(&gains.nginx), stats::median(&gains.ctx));
    report.add(Row { direct: Some(direct), nginx: Some(nginx), ..Row::alone("parallel", what, "×", ctx, GAIN) });
    daemon.stop()
}

fn in_turn(conversations: &mut [ScriptedConversation], requests: Range<usize>) -> io::Result<Duration> {
    let began = Instant::now();
    for conversation in conversations {
        conversation.send(requests.clone())?;
    }
    Ok(began.elapsed())
}

fn at_once(conversations: &mut [ScriptedConversation], requests: Range<usize>) -> io::Result<Duration> {
    let began = Instant::now();
    std::thread::scope(|scope| {
        let send = |conversation: &mut ScriptedConversation, requests| conversation.send(requests).map(drop);
        let start = |conversation| {
            let requests = requests.clone();
            scope.spawn(move || send(conversation, requests))
        };
        let running: Vec<_> = conversations.iter_mut().map(start).collect();
        running.into_iter().try_for_each(|one| one.join().map_err(|_| io::Error::other("a client panicked"))?)
    })?;
    Ok(began.elapsed())
}

/// A conversation that is sent over one connection.
pub struct ScriptedConversation {
    script: Script,
    connection: Connection,
}

impl ScriptedConversation {
    /// The same requests where nothing is edited, for comparison.
    fn untouched(server: SocketAddr, script: Script) -> io::Result<ScriptedConversation> {
        Ok(ScriptedConversation { connection: Connection::open(server)?, script })
    }

    pub fn edited(stage: &Stage, home: &Path, daemon: &Daemon, script: Script) -> io::Result<ScriptedConversation> {
        ScriptedConversation::edited_at(stage, home, daemon, script, 0)
    }

    /// `first` is the first request of the script that is sent; the next one leaves edited.
    pub fn edited_at(
        stage: &Stage,
        home: &Path,
        daemon: &Daemon,
        script: Script,
        first: usize,
    ) -> io::Result<ScriptedConversation> {
        let mut connection = Connection::open(daemon.address)?;
        connection.exchange(&script, first)?;
        daemon.settle()?;
        let edit = ["edit", "t1#0", "--text", "Begin here.", "--conv", script.session()];
        finish(stage.ctx(home).args(edit).output()?)?;
        connection.exchange(&script, first + 1)?;
        Ok(ScriptedConversation { script, connection })
    }

    pub fn connect(&mut self, daemon: &Daemon) -> io::Result<()> {
        self.connection = Connection::open(daemon.address)?;
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.script.len()
    }

    pub fn send(&mut self, requests: Range<usize>) -> io::Result<Vec<Duration>> {
        requests.map(|number| self.connection.exchange(&self.script, number)).collect()
    }
}
