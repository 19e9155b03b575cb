//! The contract: what every store promises, tested on every store.

use crate::common::{append, blob, note, record, step};
use ctx_store::{
    AppendOutcome, Blob, ConversationRow, Hash, Note, PurgeReport, Reader, Record, SqliteStore, Step, Store, StoreError,
};

every_store! {
    a_new_store_is_empty
    records_come_back_as_they_went_in_and_in_order
    records_of_one_conversation_come_without_those_of_others
    records_can_be_read_from_a_number_on
    the_whole_log_can_be_read_in_portions
    an_append_tells_the_numbers_of_each_step
    a_version_from_the_future_is_returned_as_it_is
    odd_values_survive
    blobs_come_back_whatever_their_size
    blobs_are_returned_in_the_order_asked_for
    a_blob_is_kept_once
    a_record_may_use_a_blob_of_an_earlier_step
    uses_keep_their_order_and_their_repetitions
    a_blob_under_a_wrong_hash_is_refused
    a_record_that_uses_an_unknown_blob_is_refused
    a_refused_step_takes_all_steps_of_its_append_along
    notes_are_overwritten_and_forgotten
    several_notes_of_a_conversation_are_read_in_the_order_asked_for
    notes_of_one_name_are_listed_by_conversation
    conversations_tell_their_count_and_times
    conversations_are_found_by_the_kinds_of_their_records
    a_purge_removes_records_and_notes_of_the_named_only
    a_purge_keeps_blobs_that_others_use
    a_purge_removes_blobs_that_nothing_uses
    numbers_are_not_given_again_after_a_purge
    a_purged_conversation_can_begin_again
    purging_the_unknown_changes_nothing
    a_sound_store_has_no_findings
    size_counts_records_and_blobs
    appends_from_many_threads_each_get_their_own_numbers
}

fn a_new_store_is_empty(store: &dyn Store) {
    assert_eq!(store.last_seq().unwrap(), 0);
    assert_eq!(store.conversations().unwrap(), []);
    assert_eq!(store.records("any", 0).unwrap().records, []);
    assert_eq!(store.log(0, 10).unwrap().records, []);
    assert_eq!(store.blob(Hash::of(b"any")).unwrap(), None);
    assert_eq!(store.note("any", "any").unwrap(), None);
    assert_eq!(store.notes("any").unwrap(), []);
    assert_eq!(store.append(vec![]).unwrap(), []);
}

fn records_come_back_as_they_went_in_and_in_order(store: &dyn Store) {
    let first = step("one", "a body", &[b"a blob", b"another"]);
    let mut second = step("one", "x".repeat(5000), &[]);
    second.records[0].at = 7;
    second.records[0].kind = "answer".to_owned();
    second.records[0].version = 3;
    store.append(vec![first, second]).unwrap();
    let found = store.records("one", 0).unwrap();
    assert_eq!(found.skipped, []);
    assert_eq!(
        found.records,
        [
            Record {
                seq: 1,
                conversation: "one".to_owned(),
                at: 1_700_000_000_000,
                kind: "request".to_owned(),
                version: 1,
                uses: vec![Hash::of(b"a blob"), Hash::of(b"another")],
                body: b"a body".to_vec(),
            },
            Record {
                seq: 2,
                conversation: "one".to_owned(),
                at: 7,
                kind: "answer".to_owned(),
                version: 3,
                uses: vec![],
                body: "x".repeat(5000).into_bytes(),
            },
        ]
    );
}

fn numbers(records: &[Record]) -> Vec<u64> {
    records.iter().map(|record| record.seq).collect()
}

fn append_bodies(store: &dyn Store, bodies: &[(&str, &str)]) {
    for (conversation, body) in bodies {
        store.append(vec![step(conversation, body, &[])]).unwrap();
    }
}

fn records_of_one_conversation_come_without_those_of_others(store: &dyn Store) {
    append_bodies(store, &[("a", "1"), ("b", "2"), ("a", "3"), ("", "4")]);
    assert_eq!(numbers(&store.records("a", 0).unwrap().records), [1, 3]);
    assert_eq!(numbers(&store.records("b", 0).unwrap().records), [2]);
    assert_eq!(numbers(&store.records("", 0).unwrap().records), [4]);
    assert_eq!(numbers(&store.records("A", 0).unwrap().records), [0_u64; 0]);
}

fn records_can_be_read_from_a_number_on(store: &dyn Store) {
    append_bodies(store, &[("a", "1"), ("b", "2"), ("a", "3")]);
    assert_eq!(numbers(&store.records("a", 1).unwrap().records), [3]);
    assert_eq!(numbers(&store.records("a", 3).unwrap().records), [0_u64; 0]);
    assert_eq!(numbers(&store.records("a", u64::MAX).unwrap().records), [0_u64; 0]);
}

fn the_whole_log_can_be_read_in_portions(store: &dyn Store) {
    append_bodies(store, &[("a", "1"), ("b", "2"), ("a", "3"), ("c", "4")]);
    assert_eq!(numbers(&store.log(0, 3).unwrap().records), [1, 2, 3]);
    assert_eq!(numbers(&store.log(3, 3).unwrap().records), [4]);
    assert_eq!(numbers(&store.log(0, 0).unwrap().records), [0_u64; 0]);
    let names: Vec<_> = store.log(0, 9).unwrap().records;
    let names: Vec<_> = names.iter().map(|record| &*record.conversation).collect();
    assert_eq!(names, ["a", "b", "a", "c"]);
}

fn an_append_tells_the_numbers_of_each_step(store: &dyn Store) {
    let mut two = step("a", "1", &[]);
    two.records.push(record("b", "2"));
    let without = Step { blobs: vec![blob("x")], ..Step::default() };
    let steps = vec![without.clone(), two, without, step("a", "3", &[])];
    let stored = [vec![], vec![1, 2], vec![], vec![3]].map(|numbers| AppendOutcome::Stored { numbers });
    assert_eq!(store.append(steps).unwrap(), stored);
    assert_eq!(store.last_seq().unwrap(), 3);
}

fn a_version_from_the_future_is_returned_as_it_is(store: &dyn Store) {
    let mut future = step("a", "not known yet", &[]);
    future.records[0].version = u16::MAX;
    future.records[0].kind = "not-known-yet".to_owned();
    store.append(vec![future]).unwrap();
    let found = store.records("a", 0).unwrap();
    assert_eq!(found.skipped, []);
    assert_eq!(found.records[0].version, u16::MAX);
    assert_eq!(found.records[0].kind, "not-known-yet");
}

fn odd_values_survive(store: &dyn Store) {
    let name = "naïve 🦀 \0 name";
    let mut odd = step(name, [0, 255, 0, 128], &[]);
    odd.records[0].at = u64::MAX;
    odd.records[0].kind = String::new();
    odd.notes = vec![note(name, "", "")];
    store.append(vec![odd]).unwrap();
    let found = store.records(name, 0).unwrap().records;
    assert_eq!(found[0].at, u64::MAX);
    assert_eq!(found[0].kind, "");
    assert_eq!(found[0].body, [0, 255, 0, 128]);
    assert_eq!(store.note(name, "").unwrap(), Some(vec![]));
    assert_eq!(store.conversations().unwrap()[0].last_at, u64::MAX);
}

fn blobs_come_back_whatever_their_size(store: &dyn Store) {
    let mut noise = crate::common::Noise::new(1);
    // Around the borders of pieces, pages and whole-body storage.
    for length in [0, 1, 63, 64, 499, 500, 501, 1000, 16_000, 16_384, 262_143, 262_144, 400_000, 3_000_000] {
        for bytes in [noise.bytes(length), vec![b'a'; length]] {
            let (hash, bytes) = blob(bytes);
            let stored = Step { blobs: vec![(hash, bytes.clone())], ..Step::default() };
            store.append(vec![stored]).unwrap();
            assert!(store.blob(hash).unwrap() == Some(bytes), "{length}");
        }
    }
}

fn blobs_are_returned_in_the_order_asked_for(store: &dyn Store) {
    store.append(vec![step("a", "", &[b"1", b"2"])]).unwrap();
    let ask = ["2", "gone", "1", "2"].map(|text| Hash::of(text.as_bytes()));
    let present = |text: &str| Blob::Present(text.as_bytes().to_vec());
    assert_eq!(store.blobs(&ask).unwrap(), [present("2"), Blob::Missing, present("1"), present("2")]);
}

fn a_blob_is_kept_once(store: &dyn Store) {
    let twice = step("a", "", &[b"same", b"same"]);
    store.append(vec![twice.clone(), twice.clone()]).unwrap();
    store.append(vec![twice]).unwrap();
    assert_eq!(store.size().unwrap().blobs, 1);
}

fn a_record_may_use_a_blob_of_an_earlier_step(store: &dyn Store) {
    store.append(vec![step("a", "", &[b"early"])]).unwrap();
    let mut later = record("b", "");
    later.uses = vec![Hash::of(b"early")];
    let later = Step { records: vec![later], ..Step::default() };
    store.append(vec![later]).unwrap();
    let found = store.records("b", 0).unwrap().records;
    assert_eq!(found[0].uses, [Hash::of(b"early")]);
}

fn uses_keep_their_order_and_their_repetitions(store: &dyn Store) {
    let mut mixed = step("a", "", &[b"1", b"2", b"3", b"4"]);
    let order = ["3", "4", "1", "1", "2", "3"].map(|text| Hash::of(text.as_bytes()));
    mixed.records[0].uses = order.to_vec();
    store.append(vec![mixed]).unwrap();
    assert_eq!(store.records("a", 0).unwrap().records[0].uses, order);
}

fn a_blob_under_a_wrong_hash_is_refused(store: &dyn Store) {
    let wrong = Step { blobs: vec![(Hash::of(b"this"), b"that".to_vec())], ..Step::default() };
    let error = store.append(vec![wrong]).unwrap_err();
    assert!(matches!(error, StoreError::WrongHash { .. }), "{error}");
    assert_eq!(store.blob(Hash::of(b"this")).unwrap(), None);
    assert_eq!(store.blob(Hash::of(b"that")).unwrap(), None);
}

fn a_record_that_uses_an_unknown_blob_is_refused(store: &dyn Store) {
    let mut dangling = step("a", "", &[]);
    dangling.records[0].uses = vec![Hash::of(b"nowhere")];
    let error = store.append(vec![dangling]).unwrap_err();
    assert!(matches!(error, StoreError::UnknownBlob(_)), "{error}");
    assert_eq!(store.last_seq().unwrap(), 0);
}

fn a_refused_step_takes_all_steps_of_its_append_along(store: &dyn Store) {
    store.append(vec![step("old", "1", &[b"old"])]).unwrap();
    let mut good = step("new", "2", &[b"new"]);
    good.notes = vec![note("new", "head", "2")];
    let mut bad = step("new", "3", &[]);
    bad.records[0].uses = vec![Hash::of(b"nowhere")];
    store.append(vec![good.clone(), bad]).unwrap_err();
    assert_eq!(store.last_seq().unwrap(), 1);
    assert_eq!(store.records("new", 0).unwrap().records, []);
    assert_eq!(store.blob(Hash::of(b"new")).unwrap(), None);
    assert_eq!(store.note("new", "head").unwrap(), None);
    assert_eq!(append(store, vec![good]), [2]);
    assert_eq!(numbers(&store.records("new", 0).unwrap().records), [2]);
    assert_eq!(store.check().unwrap().findings, []);
}

fn notes_are_overwritten_and_forgotten(store: &dyn Store) {
    let keep = |notes| {
        let step = Step { notes, ..Step::default() };
        store.append(vec![step]).unwrap();
    };
    let forget = |name: &str| Note { conversation: "a".to_owned(), name: name.to_owned(), body: None };
    keep(vec![note("a", "head", "1"), note("a", "tail", "x")]);
    keep(vec![note("a", "head", "2"), note("a", "head", "longer")]);
    assert_eq!(store.note("a", "head").unwrap().unwrap(), b"longer");
    keep(vec![forget("head"), forget("never-there")]);
    assert_eq!(store.note("a", "head").unwrap(), None);
    assert_eq!(store.note("a", "tail").unwrap().unwrap(), b"x");
}

fn several_notes_of_a_conversation_are_read_in_the_order_asked_for(store: &dyn Store) {
    let notes = vec![note("a", "head", "1"), note("a", "nul\0", "2"), note("b", "tail", "not this")];
    store.append(vec![Step { notes, ..Step::default() }]).unwrap();
    let read = store.notes_of("a", &["nul\0", "tail", "head", "nul\0"]).unwrap();
    assert_eq!(read, [Some(b"2".to_vec()), None, Some(b"1".to_vec()), Some(b"2".to_vec())]);
    assert_eq!(store.notes_of("a", &[]).unwrap(), []);
    assert_eq!(store.notes_of("nobody", &["head"]).unwrap(), [None]);
}

fn notes_of_one_name_are_listed_by_conversation(store: &dyn Store) {
    let step = Step {
        notes: vec![note("z", "head", "last"), note("a", "head", "first"), note("m", "other", "not this")],
        ..Step::default()
    };
    store.append(vec![step]).unwrap();
    let listed = |conversation: &str, body: &str| (conversation.to_owned(), body.into());
    assert_eq!(store.notes("head").unwrap(), [listed("a", "first"), listed("z", "last")]);
    let among = |ids: &[&str]| store.notes_among("head", ids).unwrap();
    assert_eq!(among(&["z", "nobody", "m", "a", "z"]), [listed("a", "first"), listed("z", "last")]);
    assert_eq!((among(&["z"]), among(&[])), (vec![listed("z", "last")], vec![]));
    assert_eq!(store.note_names().unwrap(), ["head", "other"]);
}

fn conversations_tell_their_count_and_times(store: &dyn Store) {
    for (name, at) in [("b", 5), ("a", 6), ("b", 9), ("b", 7)] {
        let mut timed = step(name, "", &[]);
        timed.records[0].at = at;
        timed.notes = vec![note("only-a-note", "x", "")];
        store.append(vec![timed]).unwrap();
    }
    let row = |id: &str, records, first_at, last_at, last_seq| ConversationRow {
        id: id.to_owned(),
        records,
        first_at,
        last_at,
        last_seq,
    };
    assert_eq!(store.conversations().unwrap(), [row("a", 1, 6, 6, 2), row("b", 3, 5, 7, 4)]);
}

fn conversations_are_found_by_the_kinds_of_their_records(store: &dyn Store) {
    let of_kind = |conversation: &str, kind: &str| {
        let mut step = step(conversation, "a body", &[]);
        step.records[0].kind = kind.to_owned();
        step
    };
    store
        .append(vec![of_kind("b", "commit"), of_kind("a", "wait"), of_kind("c", "other"), of_kind("b", "wait")])
        .unwrap();
    assert_eq!(store.conversations_with(&["commit", "wait"]).unwrap(), ["a", "b"]);
    assert_eq!(store.conversations_with(&["commit"]).unwrap(), ["b"]);
    assert!(store.conversations_with(&["none"]).unwrap().is_empty());
    assert!(store.conversations_with(&[]).unwrap().is_empty());
}

fn named(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn a_purge_removes_records_and_notes_of_the_named_only(store: &dyn Store) {
    for name in ["a", "b", "c"] {
        let mut full = step(name, "123", &[]);
        full.notes = vec![note(name, "head", "12345")];
        store.append(vec![full]).unwrap();
    }
    let purged = store.purge(&named(&["a", "c"])).unwrap();
    let expected = PurgeReport { records: 2, blobs: 0, bytes: 16 };
    assert_eq!(purged, expected);
    assert_eq!(store.records("a", 0).unwrap().records, []);
    assert_eq!(store.note("c", "head").unwrap(), None);
    assert_eq!(numbers(&store.log(0, 9).unwrap().records), [2]);
    assert_eq!(store.notes("head").unwrap().len(), 1);
    assert_eq!(store.conversations().unwrap().len(), 1);
}

fn a_purge_keeps_blobs_that_others_use(store: &dyn Store) {
    store.append(vec![step("a", "", &[b"only a", b"shared"]), step("b", "", &[b"shared", b"only b"])]).unwrap();
    assert_eq!(store.purge(&named(&["a"])).unwrap().blobs, 1);
    assert_eq!(store.blob(Hash::of(b"only a")).unwrap(), None);
    assert!(store.blob(Hash::of(b"shared")).unwrap().is_some());
    assert!(store.blob(Hash::of(b"only b")).unwrap().is_some());
    let found = store.records("b", 0).unwrap().records;
    assert_eq!(found[0].uses, [Hash::of(b"shared"), Hash::of(b"only b")]);
}

fn a_purge_removes_blobs_that_nothing_uses(store: &dyn Store) {
    let loose = Step { blobs: vec![blob("loose".repeat(100))], ..Step::default() };
    store.append(vec![loose]).unwrap();
    let purged = store.purge(&[]).unwrap();
    assert_eq!((purged.blobs, purged.bytes), (1, 500));
    assert_eq!(store.size().unwrap().blobs, 0);
}

fn numbers_are_not_given_again_after_a_purge(store: &dyn Store) {
    append_bodies(store, &[("a", "1"), ("a", "2")]);
    store.purge(&named(&["a"])).unwrap();
    assert_eq!(store.last_seq().unwrap(), 2);
    assert_eq!(append(store, vec![step("a", "3", &[])]), [3]);
    store.purge(&named(&["a"])).unwrap();
    store.purge(&named(&["a"])).unwrap();
    assert_eq!(store.last_seq().unwrap(), 3);
}

fn a_purged_conversation_can_begin_again(store: &dyn Store) {
    let again = step("a", "", &[b"again"]);
    store.append(vec![again.clone()]).unwrap();
    store.purge(&named(&["a"])).unwrap();
    store.append(vec![again]).unwrap();
    assert_eq!(store.blob(Hash::of(b"again")).unwrap().unwrap(), b"again");
    assert_eq!(numbers(&store.records("a", 0).unwrap().records), [2]);
    assert_eq!(store.conversations().unwrap().len(), 1);
}

fn purging_the_unknown_changes_nothing(store: &dyn Store) {
    store.append(vec![step("a", "1", &[b"x"])]).unwrap();
    let purged = store.purge(&named(&["b", ""])).unwrap();
    assert_eq!(purged, PurgeReport::default());
    assert_eq!(store.log(0, 9).unwrap().records.len(), 1);
}

fn a_sound_store_has_no_findings(store: &dyn Store) {
    let mut full = step("a", "1", &[b"x", b"y"]);
    full.notes = vec![note("a", "head", "1"), note("b", "head", "2")];
    store.append(vec![full]).unwrap();
    let health = store.check().unwrap();
    assert_eq!(health.findings, []);
    assert!(health.is_sound());
    let counts = health.counts;
    assert_eq!((counts.records, counts.blobs, counts.notes), (1, 2, 2));
    assert_eq!(counts.conversations, 1);
}

fn size_counts_records_and_blobs(store: &dyn Store) {
    let before = store.size().unwrap();
    assert_eq!((before.records, before.blobs), (0, 0));
    let large = crate::common::Noise::new(2).bytes(100_000);
    store.append(vec![step("a", "1", &[&large, b"y"])]).unwrap();
    let after = store.size().unwrap();
    assert_eq!((after.records, after.blobs), (1, 2));
    assert!(after.bytes() >= before.bytes() + 100_000);
}

fn appends_from_many_threads_each_get_their_own_numbers(store: &dyn Store) {
    let mut given: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                scope.spawn(move || {
                    let name = format!("thread {thread}");
                    let append = |turn: u64| {
                        let bytes = turn.to_le_bytes();
                        let numbers = append(store, vec![step(&name, bytes, &[&bytes])]);
                        // What was appended is seen at once.
                        assert_eq!(store.records(&name, numbers[0] - 1).unwrap().records.len(), 1);
                        numbers
                    };
                    (0..20).flat_map(append).collect::<Vec<u64>>()
                })
            })
            .collect();
        let given = threads.into_iter().map(|thread| thread.join().unwrap());
        given.flatten().collect()
    });
    given.sort_unstable();
    assert_eq!(given, (1..=80).collect::<Vec<u64>>());
}

#[test]
fn a_store_can_be_handed_around_as_a_trait_object() {
    fn sendable<T: Send + Sync + ?Sized>() {}
    sendable::<dyn Store>();
    sendable::<dyn Reader>();
    sendable::<SqliteStore>();
}
