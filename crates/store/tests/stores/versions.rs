//! The contract, continued: versions, the feed, snapshots and owners.

use std::time::{Duration, Instant};

use crate::common::{append, at, blob, note, record, step};
use ctx_store::{
    AppendOutcome, Cursor, Expectation, Hash, MemoryStore, NewRecord, Owner, Record, Snapshot, Step, Store, StoreError,
};

every_store! {
    a_step_is_stored_at_the_version_it_expects
    a_step_at_another_version_is_a_conflict_and_takes_no_other_along
    nothing_of_a_step_in_conflict_is_stored
    steps_of_one_append_build_on_the_version_before_it
    a_version_is_not_met_again_after_a_purge
    a_conversation_that_grew_is_not_removed_as_what_it_was
    of_many_writers_at_one_version_one_is_stored
    a_feed_delivers_every_record_once_in_portions
    a_feed_goes_on_from_a_cursor_that_was_written_down
    a_feed_from_the_newest_cursor_delivers_what_comes_later
    a_feed_goes_on_behind_the_record_of_a_number
    a_cursor_of_another_store_is_refused
    a_purge_leaves_no_trace_in_the_feed
    a_snapshot_is_kept_with_its_version
    a_snapshot_goes_with_its_conversation
}

fn a_feed_goes_on_behind_the_record_of_a_number(store: &dyn Store) {
    let numbers: Vec<u64> = (0..3).flat_map(|number| append(store, vec![step("c", number.to_string(), &[])])).collect();
    let cursor = store.cursor_behind(numbers[0]).unwrap();
    let (records, _) = follow(store, cursor, 2, 10);
    assert_eq!(records.iter().map(|record| record.seq).collect::<Vec<_>>(), numbers[1..]);
}

fn stored(numbers: &[u64]) -> AppendOutcome {
    AppendOutcome::Stored { numbers: numbers.to_vec() }
}

/// The records behind a cursor, once that many have appeared, and the next cursor.
fn follow(store: &dyn Store, mut cursor: Cursor, count: usize, portion: usize) -> (Vec<Record>, Cursor) {
    let end = Instant::now() + Duration::from_secs(20);
    let mut records = Vec::new();
    while records.len() < count {
        assert!(Instant::now() < end, "{} of {count} records appeared", records.len());
        let feed = store.feed(&cursor, portion).unwrap();
        assert!(feed.found.records.len() <= portion);
        records.extend(feed.found.records);
        cursor = feed.next;
    }
    (records, cursor)
}

fn a_step_is_stored_at_the_version_it_expects(store: &dyn Store) {
    let first = append(store, vec![at("a", 0, step("a", "1", &[]))])[0];
    append(store, vec![step("b", "", &[])]);
    let second = append(store, vec![at("a", first, step("a", "2", &[]))])[0];
    assert_eq!(store.conversations().unwrap()[0].last_seq, second);
    let about_another = at("a", second, step("b", "built on a", &[]));
    assert_eq!(append(store, vec![about_another]).len(), 1, "the expectation may name another conversation");
}

fn a_step_at_another_version_is_a_conflict_and_takes_no_other_along(store: &dyn Store) {
    append(store, vec![step("a", "1", &[]), step("a", "2", &[])]);
    let steps = vec![step("b", "3", &[]), at("a", 1, step("a", "late", &[])), at("new", 7, step("new", "", &[]))];
    let outcomes = store.append(steps).unwrap();
    let conflict = |version| AppendOutcome::Conflict { version };
    assert_eq!(outcomes, [stored(&[3]), conflict(2), conflict(0)]);
    assert_eq!(store.records("a", 0).unwrap().records.len(), 2);
    assert_eq!(append(store, vec![step("b", "4", &[])]), [4]);
}

fn nothing_of_a_step_in_conflict_is_stored(store: &dyn Store) {
    append(store, vec![step("a", "1", &[])]);
    let mut late = at("a", 0, step("a", "late", &[b"late"]));
    late.notes = vec![note("a", "head", "late")];
    store.append(vec![late]).unwrap();
    assert_eq!(store.blob(Hash::of(b"late")).unwrap(), None);
    assert_eq!(store.note("a", "head").unwrap(), None);
    let relying = NewRecord { uses: vec![Hash::of(b"late")], ..record("b", "") };
    let steps = vec![at("a", 0, step("a", "", &[b"late"])), Step { records: vec![relying], ..Step::default() }];
    assert!(matches!(store.append(steps), Err(StoreError::UnknownBlob(_))), "a later step cannot rely on it either");
    assert_eq!(store.conversations().unwrap().len(), 1);
}

fn steps_of_one_append_build_on_the_version_before_it(store: &dyn Store) {
    append(store, vec![step("a", "1", &[])]);
    let chain = vec![at("a", 1, step("a", "2", &[])), at("a", 1, step("a", "3", &[])), at("a", 2, step("a", "4", &[]))];
    let outcomes = store.append(chain).unwrap();
    assert_eq!(outcomes, [stored(&[2]), stored(&[3]), AppendOutcome::Conflict { version: 1 }]);
}

fn a_version_is_not_met_again_after_a_purge(store: &dyn Store) {
    let version = append(store, vec![step("a", "1", &[])])[0];
    store.purge(&["a".to_owned()]).unwrap();
    append(store, vec![at("a", 0, step("a", "again", &[]))]);
    let outcomes = store.append(vec![at("a", version, step("a", "of the first life", &[]))]).unwrap();
    assert_eq!(outcomes, [AppendOutcome::Conflict { version: 2 }]);
}

fn a_conversation_that_grew_is_not_removed_as_what_it_was(store: &dyn Store) {
    let version = append(store, vec![step("a", "1", &[])])[0];
    append(store, vec![step("b", "1", &[]), step("a", "2", &[])]);
    let expect = |version| Expectation { conversation: "a".to_owned(), version };
    assert_eq!(store.remove_if(&expect(version)).unwrap(), None);
    assert_eq!(store.records("a", 0).unwrap().records.len(), 2);
    let newest = store.conversations().unwrap()[0].last_seq;
    let removed = store.remove_if(&expect(newest)).unwrap();
    assert_eq!(removed.map(|removed| removed.records), Some(2));
    assert_eq!(store.conversations().unwrap().len(), 1, "the other stays");
    assert_eq!(store.remove_if(&expect(newest)).unwrap(), None, "it is gone");
}

fn of_many_writers_at_one_version_one_is_stored(store: &dyn Store) {
    let mut version = 0;
    for round in 0..10_u64 {
        let outcomes: Vec<AppendOutcome> = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..4)
                .map(|writer| {
                    let body = format!("{round} {writer}");
                    scope.spawn(move || store.append(vec![at("a", version, step("a", &body, &[]))]).unwrap())
                })
                .collect();
            writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
        });
        let winners: Vec<_> =
            outcomes.iter().filter(|outcome| matches!(outcome, AppendOutcome::Stored { .. })).collect();
        assert_eq!(winners.len(), 1, "{outcomes:?}");
        version = store.conversations().unwrap()[0].last_seq;
    }
    assert_eq!(store.records("a", 0).unwrap().records.len(), 10);
}

fn a_feed_delivers_every_record_once_in_portions(store: &dyn Store) {
    for number in 0..10_u64 {
        let name = if number.is_multiple_of(2) { "even" } else { "odd" };
        append(store, vec![step(name, number.to_le_bytes(), &[&number.to_le_bytes()])]);
    }
    let (records, end) = follow(store, Cursor::default(), 10, 3);
    assert_eq!(records, store.log(0, 99).unwrap().records);
    let after = store.feed(&end, 3).unwrap();
    assert_eq!((after.found.records, after.next), (vec![], end), "nothing twice");
    assert_eq!(store.feed(&Cursor::default(), 0).unwrap().found.records, []);
}

fn a_feed_goes_on_from_a_cursor_that_was_written_down(store: &dyn Store) {
    append(store, vec![step("a", "1", &[]), step("a", "2", &[])]);
    let (_, cursor) = follow(store, Cursor::default(), 2, 9);
    let cursor: Cursor = cursor.to_string().parse().unwrap();
    append(store, vec![step("a", "3", &[])]);
    let (records, _) = follow(store, cursor, 1, 9);
    assert_eq!(records[0].body, b"3");
}

fn a_feed_from_the_newest_cursor_delivers_what_comes_later(store: &dyn Store) {
    append(store, vec![step("a", "1", &[])]);
    follow(store, Cursor::default(), 1, 9);
    let newest = store.newest().unwrap();
    append(store, vec![step("a", "2", &[])]);
    let (records, _) = follow(store, newest, 1, 9);
    assert_eq!(records.last().map(|record| record.body.as_slice()), Some(b"2".as_slice()));
}

fn a_cursor_of_another_store_is_refused(store: &dyn Store) {
    append(store, vec![step("a", "1", &[])]);
    let foreign: Cursor = "fedcba-0-0".parse().unwrap();
    let error = store.feed(&foreign, 9).unwrap_err();
    assert!(matches!(error, StoreError::ForeignCursor(cursor) if cursor == foreign), "{error}");
    assert!(!error.is_temporary());
}

fn a_purge_leaves_no_trace_in_the_feed(store: &dyn Store) {
    append(store, vec![step("a", "1", &[]), step("b", "2", &[]), step("a", "3", &[])]);
    store.purge(&["a".to_owned()]).unwrap();
    let (records, _) = follow(store, Cursor::default(), 1, 9);
    assert_eq!(records.iter().map(|record| record.seq).collect::<Vec<_>>(), [2]);
}

fn a_snapshot_is_kept_with_its_version(store: &dyn Store) {
    assert_eq!(store.snapshot("a").unwrap(), None);
    let version = append(store, vec![step("a", "1", &[])])[0];
    let snapshot = Snapshot { version, body: vec![0, 255, 7] };
    store.append(vec![Step { notes: vec![snapshot.note("a").unwrap()], ..Step::default() }]).unwrap();
    assert_eq!(store.snapshot("a").unwrap(), Some(snapshot));
    append(store, vec![step("a", "2", &[])]);
    let later = Snapshot { version: version + 1, body: vec![] };
    store.append(vec![Step { notes: vec![later.note("a").unwrap()], ..Step::default() }]).unwrap();
    assert_eq!(store.snapshot("a").unwrap(), Some(later));
    assert_eq!(store.snapshot("b").unwrap(), None);
    let long = Snapshot { version, body: b"state ".repeat(1000) };
    store.append(vec![Step { notes: vec![long.note("a").unwrap()], ..Step::default() }]).unwrap();
    assert_eq!(store.snapshot("a").unwrap(), Some(long));
    assert!(store.note("a", Snapshot::NOTE).unwrap().unwrap().len() < 600, "it is packed");
    store.append(vec![Step { notes: vec![note("a", Snapshot::NOTE, "no snapshot")], ..Step::default() }]).unwrap();
    assert_eq!(store.snapshot("a").unwrap(), None);
}

fn a_snapshot_goes_with_its_conversation(store: &dyn Store) {
    let mut full = step("a", "1", &[]);
    full.notes = vec![Snapshot { version: 1, body: b"state".to_vec() }.note("a").unwrap()];
    append(store, vec![full]);
    store.purge(&["a".to_owned()]).unwrap();
    assert_eq!(store.snapshot("a").unwrap(), None);
}

/// Two stores in one place, of two owners.
fn owners_never_meet(mine: &dyn Store, yours: &dyn Store) {
    let mut first = step("a", "mine", &[b"shared", b"secret"]);
    first.notes = vec![note("a", "head", "mine")];
    append(mine, vec![first]);
    assert_eq!(yours.records("a", 0).unwrap().records, []);
    assert_eq!(yours.log(0, 9).unwrap().records, []);
    assert_eq!(yours.blob(Hash::of(b"secret")).unwrap(), None);
    assert_eq!(yours.notes("head").unwrap(), []);
    assert_eq!(yours.conversations().unwrap(), []);
    assert!(yours.conversations_with(&["request"]).unwrap().is_empty());
    let relying = NewRecord { uses: vec![Hash::of(b"secret")], ..record("a", "") };
    let relying = Step { records: vec![relying], ..Step::default() };
    assert!(matches!(yours.append(vec![relying]), Err(StoreError::UnknownBlob(_))), "a hash opens nothing");

    append(yours, vec![at("a", 0, step("a", "yours", &[b"shared"]))]);
    assert_eq!(follow(yours, Cursor::default(), 1, 9).0[0].body, b"yours");
    assert_eq!(follow(mine, Cursor::default(), 1, 9).0[0].body, b"mine");
    assert_eq!(mine.purge(&["a".to_owned()]).unwrap().blobs, 2);
    assert_eq!(yours.blob(Hash::of(b"shared")).unwrap().unwrap(), b"shared");
    assert_eq!(yours.records("a", 0).unwrap().records.len(), 1);
    assert!(yours.check().unwrap().is_sound());
}

#[test]
fn owners_never_meet_in_memory() {
    let store = MemoryStore::new();
    owners_never_meet(&store, &store.of(Owner(7)));
}

#[test]
fn owners_never_meet_in_a_database() {
    if let Some(store) = crate::common::postgres() {
        owners_never_meet(&store, &store.of(Owner(7)));
    }
}

#[test]
fn errors_tell_later_from_never() {
    let away = StoreError::Unavailable { why: "no answer", source: None };
    assert!(away.is_temporary() && StoreError::Slow.is_temporary());
    let (given, actual) = (Hash::of(b"1"), blob("2").0);
    assert!(!StoreError::WrongHash { given, actual }.is_temporary());
    assert!(!StoreError::Gone { path: "ctx.db".into() }.is_temporary());
}
