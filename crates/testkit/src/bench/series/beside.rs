//! Held requests of one conversation while another conversation keeps the daemon busy.
//!
//! Each row sends small held requests without a pause, starts something large at the same time, and reports by how much
//! the slowest of them exceeds a typical one. The first row has no other load: it shows the noise of the machine.

use super::editing::finish;
use super::parallel::ScriptedConversation;
use crate::bench::load::Connection;
use crate::bench::report::{Goal, Report, Row};
use crate::bench::script::{GIANT, SIZES, Script};
use crate::bench::stage::{Daemon, Stage};
use crate::bench::{Plan, stats};
use flate2::{Compression, write::GzEncoder};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// The milliseconds that another conversation may cost.
const ADDED: Goal = Goal::AtMost(20.0);
/// A large request is parsed after it has passed, and freed later.
const AFTERWARDS: Duration = Duration::from_secs(2);
const REQUESTS: usize = 200;
const MESSAGES: usize = 19_000;

pub fn run(stage: &Stage, plan: &Plan, report: &mut Report) -> io::Result<()> {
    let home = stage.home("beside")?;
    let long = Script::turns(1900, MESSAGES / 4, 60);
    let daemon = stage.daemon(&home)?;
    let mut measured = MeasuredConversation::begin(stage, &home, &daemon)?;
    let times = if plan.quick { 1 } else { 3 };
    measured.row(report, &daemon, "nothing", Goal::None, times, |_| Ok(()))?;
    for (name, encoding, body) in odd_requests()? {
        measured.row(report, &daemon, name, ADDED, times, |number| {
            Connection::open(daemon.address)?.post(&format!("odd-{name}-{number}"), encoding, &body).map(drop)
        })?;
    }
    let giant = Script::near(GIANT, 1800, 1);
    measured.row(report, &daemon, "30 MB of tool results", ADDED, times, |number| {
        Connection::open(daemon.address)?.exchange(&giant.variant(number), 0).map(drop)
    })?;
    ScriptedConversation::edited_at(stage, &home, &daemon, long.clone(), long.len() - 2)?;
    daemon.settle()?;
    for (name, command) in COMMANDS {
        measured.row(report, &daemon, &format!("`ctx {name}` of {MESSAGES} messages"), ADDED, times, |_| {
            let mut ctx = stage.ctx(&home);
            finish(ctx.args(command).args(["--conv", long.session()]).output()?).map(drop)
        })?;
    }
    daemon.stop()?;
    let mut slowest = Vec::new();
    for _ in 0..times {
        let daemon = stage.daemon(&home)?;
        measured.connect(&daemon)?;
        slowest.push(measured.beside(|| Connection::open(daemon.address)?.exchange(&long, long.len() - 1).map(drop))?);
        daemon.stop()?;
    }
    measured.report(report, &format!("the first request of {MESSAGES} messages after a start"), ADDED, &slowest);
    Ok(())
}

const COMMANDS: [(&str, &[&str]); 4] = [
    ("show", &["show", "t1"]),
    ("search", &["search", "part"]),
    ("diff", &["diff", "source", "HEAD"]),
    ("list --steps", &["list", "--steps"]),
];

/// Its peculiarity, its encoding, and its body.
type OddRequest = (&'static str, Option<&'static str>, Vec<u8>);

/// Bodies that are small to send and expensive to parse.
fn odd_requests() -> io::Result<Vec<OddRequest>> {
    let whole = |messages: &str| {
        format!(r#"{{"model":"claude-sonnet-4-5","max_tokens":10,"messages":[{messages}]}}"#).into_bytes()
    };
    let text = |bytes: usize| whole(&format!(r#"{{"role":"user","content":"{}"}}"#, "text ".repeat(bytes / 5)));
    let many = |count: usize, one: &str| vec![one; count].join(",");
    let pair = r#"{"role":"user","content":"a"},{"role":"assistant","content":"b"}"#;
    let nested = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let blocks = many(200_000, r#"{"type":"text","text":"a"}"#);
    Ok(vec![
        ("60 MB of text as gzip", Some("gzip"), packed(&text(60_000_000))?),
        ("200 MB of text as gzip", Some("gzip"), packed(&text(200_000_000))?),
        ("1,000,000 tiny messages", None, whole(&many(500_000, pair))),
        ("1,000,000 nested brackets", None, whole(&format!(r#"{{"role":"user","content":{nested}}}"#))),
        ("200,000 blocks", None, whole(&format!(r#"{{"role":"user","content":[{blocks}]}}"#))),
    ])
}

fn packed(body: &[u8]) -> io::Result<Vec<u8>> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(body)?;
    packer.finish()
}

/// The conversation whose requests are measured.
struct MeasuredConversation {
    edited: ScriptedConversation,
    next: usize,
    usual: f64,
}

impl MeasuredConversation {
    fn begin(stage: &Stage, home: &Path, daemon: &Daemon) -> io::Result<MeasuredConversation> {
        let script = Script::near(SIZES[0], 1700, 2 + REQUESTS);
        let mut edited = ScriptedConversation::edited(stage, home, daemon, script)?;
        let mut alone = Vec::new();
        for _ in 0..20 {
            alone.extend(edited.send(1..edited.len())?);
        }
        let usual = stats::millis(stats::percentile(&mut alone, 0.5));
        Ok(MeasuredConversation { edited, next: 1, usual })
    }

    fn connect(&mut self, daemon: &Daemon) -> io::Result<()> {
        self.edited.connect(daemon)?;
        self.beside(|| Ok(())).map(drop)
    }

    fn row(
        &mut self,
        report: &mut Report,
        daemon: &Daemon,
        name: &str,
        goal: Goal,
        times: usize,
        other: impl Fn(usize) -> io::Result<()> + Sync,
    ) -> io::Result<()> {
        let mut slowest = Vec::new();
        for number in 0..times {
            slowest.push(self.beside(|| other(number))?);
            daemon.settle()?;
        }
        self.report(report, name, goal, &slowest);
        Ok(())
    }

    fn report(&self, report: &mut Report, name: &str, goal: Goal, slowest: &[f64]) {
        let added = (stats::median(slowest) - self.usual).max(0.0);
        report.add(Row::alone("beside", format!("{name}: slowest held request, added"), "ms", added, goal));
    }

    /// The slowest request in milliseconds while `other` runs, and a little longer.
    fn beside(&mut self, other: impl FnOnce() -> io::Result<()> + Send) -> io::Result<f64> {
        std::thread::scope(|scope| {
            let running = scope.spawn(other);
            let (mut until, mut slowest) = (Instant::now() + AFTERWARDS, Duration::ZERO);
            while Instant::now() < until {
                if !running.is_finished() {
                    until = Instant::now() + AFTERWARDS;
                }
                let took = self.edited.send(self.next..self.next + 1)?;
                self.next = if self.next + 1 < self.edited.len() { self.next + 1 } else { 1 };
                slowest = took.into_iter().fold(slowest, Duration::max);
            }
            running.join().map_err(|_| io::Error::other("the other client panicked"))??;
            Ok(stats::millis(slowest))
        })
    }
}
