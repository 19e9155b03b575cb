//! Days, and what a request would have cost unedited.

use super::*;
use crate::retention::Retention;
use crate::service::Service;
use crate::view::StatsScope;
use ctx_api::requests::Usage;
use ctx_api::stats::{Grouping, Spending, Stats};
use ctx_core::day::Day;
use ctx_core::edit::effect::{Effect, Why};
use ctx_core::edit::history::Change;
use ctx_core::edit::{Commit, CommitId};
use ctx_engine::card::{self, Card};
use ctx_engine::log;
use ctx_store::{MemoryStore, NewRecord, Note, Record, Step, Store};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

const MODEL: &str = "claude-opus-5-5";

fn service() -> Service {
    Service::open(Arc::new(MemoryStore::new())).expect("a service")
}

/// Records of one conversation, a minute between requests.
struct Bookkeeper {
    service: Service,
    talk: Talk,
    clock: u64,
    request: u32,
}

impl Bookkeeper {
    fn new() -> Bookkeeper {
        Bookkeeper { service: service(), talk: Talk::default(), clock: 0, request: 0 }
    }

    fn record(&mut self, kind: &str, body: &Value) -> Option<Row> {
        let body = serde_json::to_vec(body).expect("JSON");
        let (conversation, kind) = ("c".to_owned(), kind.to_owned());
        let record = Record { seq: 0, conversation, at: self.clock, kind, version: 1, uses: Vec::new(), body };
        self.talk.take(&*self.service.parts.store, &self.service.parts.engine.models, &record).ok().expect("it is read")
    }

    /// What was saved, in millionths of a dollar; `edited` is the weight of what was sent and of what the client sent.
    fn ask(&mut self, wait: u64, (read, written): (u64, u64), edited: Option<(f64, f64)>) -> f64 {
        self.ask_for(wait, Usage { cache_read: read, cache_write: written, ..Usage::default() }, edited)
    }

    fn ask_for(&mut self, wait: u64, usage: Usage, edited: Option<(f64, f64)>) -> f64 {
        self.clock += wait * 1000;
        self.request += 1;
        let turn = json!({"base": null, "nodes": 0, "slots": [], "versions": [], "envelope": 0, "current": true});
        let arrived = json!({"request": self.request, "class": "main", "verdict": "next", "known": 0, "new": 1,
            "changed": 0, "model": MODEL, "bytes": 1, "composed": edited.is_some(), "turn": turn});
        self.record(log::ARRIVED, &arrived);
        let weighed = edited.map(|(sent, own)| json!({"sent": sent, "own": own}));
        let answered = json!({"request": self.request, "status": 200, "ending": "complete", "usage": usage,
            "total_ms": 1, "edited": weighed});
        let row = self.record(log::ANSWERED, &answered).expect("a row");
        row.sum.spent().saved * 1e6
    }

    fn commit(&mut self) {
        let operations = serde_json::from_value(json!([{"op": "delete", "ids": ["t3"]}])).expect("an operation");
        let effects = vec![Effect::Replace { why: Why::Deleted, covers: Vec::new(), by: Vec::new() }];
        let commit = Commit {
            id: CommitId(1),
            parent: None,
            at: 1,
            author: "cli".into(),
            note: None,
            reasons: Vec::new(),
            change: Change::Edit { operations, effects },
            summary: String::new(),
            tokens_before: 0,
            tokens_after: 0,
            unattended: false,
            exception: false,
            kept: Vec::new(),
        };
        self.record(log::COMMIT, &serde_json::to_value(&commit).expect("JSON"));
    }
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() < 0.01
}

/// Opus 5.5: a read costs 0.2, a write 5 for a million.
#[test]
fn an_edit_costs_once_and_saves_from_then_on() {
    let mut told = Bookkeeper::new();
    assert!(near(told.ask(1, (0, 100_000), None), 0.0));
    assert!(near(told.ask(1, (100_000, 1_000), None), 0.0));
    told.commit();
    // 40,000 tokens are gone from behind the first 50,000; 11,000 behind them are written again, and 1,000 are new.
    let saved = told.ask(1, (50_000, 12_000), Some((62_000.0, 102_000.0)));
    // Unedited: 101,000 read, 1,000 written.
    let expected = (101_000.0 * 0.2 + 1_000.0 * 5.0) - (50_000.0 * 0.2 + 12_000.0 * 5.0);
    assert!(near(saved, expected) && saved < 0.0, "{saved} {expected}");
    // From then on 40,000 are not read.
    let saved = told.ask(1, (62_000, 1_000), Some((63_000.0, 103_000.0)));
    assert!(near(saved, 40_000.0 * 0.2), "{saved}");
    // A cold cache would have been written with them.
    let saved = told.ask(1_000, (0, 64_000), Some((64_000.0, 104_000.0)));
    assert!(near(saved, 40_000.0 * 5.0), "{saved}");
    // Taking it back costs too: unedited all would still be there.
    told.commit();
    let saved = told.ask(1, (50_000, 55_000), None);
    assert!(near(saved, (104_000.0 * 0.2 + 1_000.0 * 5.0) - (50_000.0 * 0.2 + 55_000.0 * 5.0)), "{saved}");
    assert!(near(told.ask(1, (105_000, 1_000), None), 0.0));
}

#[test]
fn an_edit_in_the_cold_costs_nothing() {
    let mut told = Bookkeeper::new();
    told.ask(1, (0, 100_000), None);
    told.commit();
    let saved = told.ask(1_000, (0, 60_000), Some((60_000.0, 100_000.0)));
    assert!(near(saved, 40_000.0 * 5.0), "{saved}");
}

#[test]
fn a_request_of_which_little_is_left_saves_no_more_than_the_whole_would_have_cost() {
    let mut told = Bookkeeper::new();
    // All but 40 tokens of 16,000 are deleted; what the provider adds to every request makes 640 of them.
    told.ask(1, (0, 16_000), Some((16_000.0, 16_000.0)));
    told.commit();
    let saved = told.ask(1, (0, 640), Some((40.0, 16_100.0)));
    assert!(saved <= 17_000.0 * 5.0, "{saved}");
    let saved = told.ask(1, (640, 60), Some((60.0, 16_200.0)));
    assert!(near(saved, 16_140.0 * 0.2), "{saved}");
}

#[test]
fn a_request_that_is_too_short_to_be_cached_does_not_make_the_unedited_one_a_miss() {
    let mut told = Bookkeeper::new();
    told.ask(1, (0, 26_000), Some((26_000.0, 26_000.0)));
    told.commit();
    let short = |input| Usage { input, ..Usage::default() };
    told.ask_for(1, short(40), Some((40.0, 26_040.0)));
    // Unedited, 26,040 tokens would have been read and the new ones written.
    let saved = told.ask_for(1, short(80), Some((80.0, 26_080.0)));
    assert!(saved > 0.0 && saved < 26_080.0 * 0.2 + 100.0 * 5.0, "{saved}");
    // A cold cache would have been written with all of it.
    let saved = told.ask_for(1_000, short(120), Some((120.0, 26_120.0)));
    assert!(saved > 26_000.0 * 4.0, "{saved}");
}

#[test]
fn a_miss_of_the_edited_request_alone_does_not_make_the_unedited_one_a_miss() {
    let mut told = Bookkeeper::new();
    told.ask(1, (0, 9_900), Some((9_900.0, 9_900.0)));
    told.commit();
    told.ask(1, (0, 16), Some((16.0, 9_900.0)));
    // A tool came back by a rule, without a commit: the few tokens before it are not found.
    let saved = told.ask(1, (0, 736), Some((736.0, 10_620.0)));
    // Unedited, 9,900 tokens would have been read and the new ones written.
    let unedited = 9_900.0 * 0.2 + 720.0 * 5.0;
    assert!(near(saved, unedited - 736.0 * 5.0), "{saved}");
}

#[test]
fn a_client_that_does_not_cache_saves_at_the_price_of_input() {
    let mut told = Bookkeeper::new();
    let uncached = |input| Usage { input, ..Usage::default() };
    told.ask_for(1, uncached(100_000), None);
    told.commit();
    for asked in 1..=2 {
        let saved = told.ask_for(1, uncached(61_000), Some((61_000.0, 101_000.0)));
        assert!(near(saved, 40_000.0 * 4.0), "{asked}: {saved}");
    }
}

#[test]
fn days_have_their_names() {
    let day = |at: u64| Day::of(at * 1000).to_string();
    assert_eq!(day(0), "1970-01-01");
    assert_eq!(day(951_782_399), "2000-02-28");
    assert_eq!(day(951_782_400), "2000-02-29");
    assert_eq!(day(1_763_164_800), "2025-11-15");
    assert_eq!(day(4_107_542_400), "2100-03-01");
    assert_eq!(Day::of(u64::MAX).until(Day::of(u64::MAX)).count(), 1);
}

type Given = (u8, u64, u8, u32, u32, bool);

fn records(rows: &[Given]) -> Vec<NewRecord> {
    let mut records = Vec::new();
    for (number, (talk, at, model, read, written, failed)) in (1..).zip(rows) {
        let conversation = format!("c{}", talk % 4);
        let model = ["claude-opus-5-5", "claude-haiku-5-5", "claude-opus-7", "gpt-6"][usize::from(model % 4)];
        let mut add = |kind: &str, body: Value| {
            let body = serde_json::to_vec(&body).expect("JSON");
            let (conversation, kind) = (conversation.clone(), kind.to_owned());
            records.push(NewRecord { conversation, at: *at, kind, version: 1, uses: Vec::new(), body });
        };
        let arrived = json!({"request": number, "class": "auxiliary", "verdict": "side", "known": 0, "new": 1,
            "changed": 0, "model": model, "bytes": 1});
        add(log::ARRIVED, arrived);
        let usage = Usage { cache_read: (*read).into(), cache_write: (*written).into(), output: 7, ..Usage::default() };
        let usage = (!failed).then_some(usage);
        let answered = json!({"request": number, "status": 200, "ending": "complete", "usage": usage, "total_ms": 1,
            "edited": {"sent": 1.0, "own": 1.5}});
        add(log::ANSWERED, answered);
    }
    records
}

fn store(rows: &[Given]) -> Service {
    let store = MemoryStore::new();
    store.append(vec![Step { records: records(rows), ..Step::default() }]).expect("stored");
    Service::open(Arc::new(store)).expect("a service")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn sums_are_the_same_however_they_are_grouped(
        rows in prop::collection::vec((0..8_u8, 0..2_000_000_000_u64, 0..4_u8, 0..400_000_u32, 0..90_000_u32, any::<bool>()), 0..40),
        since in prop::option::of(0..2_000_000_000_u64),
    ) {
        let service = store(&rows);
        let stats = |by| service.stats(&StatsScope { by, since, ..StatsScope::default() }).expect("stats");
        let all = stats(Grouping::Request);
        for by in [Grouping::Request, Grouping::Conversation, Grouping::Project, Grouping::Day, Grouping::Model] {
            let stats = stats(by);
            prop_assert_eq!(stats.total, all.total);
            let whole = |of: fn(&Spending) -> f64| stats.groups.iter().map(|group| (of(&group.spent) * 1e9).round() as i64).sum::<i64>();
            prop_assert_eq!(whole(|spent| spent.cost), (all.total.cost * 1e9).round() as i64);
            prop_assert_eq!(whole(|spent| spent.saved), (all.total.saved * 1e9).round() as i64);
            let sum = |of: fn(&Spending) -> u64| stats.groups.iter().map(|group| of(&group.spent)).sum::<u64>();
            prop_assert_eq!(sum(|spent| spent.requests), all.total.requests);
            prop_assert_eq!(sum(|spent| spent.cache_read), all.total.cache_read);
            prop_assert_eq!(sum(|spent| spent.nearest + spent.unpriced), all.total.nearest + all.total.unpriced);
            let days: i64 = stats.days.iter().map(|day| (day.cost * 1e9).round() as i64).sum();
            prop_assert_eq!(days, (all.total.cost * 1e9).round() as i64);
        }
        prop_assert_eq!(all.total.requests as usize, all.groups.len());
    }
}

fn keyed(stats: &Stats) -> Vec<(Option<String>, Spending)> {
    let mut groups: Vec<_> = stats.groups.iter().map(|group| (group.key.clone(), group.spent)).collect();
    groups.sort_by(|one, other| one.0.cmp(&other.0));
    groups
}

/// The cards of the conversations of these rows: only those with one can be named.
fn cards(rows: &[Given]) -> Vec<Note> {
    let ids: BTreeSet<String> = rows.iter().map(|row| format!("c{}", row.0 % 4)).collect();
    ids.into_iter().map(|id| card::note(&Card { id, ..Card::default() })).collect()
}

/// Removes everything that is due; returns the number of conversations.
fn retain(service: &Service, rules: Retention) -> u64 {
    let mut removed = 0;
    loop {
        let batch = service.retain(&rules).expect("a batch");
        removed += batch.removed.len() as u64;
        if batch.remaining == 0 {
            return removed;
        }
    }
}

const DAY_MS: u64 = 24 * 60 * 60 * 1000;
const CONTENT: Retention = Retention { content: 30 * DAY_MS, figures: None, edited: false };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn figures_stay_the_same_when_the_content_goes(
        rows in prop::collection::vec((0..8_u8, 0..2_000_000_000_u64, 0..4_u8, 0..400_000_u32, 0..90_000_u32, any::<bool>()), 1..40),
        more in prop::collection::vec((0..8_u8, 0..2_000_000_000_u64, 0..4_u8, 0..400_000_u32, 0..90_000_u32, any::<bool>()), 0..9),
        since in prop::option::of(0..2_000_000_000_u64),
    ) {
        let store = Arc::new(MemoryStore::new());
        let twin = Arc::new(MemoryStore::new());
        for store in [&store, &twin] {
            store.append(vec![Step { records: records(&rows), ..Step::default() }]).expect("stored");
        }
        let removing = Service::open(store.clone()).expect("a service");
        let keeping = Service::open(twin.clone()).expect("a service");
        let talks: std::collections::HashSet<u8> = rows.iter().map(|row| row.0 % 4).collect();
        prop_assert_eq!(retain(&removing, CONTENT), talks.len() as u64);
        let left = store.log(0, 10_000).expect("a log").records;
        prop_assert!(left.iter().all(|record| record.kind == FIGURES), "{:?}", left);
        let compare = |removing: &Service, keeping: &Service| {
            for by in [Grouping::Conversation, Grouping::Project, Grouping::Day, Grouping::Model, Grouping::Request] {
                let stats = |service: &Service| {
                    service.stats(&StatsScope { by, since, ..StatsScope::default() }).expect("stats")
                };
                let (after, before) = (stats(removing), stats(keeping));
                assert_eq!((after.total, &after.days), (before.total, &before.days));
                if by == Grouping::Request {
                    let sum = |stats: &Stats| stats.groups.iter().map(|group| group.spent.requests).sum::<u64>();
                    assert_eq!(sum(&after), sum(&before));
                } else {
                    assert_eq!(keyed(&after), keyed(&before));
                }
            }
        };
        compare(&removing, &keeping);
        // The session goes on, and is removed again.
        for store in [&store, &twin] {
            store.append(vec![Step { records: records(&more), notes: cards(&more), ..Step::default() }]).expect("stored");
        }
        let removing = Service::open(store.clone()).expect("a service");
        let keeping = Service::open(twin.clone()).expect("a service");
        for id in cards(&more).into_iter().map(|card| card.conversation) {
            let spent = |service: &Service| {
                let only = StatsScope { conversation: Some(id.clone()), ..StatsScope::default() };
                let total = service.stats(&only).expect("stats").total;
                (total.requests, total.input, total.cache_read, total.cache_write, total.output)
            };
            prop_assert_eq!(spent(&removing), spent(&keeping), "only {}", id);
        }
        retain(&removing, CONTENT);
        let (total, day) = (keeping.stats(&StatsScope::default()).expect("stats").total, Grouping::Day);
        let after = removing.stats(&StatsScope { by: day, ..StatsScope::default() }).expect("stats").total;
        prop_assert_eq!((after.requests, after.output), (total.requests, total.output));
        // The other clock.
        retain(&removing, Retention { figures: Some(31 * DAY_MS), ..CONTENT });
        prop_assert_eq!(removing.stats(&StatsScope::default()).expect("stats").total, Spending::default());
        prop_assert!(store.log(0, 10_000).expect("a log").records.is_empty());
    }
}

#[test]
fn what_a_clock_that_was_ahead_noted_counts_today() {
    let before = crate::clock::now();
    let days_from_now = |days: u64| before + days * 24 * 60 * 60 * 1000;
    let row = |at: u64| (0, at, 0, 1_000, 1_000, false);
    let service = store(&[row(0), row(before), row(days_from_now(30)), row(days_from_now(3_000)), row(u64::MAX)]);
    for since in [None, Some(before)] {
        let stats = |by| service.stats(&StatsScope { by, since, ..StatsScope::default() }).expect("stats");
        let today = || Day::of(crate::clock::now()).to_string();
        let by_day = stats(Grouping::Day);
        let newest = by_day.groups.last().expect("a day");
        assert!(newest.key.as_ref() <= Some(&today()), "{newest:?}");
        assert!(newest.spent.requests >= 3, "{newest:?}");
        assert!(by_day.days.last().is_some_and(|day| day.day <= today()), "{:?}", by_day.days.last());
        assert_eq!(by_day.total.requests, if since.is_some() { 4 } else { 5 });
        let by_request = stats(Grouping::Request);
        assert!(by_request.groups.iter().all(|group| group.at <= crate::clock::now()), "{by_request:?}");
        assert_eq!(by_request.groups.len() as u64, by_day.total.requests);
    }
}

/// `CTX_LONG=1` measures it with a hundred thousand records.
#[test]
fn many_records_are_read_once_and_from_then_on_only_what_is_new() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Arc::new(ctx_store::SqliteStore::open(folder.path()).expect("a store"));
    let number = if testkit::is_long() { 50_000 } else { 500 };
    let rows: Vec<_> = (0..number).map(|row| ((row % 4) as u8, row * 60_000, 0, 100_000, 1_000, false)).collect();
    for some in rows.chunks(1_000) {
        store.append(vec![Step { records: records(some), ..Step::default() }]).expect("stored");
    }
    let service = Service::open(store.clone()).expect("a service");
    let ask = |by, conversation: Option<&str>| {
        let since = std::time::Instant::now();
        let conversation = conversation.map(str::to_owned);
        let stats = service.stats(&StatsScope { by, conversation, ..StatsScope::default() }).expect("stats");
        (stats.total.requests, since.elapsed())
    };
    let (requests, first) = ask(Grouping::Conversation, None);
    assert_eq!(requests, number);
    store.append(vec![Step { records: records(&rows[..1]), ..Step::default() }]).expect("stored");
    let (requests, again) = ask(Grouping::Day, None);
    assert_eq!(requests, number + 1);
    // The quickest of several: a busy machine may delay any of them.
    let again = (0..5).map(|_| ask(Grouping::Day, None).1).fold(again, std::cmp::min);
    let (requests, each) = ask(Grouping::Request, None);
    assert_eq!(requests, number + 1);
    println!("{} records: first {first:?}, again {again:?}, by request {each:?}", 2 * number);
    assert!(again < first, "{first:?}, {again:?}");
}
