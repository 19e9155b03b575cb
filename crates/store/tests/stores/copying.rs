//! A store is copied between backends without a difference, in one go or after an interruption.

use crate::common::{Noise, append, note, step};
use ctx_store::{
    CopyReport, MemoryStore, Progress, Reader, Record, Snapshot, SqliteStore, Step, Store, StoreError, copy,
};

/// Conversations with shared blobs, odd names and bodies of many sizes.
fn fill(store: &dyn Store, seed: u64) {
    let mut noise = Noise::new(seed);
    for turn in 0..150_u64 {
        let name = ["a", "b", "naïve 🦀 \0", ""][(noise.number() % 4) as usize];
        let length = (noise.number() % 3000) as usize;
        let (own, body) = (noise.bytes(length), noise.bytes(length / 7));
        let mut step = step(name, body, &[&own, b"shared", &(turn / 10).to_le_bytes()]);
        step.records[0].at = noise.number();
        step.notes = vec![note(name, "card", &turn.to_string()), note("elsewhere", &format!("n{}", turn % 3), "x")];
        append(store, vec![step]);
    }
    // Numbers have gaps after a purge.
    store.purge(&["b".to_owned()]).unwrap();
}

/// Everything but the numbers.
#[derive(Debug, PartialEq)]
struct Content {
    records: Vec<Record>,
    blobs: Vec<Option<Vec<u8>>>,
    /// Name, conversation and body.
    notes: Vec<(String, String, Vec<u8>)>,
}

fn content(store: &dyn Store) -> Content {
    let mut records = store.log(0, usize::MAX).unwrap().records;
    let blobs = records.iter().flat_map(|record| &record.uses).map(|hash| store.blob(*hash).unwrap()).collect();
    records.iter_mut().for_each(|record| record.seq = 0);
    let named = |name: String| {
        let notes = store.notes(&name).unwrap().into_iter();
        notes.map(move |(conversation, body)| (name.clone(), conversation, body))
    };
    let notes = store.note_names().unwrap().into_iter().flat_map(named);
    Content { records, blobs, notes: notes.collect() }
}

#[test]
fn a_store_comes_back_from_a_database_as_it_was() {
    let Some(postgres) = crate::common::postgres() else { return };
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (from, back) = (SqliteStore::open(first.path()).unwrap(), SqliteStore::open(second.path()).unwrap());
    fill(&from, 1);
    let there = copy(&from, &postgres, &Progress::default()).unwrap();
    assert_eq!(content(&from), content(&postgres));
    assert_eq!(there.conversations, 3);
    assert_eq!(copy(&postgres, &back, &Progress::default()).unwrap(), there);
    assert_eq!(content(&from), content(&back));
    assert!(postgres.check().unwrap().is_sound() && back.check().unwrap().is_sound());
    assert_eq!(from.size().unwrap().blobs, back.size().unwrap().blobs);
}

#[test]
fn a_copy_is_completed_by_the_next_one() {
    let (from, to) = (MemoryStore::new(), MemoryStore::new());
    fill(&from, 2);
    let all = copy(&from, &to, &Progress::default()).unwrap();
    let again = copy(&from, &to, &Progress::default()).unwrap();
    assert_eq!(again, CopyReport { records: 0, notes: 0, ..all }, "nothing twice");
    append(&from, vec![step("a", "later", &[b"new"]), step("new", "later", &[])]);
    assert_eq!(copy(&from, &to, &Progress::default()).unwrap().records, 2);
    assert_eq!(content(&from), content(&to));
}

#[test]
fn a_conversation_with_other_records_is_not_mixed() {
    let (from, to) = (MemoryStore::new(), MemoryStore::new());
    append(&from, vec![step("a", "mine", &[])]);
    append(&to, vec![step("a", "another", &[])]);
    let error = copy(&from, &to, &Progress::default()).unwrap_err();
    assert!(matches!(&error, StoreError::OtherContent { conversation } if conversation == "a"), "{error}");
    assert_eq!(to.log(0, 9).unwrap().records.len(), 1);
}

#[test]
fn what_is_damaged_is_left_out_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let from = SqliteStore::open(folder.path()).unwrap();
    append(&from, vec![step("a", "1", &[]), step("a", "2", &[]), step("a", "3", &[])]);
    let connection = rusqlite::Connection::open(from.path()).unwrap();
    connection.execute("UPDATE records SET at = at + 1 WHERE seq = 2", []).unwrap();
    let to = MemoryStore::new();
    let report = copy(&from, &to, &Progress::default()).unwrap();
    assert_eq!((report.records, report.skipped, report.conversations), (2, 1, 1));
}

#[test]
fn snapshots_are_left_out_because_they_name_numbers() {
    let (from, to) = (MemoryStore::new(), MemoryStore::new());
    append(&from, vec![step("a", "1", &[])]);
    let notes = vec![Snapshot { version: 1, body: vec![1] }.note("a").unwrap(), note("a", "card", "x")];
    append(&from, vec![Step { notes, ..Step::default() }]);
    assert_eq!(copy(&from, &to, &Progress::default()).unwrap().notes, 1);
    assert_eq!(to.snapshot("a").unwrap(), None);
}

#[test]
fn a_target_that_is_ahead_is_refused_and_keeps_its_notes() {
    let (from, to) = (MemoryStore::new(), MemoryStore::new());
    append(&from, vec![step("a", "1", &[])]);
    append(&to, vec![step("a", "1", &[]), step("a", "2", &[])]);
    for (store, body) in [(&from, "old"), (&to, "new")] {
        append(store, vec![Step { notes: vec![note("a", "card", body)], ..Step::default() }]);
    }
    let error = copy(&from, &to, &Progress::default()).unwrap_err();
    assert!(matches!(&error, StoreError::OtherContent { .. }), "{error}");
    assert_eq!(to.note("a", "card").unwrap().as_deref(), Some(&b"new"[..]));
}
