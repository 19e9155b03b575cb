//! Edits and requests through any daemon, with faults between the daemons and the database, while old conversations are
//! removed. Afterwards, what was acknowledged is compared with what was sent.

use crate::stage::{Daemon, Left, Stage, session, until};
use ctx_service::Retention;
use ctx_service::recorder::Withheld;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use testkit::{Fault, Random, Session, first_seed, is_long};

const NAMES: [&str; 3] = ["one", "two", "three"];

/// An acknowledged edit.
struct Acknowledged {
    at: Instant,
    number: u32,
    commit: String,
    took: Duration,
    /// The daemons that may not know it.
    absent: Vec<usize>,
}

/// A request that left or was refused.
struct Sent {
    began: Instant,
    daemon: usize,
    left: Left,
}

impl Sent {
    /// The edit that it carries.
    fn number(&self) -> Option<u32> {
        let Left::Composed(text) = &self.left else { return None };
        let (_, behind) = text.split_once("EDIT-")?;
        behind.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    }
}

#[test]
fn every_request_that_began_after_an_acknowledgement_carries_that_edit() {
    let Some(stage) = Stage::new() else { return };
    let seed = first_seed();
    let time = Duration::from_secs(if is_long() { 600 } else { 8 });
    let daemons = NAMES.map(|name| stage.daemon(name));
    let session = session(seed, "secret");
    daemons[0].say(&session);
    daemons[0].settle();
    let id = daemons[0].house.ids().remove(0);
    until("all know it", || daemons.iter().all(|daemon| daemon.house.ids() == [id.clone()]));
    let first = daemons[0].rewrite(&id, "t1#0", "EDIT-0");
    let mut acknowledged = vec![Acknowledged {
        at: Instant::now(),
        number: 0,
        commit: first.commit.expect("a commit"),
        took: Duration::ZERO,
        absent: Vec::new(),
    }];

    let (is_over, sent) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let removed = AtomicU64::new(0);
    let over = || is_over.load(Ordering::SeqCst);
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (daemons, sent, session, over) = (&daemons, &sent, &session, &over);
            scope.spawn(move || requests(daemons, session, Random::new(seed + thread), sent, over));
        }
        scope.spawn(|| faults(&daemons, Random::new(seed + 10), &over));
        scope.spawn(|| retention(&daemons, seed, &removed, &over));
        acknowledged.extend(edits(&daemons, &id, Random::new(seed + 20), Instant::now() + time));
        is_over.store(true, Ordering::SeqCst);
    });

    let sent = sent.into_inner().expect("no panic");
    for request in &sent {
        let known = |edit: &&Acknowledged| edit.at < request.began && !edit.absent.contains(&request.daemon);
        let must = acknowledged.iter().rev().find(known).map(|edit| edit.number);
        match &request.left {
            Left::Composed(text) => assert!(!text.contains("secret"), "seed {seed}: sent unedited"),
            left => assert_eq!(*left, Left::Withheld(Withheld::Store), "seed {seed}"),
        }
        if let Some(number) = request.number() {
            assert!(Some(number) >= must, "seed {seed}: {number} through {}, {must:?}", NAMES[request.daemon]);
        }
    }
    until("all agree", || {
        let last: Vec<Left> = daemons.iter().map(|daemon| daemon.say(&session)).collect();
        daemons.iter().for_each(Daemon::settle);
        last.iter().all(|left| *left == last[0])
            && last[0] == Left::Composed(String::from_utf8(stage.alone().compose(&id)).expect("text"))
    });
    let history = stage.alone().service.history(&id, usize::MAX).expect("a history");
    let stored: Vec<String> = history.commits.iter().map(|commit| commit.id.to_string()).collect();
    assert!(acknowledged.iter().all(|edit| stored.contains(&edit.commit)), "seed {seed}: an acknowledged edit is lost");

    let removed = removed.into_inner();
    assert!(removed > 0, "seed {seed}: no old conversation was removed");

    let mut took: Vec<Duration> = acknowledged.iter().skip(1).map(|edit| edit.took).collect();
    took.sort();
    let conflicts: u64 = daemons.iter().map(|daemon| daemon.house.service.conflicts()).sum();
    let withheld = sent.iter().filter(|request| matches!(request.left, Left::Withheld(_))).count();
    println!(
        "{} requests, {withheld} withheld, {conflicts} conflicts, {removed} old conversations removed; \
         {} edits acknowledged, {:?} in the middle, {:?} at most",
        sent.len(),
        took.len(),
        took.get(took.len() / 2),
        took.last()
    );
    assert!(sent.len() > 20 && took.len() > 2, "seed {seed}: {} requests, {} edits", sent.len(), took.len());
}

fn requests(
    daemons: &[Daemon; 3],
    session: &Session,
    mut random: Random,
    sent: &Mutex<Vec<Sent>>,
    is_over: &dyn Fn() -> bool,
) {
    while !is_over() {
        let (daemon, began) = (random.below(3), Instant::now());
        let left = daemons[daemon].say(session);
        sent.lock().expect("no panic").push(Sent { began, daemon, left });
        std::thread::sleep(Duration::from_millis(random.between(1, 30) as u64));
    }
}

/// One edit after the other until the end, each through another daemon. Those that are refused may be stored or not.
fn edits(daemons: &[Daemon; 3], id: &str, mut random: Random, end: Instant) -> Vec<Acknowledged> {
    let mut acknowledged = Vec::new();
    for number in 1.. {
        let start = Instant::now();
        if start > end {
            break;
        }
        let text = format!("EDIT-{number}");
        let operation = serde_json::json!({"op": "edit", "id": "t1#0", "text": text});
        if let Ok(applied) = daemons[random.below(3)].edit(id, operation) {
            let warns = |of: &str| applied.warnings.iter().any(|warning| warning.contains(of));
            let named = |name: &str| warns(&format!("daemon {name} ")) || warns("may not know it yet");
            acknowledged.push(Acknowledged {
                at: Instant::now(),
                number,
                commit: applied.commit.clone().expect("a commit"),
                took: start.elapsed(),
                absent: (0..3).filter(|daemon| named(NAMES[*daemon])).collect(),
            });
        }
        std::thread::sleep(Duration::from_millis(random.between(1, 100) as u64));
    }
    acknowledged
}

/// Conversations without an edit begin, and each daemon removes what is old: all of them, but never the edited one.
fn retention(daemons: &[Daemon; 3], seed: u64, removed: &AtomicU64, is_over: &dyn Fn() -> bool) {
    let mut random = Random::new(seed + 30);
    let rules = Retention { content: 0, figures: None, edited: false };
    for number in 0.. {
        if is_over() {
            break;
        }
        let plain = session(seed + 1_000 + number, "plain");
        let left = daemons[random.below(3)].say(&plain);
        assert!(!matches!(left, Left::Composed(_)), "seed {seed}: an edit of another conversation: {left:?}");
        // While the database is out of reach, nothing can be removed.
        if let Ok(batch) = daemons[random.below(3)].house.service.retain(&rules) {
            removed.fetch_add(batch.removed.len() as u64, Ordering::SeqCst);
        }
        std::thread::sleep(Duration::from_millis(random.between(20, 200) as u64));
    }
}

/// At most one daemon at a time is cut off, stalled or slow.
fn faults(daemons: &[Daemon; 3], mut random: Random, is_over: &dyn Fn() -> bool) {
    while !is_over() {
        std::thread::sleep(Duration::from_millis(random.between(100, 1500) as u64));
        let faults = [Fault::Cut, Fault::Stall, Fault::HalfOpen, Fault::Delay(Duration::from_millis(20))];
        let proxy = &daemons[random.below(3)].proxy;
        proxy.set(*random.pick(&faults).expect("a fault"));
        std::thread::sleep(Duration::from_millis(random.between(50, 3000) as u64));
        proxy.set(Fault::None);
    }
}
