//! Three daemons on one PostgreSQL database behind nginx: the delay of requests without a pause, commits on all daemons,
//! an outage, the growth of the database, and memory.

use super::editing::finish;
use crate::bench::load::Connection;
use crate::bench::process::{self, Running};
use crate::bench::report::{Goal, Report, Rounds, Row};
use crate::bench::script::{SIZES, Script};
use crate::bench::stage::{Daemon, Stage};
use crate::bench::{Plan, Rival, stats};
use crate::fault_proxy::{Fault, FaultProxy};
use crate::postgres::PostgresServer;
use serde_json::json;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const DAEMONS: usize = 3;
/// Without a pause, while three daemons and the database record on the same processors.
const LATENCY: [Goal; 2] = [Goal::AtMost(2.0), Goal::None];
const COMMITS: usize = 90;
/// Milliseconds until a commit is acknowledged: in the middle, at the 99th percentile, while a daemon is dying.
const COMMIT: [Goal; 3] = [Goal::AtMost(30.0), Goal::AtMost(100.0), Goal::AtMost(2500.0)];
const STORED_AFTER: Goal = Goal::AtMost(10.0);
const NO_ERRORS: Goal = Goal::AtMost(0.0);
/// The tool result of a turn: with two requests a turn, about 3 KB are new in each.
const RESULT: usize = 5_000;
/// Bytes of the database and of its log for each new byte of text.
const GROWTH: [Goal; 2] = [Goal::AtMost(0.9), Goal::AtMost(1.2)];
const LIVE: usize = 1000;
const MEMORY: Goal = Goal::AtMost(1000.0);

pub fn run(stage: &Stage, plan: &Plan, report: &mut Report) -> io::Result<()> {
    let Some(team) = Team::gather(stage, "team", report)? else { return Ok(()) };
    team.latency(stage, plan, report, "")?;
    team.commits(report)?;
    team.growth(report)?;
    team.outage(stage, if plan.quick { 5 } else { 60 }, report)?;
    team.proxy.set(Fault::Cut);
    team.latency(stage, plan, report, ", without the database")?;
    team.proxy.set(Fault::None);
    team.memory(report)
}

/// The daemons, and what stands before and behind them.
pub(super) struct Team {
    server: &'static PostgresServer,
    database: String,
    pub proxy: FaultProxy,
    daemons: Vec<(PathBuf, Daemon)>,
    /// nginx before the daemons, and nginx before as many nginx.
    balancers: [(Running, SocketAddr); 2],
    _plain: Vec<(Running, SocketAddr)>,
}

impl Team {
    /// `None` if PostgreSQL is not installed.
    pub fn gather(stage: &Stage, series: &'static str, report: &mut Report) -> io::Result<Option<Team>> {
        let Some(server) = PostgresServer::shared() else {
            report.note(format!("{series}: left out, because PostgreSQL is not installed"));
            return Ok(None);
        };
        let database = server.new_database();
        let proxy = FaultProxy::to(server.port())?;
        let url = PostgresServer::url_at(proxy.address().port(), &database);
        let home = stage.home(series)?;
        finish(stage.ctx(&home).args(["store", "migrate", &url]).output()?)?;
        let (mut daemons, mut plain) = (Vec::new(), Vec::new());
        for number in 1..=DAEMONS {
            let home = stage.home(&format!("{series}-{number}"))?;
            let daemon = stage.daemon_with(&home, &["--store", &url])?;
            daemons.push((home, daemon));
            plain.push(stage.balancer(&format!("{series}-nginx-{number}"), &[stage.sink()])?);
        }
        let before: Vec<SocketAddr> = daemons.iter().map(|(_, daemon)| daemon.address).collect();
        let beside: Vec<SocketAddr> = plain.iter().map(|(_, address)| *address).collect();
        let balancers = [
            stage.balancer(&format!("{series}-before-ctx"), &before)?,
            stage.balancer(&format!("{series}-before-nginx"), &beside)?,
        ];
        Ok(Some(Team { server, database, proxy, daemons, balancers, _plain: plain }))
    }

    /// The address at which a rival is asked.
    pub fn before(&self, rival: Rival, stage: &Stage) -> SocketAddr {
        match rival {
            Rival::Direct => stage.sink(),
            Rival::Nginx => self.balancers[1].1,
            Rival::Ctx => self.balancers[0].1,
        }
    }

    pub fn settle(&self) -> io::Result<()> {
        self.daemons.iter().try_for_each(|(_, daemon)| daemon.settle().map(drop))
    }

    fn latency(&self, stage: &Stage, plan: &Plan, report: &mut Report, when: &str) -> io::Result<()> {
        let rounds = if plan.quick { 3 } else { 9 };
        for (size, requests, seed) in [(SIZES[0], 900, 3000), (SIZES[1], 300, 3100)] {
            let base = Script::near(size, seed + when.len() as u64, requests);
            let sessions = requests.div_ceil(base.len().saturating_sub(1).max(1));
            let (mut typical, mut worst) = (Rounds::default(), Rounds::default());
            for round in 0..rounds {
                for rival in Rival::in_round(round) {
                    let mut connection = Connection::open(self.before(rival, stage))?;
                    let mut samples = Vec::new();
                    for session in 0..sessions {
                        let script = base.variant(round * sessions + session);
                        connection.exchange(&script, 0)?;
                        for number in 1..script.len() {
                            samples.push(connection.exchange(&script, number)?);
                        }
                    }
                    typical.push(rival, stats::micros(stats::percentile(&mut samples, 0.5)));
                    worst.push(rival, stats::micros(stats::percentile(&mut samples, 0.99)));
                    self.settle()?;
                }
            }
            let name = |which: &str| format!("{DAEMONS} daemons, {}, no pause{when}, {which}", size.name);
            report.add(typical.ratio("team", name("p50"), "µs", LATENCY[0]));
            report.add(worst.ratio("team", name("p99"), "µs", LATENCY[1]));
        }
        Ok(())
    }

    /// Commits of one conversation, on one daemon after the other; then while one of them does not answer.
    fn commits(&self, report: &mut Report) -> io::Result<()> {
        let script = Script::turns(3200, 20, 600);
        let mut connection = Connection::open(self.balancers[0].1)?;
        for number in 0..script.len() {
            connection.exchange(&script, number)?;
        }
        self.settle()?;
        let commit = |daemon: usize, number: usize| -> io::Result<Duration> {
            let (id, text) = (format!("t{}#0", 2 + number % 16), format!("Part {number}."));
            let edit = json!({"operations": [{"op": "edit", "id": id, "text": text}], "author": "bench"});
            let (home, daemon) = &self.daemons[daemon % DAEMONS];
            let began = Instant::now();
            daemon.post(home, &format!("conversations/{}/operations", script.session()), &edit.to_string())?;
            Ok(began.elapsed())
        };
        for daemon in 0..DAEMONS {
            commit(daemon, daemon)?;
        }
        let mut times = (0..COMMITS).map(|number| commit(number, number + 100)).collect::<io::Result<Vec<_>>>()?;
        for (share, name, goal) in [(0.5, "p50", COMMIT[0]), (0.99, "p99", COMMIT[1])] {
            let what = format!("a commit on {DAEMONS} daemons, {name}");
            report.add(Row::alone("team", what, "ms", stats::millis(stats::percentile(&mut times, share)), goal));
        }
        let dying = &self.daemons[DAEMONS - 1].1;
        process::pause(dying.id())?;
        let took = commit(0, 500);
        process::resume(dying.id())?;
        let what = "a commit while a daemon does not answer".into();
        report.add(Row::alone("team", what, "ms", stats::millis(took?), COMMIT[2]));
        Ok(())
    }

    fn growth(&self, report: &mut Report) -> io::Result<()> {
        let ask = |question: &str| number(&self.server.sql(&self.database, question)?);
        let size = || {
            self.server.sql(&self.database, "VACUUM FULL")?;
            ask("SELECT pg_database_size(current_database())")
        };
        let log = || ask("SELECT pg_current_wal_lsn() - '0/0'");
        let script = Script::turns(3300, 200, RESULT);
        let mut connection = Connection::open(self.balancers[0].1)?;
        self.settle()?;
        let (stored, logged) = (size()?, log()?);
        for number in 0..script.len() {
            connection.exchange(&script, number)?;
        }
        self.settle()?;
        std::thread::sleep(Duration::from_secs(1));
        let (written, new) = (log()? - logged, script.length(script.len() - 1) as f64);
        let grown = size()? - stored;
        report.add(Row::alone("team", "bytes stored for each new byte".into(), "×", grown / new, GROWTH[0]));
        report.add(Row::alone("team", "bytes of the database's log for each".into(), "×", written / new, GROWTH[1]));
        Ok(())
    }

    /// An untouched conversation goes on while the database is away; another daemon then knows all of it.
    fn outage(&self, stage: &Stage, seconds: u64, report: &mut Report) -> io::Result<()> {
        const PAUSE: Duration = Duration::from_millis(50);
        let script = Script::turns(3400, 10 * seconds as usize + 20, 200);
        let mut connection = Connection::open(self.daemons[0].1.address)?;
        connection.exchange(&script, 0)?;
        self.settle()?;
        self.proxy.set(Fault::Cut);
        let (until, mut errors, mut sent) = (Instant::now() + Duration::from_secs(seconds), 0, 1);
        while Instant::now() < until && sent + 1 < script.len() {
            errors += usize::from(connection.exchange(&script, sent).is_err());
            sent += 1;
            std::thread::sleep(PAUSE);
        }
        self.proxy.set(Fault::None);
        let back = Instant::now();
        let turns = sent.div_ceil(2);
        let listed = || -> io::Result<bool> {
            let list = ["show", &format!("t{turns}"), "--conv", script.session()].map(str::to_owned);
            Ok(stage.ctx(&self.daemons[1].0).args(list).output()?.status.success())
        };
        while !listed()? {
            if back.elapsed() > Duration::from_secs(60) {
                return Err(io::Error::other(format!("turn {turns} was not stored within a minute")));
            }
            std::thread::sleep(PAUSE);
        }
        let what = format!("errors of {sent} requests in {seconds} s without the database");
        report.add(Row::alone("team", what, "errors", errors as f64, NO_ERRORS));
        let what = "everything known to another daemon after its return".into();
        report.add(Row::alone("team", what, "s", back.elapsed().as_secs_f64(), STORED_AFTER));
        Ok(())
    }

    fn memory(&self, report: &mut Report) -> io::Result<()> {
        let base = Script::near(SIZES[1], 3500, 1);
        let (_, daemon) = &self.daemons[2];
        let mut connection = Connection::open(daemon.address)?;
        for number in 0..LIVE {
            connection.exchange(&base.variant(number), 0)?;
        }
        daemon.settle()?;
        let megabytes = process::resident(daemon.id())? as f64 / 1e6;
        let what = format!("memory with {LIVE} conversations of {}", SIZES[1].name);
        report.add(Row::alone("team", what, "MB", megabytes, MEMORY));
        Ok(())
    }
}

fn number(text: &str) -> io::Result<f64> {
    text.trim().parse().map_err(|_| io::Error::other(format!("not a number: {text}")))
}
