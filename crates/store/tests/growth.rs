//! How much a store grows by what it is given: a file at most 1.2 × the new bytes, a database 1.5 ×. The time of an append
//! is printed.

#[path = "stores/common/mod.rs"]
#[allow(dead_code, unused_macros, reason = "other tests use the rest of it")]
mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::{Noise, blob, record};
use ctx_store::{Note, PostgresStore, Reader, SqliteStore, Step, Store};
use testkit::PostgresServer;

const TURNS: usize = 1_000;

/// Appends turn after turn: two new blobs, two records of 300 bytes, one note that is overwritten.
/// Returns by how much the file grew for each new byte (of the blobs: records and notes are our own).
fn growth(turns: usize, mut message: impl FnMut(usize) -> Vec<u8>, body: &dyn Fn(usize) -> Vec<u8>) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let files = |folder: &Path| -> u64 {
        let entries = std::fs::read_dir(folder).unwrap().flatten();
        entries.map(|entry| entry.metadata().unwrap().len()).sum()
    };
    drop(SqliteStore::open(folder.path()).unwrap());
    let before = files(folder.path());
    let store = SqliteStore::open(folder.path()).unwrap();
    let new_bytes = append_turns(&store, turns, &mut message, body);
    // Closing moves the write-ahead log into the main file.
    drop(store);
    let growth = (files(folder.path()) - before) as f64 / new_bytes as f64;
    println!("{turns} turns of {} bytes: {growth:.3}", new_bytes / turns);
    growth
}

/// Returns the bytes of the new blobs.
fn append_turns(
    store: &dyn Store,
    turns: usize,
    message: &mut dyn FnMut(usize) -> Vec<u8>,
    body: &dyn Fn(usize) -> Vec<u8>,
) -> usize {
    let (mut new_bytes, mut times) = (0, Vec::with_capacity(turns));
    for turn in 0..turns {
        let blobs = vec![blob(message(2 * turn)), blob(message(2 * turn + 1))];
        new_bytes += blobs.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
        let mut request = record("0190a4b2-7c1e-7d70-a3f0-5a1b9c2d3e4f/main", body(2 * turn));
        request.uses = blobs.iter().map(|(hash, _)| *hash).collect();
        let mut answer = request.clone();
        answer.body = body(2 * turn + 1);
        let note = Note { conversation: request.conversation.clone(), name: "head".to_owned(), body: Some(body(turn)) };
        let step = Step { blobs, records: vec![request, answer], notes: vec![note], ..Step::default() };
        let start = Instant::now();
        store.append(vec![step]).unwrap();
        times.push(start.elapsed());
    }
    println!("an append took {}", percentiles(times));
    new_bytes
}

fn percentiles(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    format!("p50 {:?}, p99 {:?}", at(50), at(99))
}

fn noise(seed: usize, length: usize) -> Vec<u8> {
    Noise::new(seed as u64).bytes(length)
}

/// A message of about `length` bytes as an agent writes them: JSON around words and code.
fn text(seed: usize, length: usize) -> Vec<u8> {
    let words = [
        "the", "file", "let", "match", "error", "returns", "self", "pub fn", "store", "\\n    ", "because", "test",
        "when", "value", "=>", "the user", "of", "request", "is", "not",
    ];
    let mut noise = Noise::new(seed as u64);
    let mut text = format!(
        r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_{:016x}","content":""#,
        noise.number()
    );
    while text.len() < length {
        let number = noise.number() as usize;
        text.push_str(words[number % words.len()]);
        text.push(' ');
        if number.is_multiple_of(7) {
            text.push_str(&format!("{:x} ", number % 99_991));
        }
    }
    text.push_str(r#""}]}"#);
    text.into_bytes()
}

#[test]
fn random_bytes_cost_at_most_a_fifth_more_than_they_are() {
    let body = |seed| noise(seed + 1_000_000, 300);
    let growth = growth(TURNS, |seed| noise(seed, 2_560), &body);
    assert!(growth <= 1.2, "{growth}");
}

#[test]
fn text_costs_much_less_than_it_is() {
    let growth = growth(TURNS, |seed| text(seed, 2_560), &|seed| text(seed, 300));
    assert!(growth <= 0.8, "{growth}");
}

#[test]
fn no_size_of_a_message_is_costly() {
    // Just above a half, a third and a whole page are the sizes that fill pages badly; our own
    // records weigh less and less beside them.
    for (length, turns) in [(6_000, 300), (9_000, 200), (17_000, 100), (270_000, 10)] {
        let growth = growth(turns, |seed| noise(seed, length), &|seed| noise(seed, 300));
        assert!(growth <= 1.2, "{length}: {growth}");
    }
}

/// The growth of the tables and of the server's log for each new byte.
fn growth_of_database(
    server: &PostgresServer,
    message: &mut dyn FnMut(usize) -> Vec<u8>,
    body: &dyn Fn(usize) -> Vec<u8>,
) -> (f64, f64) {
    let database = server.new_database();
    let store = PostgresStore::open(&server.url(&database).parse().unwrap()).unwrap();
    let wal = || server.sql("postgres", "SELECT pg_current_wal_lsn() - '0/0'").unwrap().parse::<f64>().unwrap();
    // What a checkpoint adds depends on its moment, not on us.
    server.sql("postgres", "CHECKPOINT").unwrap();
    let (tables, log) = (store.size().unwrap().bytes() as f64, wal());
    let new_bytes = append_turns(&store, TURNS, message, body) as f64;
    let growth = ((store.size().unwrap().bytes() as f64 - tables) / new_bytes, (wal() - log) / new_bytes);
    println!("a database: {:.3}, its log {:.3}", growth.0, growth.1);
    growth
}

#[test]
fn a_database_grows_little_more_than_a_file() {
    let Some(server) = PostgresServer::shared() else { return };
    let (tables, log) = growth_of_database(server, &mut |seed| text(seed, 2_560), &|seed| text(seed, 300));
    assert!(tables <= 0.9 && log <= 1.2, "text: {tables}, log {log}");
    let body = |seed| noise(seed + 1_000_000, 300);
    let (tables, log) = growth_of_database(server, &mut |seed| noise(seed, 2_560), &body);
    assert!(tables <= 1.5 && log <= 2.1, "random: {tables}, log {log}");
}

#[test]
fn a_durable_append_is_timed() {
    let durable = |store: &dyn Store| {
        let mut times = Vec::new();
        for turn in 0..200 {
            let step = Step { records: vec![record("a", text(turn, 300))], durable: true, ..Step::default() };
            let start = Instant::now();
            store.append(vec![step]).unwrap();
            times.push(start.elapsed());
        }
        assert_eq!(store.records("a", 0).unwrap().records.len(), 200);
        percentiles(times)
    };
    let folder = tempfile::tempdir().unwrap();
    println!("durable, in a file: {}", durable(&SqliteStore::open(folder.path()).unwrap()));
    if let Some(store) = crate::common::postgres() {
        println!("durable, in a database: {}", durable(&store));
    }
}
