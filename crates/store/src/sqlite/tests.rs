//! Internals: limits of the file, settings of the connection, query plans.

use std::path::Path;
use std::sync::mpsc;
use std::thread;

use super::*;
use crate::NewRecord;

fn step(conversation: &str, bytes: &[u8]) -> Step {
    let hash = Hash::of(bytes);
    Step {
        blobs: vec![(hash, bytes.to_vec())],
        records: vec![NewRecord { conversation: conversation.to_owned(), uses: vec![hash], ..NewRecord::default() }],
        ..Step::default()
    }
}

fn stored(number: u64) -> [AppendOutcome; 1] {
    [AppendOutcome::Stored { numbers: vec![number] }]
}

/// Incompressible bytes.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    hasher.finalize_xof().fill(&mut bytes);
    bytes
}

#[test]
fn a_full_disk_is_an_error_that_leaves_the_store_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    store.append(vec![step("a", &noise(0, 1000))]).unwrap();
    let limit = |pages: i64| {
        let writer = store.writer();
        let set = writer.connection.pragma_update(None, "max_page_count", pages);
        set.unwrap();
    };
    limit(20);
    let before = (store.log(0, 99).unwrap(), store.check().unwrap());
    for seed in 1..4 {
        let large = vec![step("a", b"small"), step("b", &noise(seed, 1_000_000))];
        let error = store.append(large).unwrap_err();
        assert!(matches!(error, StoreError::Full(_)), "{error}");
        let after = (store.log(0, 99).unwrap(), store.check().unwrap());
        assert_eq!(before.0, after.0);
        assert_eq!(before.1.counts, after.1.counts);
        assert_eq!(after.1.findings, []);
    }
    // Smaller steps are still stored, and everything once there is space again.
    assert_eq!(store.append(vec![step("b", b"small")]).unwrap(), stored(2));
    limit(1_000_000);
    let large = vec![step("b", &noise(9, 1_000_000))];
    assert_eq!(store.append(large).unwrap(), stored(3));
    assert_eq!(store.check().unwrap().findings, []);
}

#[test]
fn only_durable_steps_wait_for_the_disk() {
    const NORMAL: i64 = 1;
    const FULL: i64 = 2;
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    let level_after = |durable: &[bool]| {
        let steps = durable.iter().map(|durable| Step { durable: *durable, ..step("a", b"x") });
        store.append(steps.collect()).unwrap();
        open::pragma(&store.writer().connection, "synchronous").unwrap()
    };
    assert_eq!(level_after(&[false]), NORMAL);
    assert_eq!(level_after(&[false, true, false]), FULL);
    assert_eq!(level_after(&[false, false]), NORMAL);
    store.purge(&[]).unwrap();
    let level = open::pragma(&store.writer().connection, "synchronous");
    assert_eq!(level.unwrap(), FULL);
}

#[test]
fn readers_do_not_wait_for_a_writer() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    store.append(vec![step("a", b"x")]).unwrap();
    let writer = store.writer();
    let sql = "BEGIN IMMEDIATE; DELETE FROM records;";
    writer.connection.execute_batch(sql).unwrap();
    let (send, receive) = mpsc::channel();
    let seen = thread::scope(|scope| {
        let store = &store;
        scope.spawn(move || {
            let seen = store.records("a", 0).unwrap().records.len();
            send.send((seen, store.blob(Hash::of(b"x")).unwrap())).unwrap();
        });
        let seen = receive.recv_timeout(std::time::Duration::from_secs(4));
        // Lets a waiting reader continue, so that the test fails instead of hanging.
        writer.connection.execute_batch("ROLLBACK").unwrap();
        drop(writer);
        seen
    });
    assert_eq!(seen, Ok((1, Some(b"x".to_vec()))));
}

#[test]
fn lookups_go_through_their_indexes() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    let plan = |sql: &str| -> String {
        let writer = store.writer();
        let sql = format!("EXPLAIN QUERY PLAN {sql}");
        let mut statement = writer.connection.prepare(&sql).unwrap();
        let count = statement.parameter_count();
        let values = rusqlite::params_from_iter(std::iter::repeat_n(1, count));
        let rows = statement.query_map(values, |row| row.get::<_, String>(3));
        rows.unwrap().flatten().collect::<Vec<_>>().join("; ")
    };
    let blob = plan(read::FIND_BLOB);
    assert!(blob.contains("SEARCH blobs USING INDEX blob_by_hash"), "{blob}");
    let records = plan("SELECT body FROM records WHERE conversation = ?1 AND seq > ?2 ORDER BY seq");
    assert!(records.contains("USING INDEX record_by_conversation (conversation=? AND rowid>?)"), "{records}");
    assert!(!records.contains("TEMP B-TREE"), "{records}");
}

#[test]
fn purged_bytes_are_gone_from_the_files_and_the_files_shrink() {
    const TURNS: u64 = 100;
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    let secret = |turn: u64| noise(1000 + turn, 3000);
    for turn in 0..TURNS {
        let steps = vec![step("secret", &secret(turn)), step("other", &noise(turn, 3000))];
        store.append(steps).unwrap();
    }
    // Bytes from the start, the middle and the end of each secret.
    let traces: HashSet<[u8; 8]> = (0..TURNS)
        .flat_map(|turn| [100, 1700, 2900].map(|at| secret(turn)[at..].first_chunk().copied()))
        .flatten()
        .collect();
    let full = store.size().unwrap();
    assert_eq!(found_of(&traces, folder.path()), traces.len());
    store.purge(&["secret".to_owned()]).unwrap();
    assert_eq!(found_of(&traces, folder.path()), 0);
    let left = store.size().unwrap();
    assert!(left.bytes() * 10 < full.bytes() * 7, "{left:?} {full:?}");
    assert_eq!(store.records("other", 0).unwrap().records.len(), TURNS as usize);
    assert_eq!(store.check().unwrap().findings, []);
}

/// The number of traces found in any file of the folder.
fn found_of(traces: &HashSet<[u8; 8]>, folder: &Path) -> usize {
    let mut found = HashSet::new();
    for file in std::fs::read_dir(folder).unwrap().flatten() {
        let content = std::fs::read(file.path()).unwrap();
        let places = content.windows(8).filter_map(|place| <[u8; 8]>::try_from(place).ok());
        found.extend(places.filter(|place| traces.contains(place)));
    }
    found.len()
}
