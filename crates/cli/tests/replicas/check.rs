//! Compares what was acknowledged with what the provider received and what is stored.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use testkit::Session;

use crate::chaos::Server;
use crate::people::{Acknowledged, NUMBER, ORIGINAL, Talk, Traffic};
use crate::stage::{Daemon, PATIENCE, Stage};

/// Figures of all rounds.
#[derive(Default)]
pub struct Totals {
    kills: usize,
    outages: usize,
    crashes: usize,
    processes: usize,
    /// Requests that reached the provider, and those of them that had to carry an edit.
    arrived: usize,
    bound: usize,
    /// Requests without an edit through a daemon that its warnings named.
    named: usize,
    answers: BTreeMap<String, usize>,
    took: Vec<Duration>,
}

impl Totals {
    pub fn add(&mut self, kills: usize, outages: usize, server: Option<Server>) {
        self.kills += kills;
        self.outages += outages;
        self.crashes += usize::from(server == Some(Server::Crash));
        self.processes += usize::from(server == Some(Server::Process));
    }

    pub fn is_meaningful(&self) {
        assert!(self.took.len() >= self.kills / 4 && self.bound >= self.kills, "hardly anything happened: {self}");
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut took = self.took.clone();
        took.sort();
        let at = |share: usize| took.get((took.len() * share / 100).min(took.len().saturating_sub(1)));
        write!(
            formatter,
            "{} kills of daemons, {} of the server, {} of its processes, {} outages; {} requests arrived, {} with an \
             edit to carry, {} through a daemon that was named; answers {:?}; {} edits acknowledged, p50 {:?}, p99 {:?}",
            self.kills,
            self.crashes,
            self.processes,
            self.outages,
            self.arrived,
            self.bound,
            self.named,
            self.answers,
            took.len(),
            at(50).unwrap_or(&Duration::ZERO),
            at(99).unwrap_or(&Duration::ZERO),
        )
    }
}

pub async fn round(stage: &Stage, traffic: &Traffic, seed: u64, with_lone_daemon: bool, totals: &mut Totals) {
    arrivals(stage, traffic, seed, totals);
    let talks = traffic.talks.lock().expect("no panic").clone();
    for talk in &talks {
        stored(stage, talk, seed).await;
        totals.took.extend(talk.acknowledged.lock().expect("no panic").iter().map(|one| one.took));
    }
    if with_lone_daemon {
        let alone = stage.alone().await;
        for (number, talk) in talks.iter().enumerate() {
            agree(stage, traffic, &alone, (number, talk), seed).await;
        }
        alone.kill();
    }
    stage.daemons.iter().for_each(|daemon| daemon.provider.reset());
}

/// Every request that began after an acknowledgement carries that edit, unless it passed through a daemon that the
/// acknowledgement named.
fn arrivals(stage: &Stage, traffic: &Traffic, seed: u64, totals: &mut Totals) {
    let talks = traffic.talks.lock().expect("no panic");
    let asked = traffic.asked.lock().expect("no panic");
    for one in asked.values() {
        let status = one.status.map_or("none".to_owned(), |status| status.to_string());
        *totals.answers.entry(status).or_default() += 1;
        // 502 and 504 are the balancer's, while a daemon starts.
        assert!(matches!(one.status, None | Some(200 | 502 | 503 | 504)), "seed {seed}: {:?} {}", one.status, one.body);
    }
    for (place, daemon) in stage.daemons.iter().enumerate() {
        for request in daemon.provider.requests().iter().filter(|request| request.path() == "/v1/messages") {
            let number: u64 = request.header(NUMBER).and_then(|text| text.parse().ok()).expect("a number");
            let one = &asked[&number];
            let talk = &talks[one.talk];
            let text = String::from_utf8_lossy(&request.body);
            totals.arrived += 1;
            assert!(!format!("{:?}", request.headers).contains("ctxk_"), "seed {seed}: a key has left");
            if let Some(foreign) = edit_in(&text).filter(|(mark, _)| *mark != talk.mark) {
                panic!("seed {seed}: {foreign:?} in a request of {}", talk.mark);
            }
            let sent = edit_in(&text).map(|(_, number)| number);
            let acknowledged = talk.acknowledged.lock().expect("no panic");
            let before = |edit: &&Acknowledged| edit.at < one.began;
            let newest = acknowledged.iter().filter(before).map(|edit| edit.number).max();
            let known = acknowledged.iter().filter(before).filter(|edit| !edit.absent.contains(&place));
            let must = known.map(|edit| edit.number).max();
            totals.bound += usize::from(newest.is_some());
            let what = || {
                let edits: Vec<String> = acknowledged.iter().map(|edit| describe(edit, one.began)).collect();
                format!(
                    "seed {seed}: request {number} of {} through daemon {place} carries {sent:?}, {must:?} was \
                     acknowledged: {edits:?}\n{}",
                    talk.mark,
                    daemon.log()
                )
            };
            assert!(sent >= must, "{}", what());
            totals.named += usize::from(sent < newest);
            // The original words are in no request that an edit covers.
            assert!(sent.is_none() || !text.contains(ORIGINAL), "{}", what());
        }
    }
}

fn describe(edit: &Acknowledged, began: Instant) -> String {
    let apart = if edit.at < began { began - edit.at } else { edit.at - began };
    let when = if edit.at < began { "before" } else { "after" };
    format!("{} {apart:?} {when}, took {:?}, absent {:?}", edit.number, edit.took, edit.absent)
}

/// The conversation and the number of the edit in a body.
fn edit_in(text: &str) -> Option<(&str, u64)> {
    let (_, behind) = text.split_once("EDIT ")?;
    let (mark, number) = behind.split_once('.')?.0.split_once(':')?;
    Some((mark, number.parse().ok()?))
}

/// Every acknowledged commit is in the history that each daemon shows.
async fn stored(stage: &Stage, talk: &Talk, seed: u64) {
    let session = talk.session.lock().expect("no panic").session_id().to_owned();
    let commits: Vec<String> =
        talk.acknowledged.lock().expect("no panic").iter().map(|one| one.commit.clone()).collect();
    if commits.is_empty() {
        return;
    }
    for daemon in &stage.daemons {
        let path = format!("/control/v1/conversations/{session}/history?all=true");
        let history = daemon.json(&stage.keys[talk.person], &path).await;
        let history = history.unwrap_or_else(|| panic!("seed {seed}: no history of {}: {}", talk.mark, daemon.log()));
        let there: Vec<&str> =
            history["commits"].as_array().into_iter().flatten().filter_map(|one| one["id"].as_str()).collect();
        for commit in &commits {
            assert!(there.contains(&commit.as_str()), "seed {seed}: {commit} of {} is lost: {there:?}", talk.mark);
        }
    }
}

/// The newest request leaves every daemon as the same bytes, which a lone daemon composes from the stored log too.
async fn agree(stage: &Stage, traffic: &Traffic, alone: &Daemon, (number, talk): (usize, &Talk), seed: u64) {
    let session: Session = talk.session.lock().expect("no panic").clone();
    let path = format!("/control/v1/conversations/{}/compose", session.session_id());
    let end = Instant::now() + PATIENCE;
    loop {
        let mut sent = Vec::new();
        for daemon in &stage.daemons {
            daemon.provider.reset();
            let url = format!("http://{}", daemon.address);
            let status = traffic.request(&url, number, talk, &session).await;
            assert_eq!(status, Some(200), "seed {seed}: {}", daemon.log());
            sent.push(daemon.provider.requests().remove(0).body);
        }
        let composed = alone.get(&stage.keys[talk.person], &path).await;
        let is_equal = composed.is_some_and(|(status, body)| status == 200 && sent.iter().all(|one| *one == body));
        if is_equal {
            return;
        }
        assert!(Instant::now() < end, "seed {seed}: the daemons compose {} differently", talk.mark);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
