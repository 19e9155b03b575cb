//! Whatever is done, the store on disk behaves like the store in memory.

mod common;

use common::{blob, note, record};
use ctx_store::{Hash, MemoryStore, NewRecord, Note, SqliteStore, Step, Store};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Action {
    Append(Vec<Step>),
    Purge(Vec<String>),
    Reopen,
}

fn conversation() -> impl Strategy<Value = String> {
    "[a-d]"
}

/// Few different contents, so that blobs are shared, missing and purged often; some larger than a piece.
fn content() -> impl Strategy<Value = Vec<u8>> {
    (0..12_u8).prop_map(|number| vec![number; usize::from(number) * 150])
}

/// A record with the contents that it uses.
fn any_record() -> impl Strategy<Value = (NewRecord, Vec<Vec<u8>>)> {
    let uses = prop::collection::vec(content(), 0..4);
    (conversation(), uses, content(), 0..9_u64).prop_map(|(conversation, uses, body, at)| {
        let mut record = record(&conversation, body);
        record.uses = uses.iter().map(|bytes| Hash::of(bytes)).collect();
        record.at = at;
        (record, uses)
    })
}

fn any_note() -> impl Strategy<Value = Note> {
    (conversation(), "[xy]", prop::option::of("[a-z]{0,9}")).prop_map(|(conversation, name, body)| {
        let mut note = note(&conversation, &name, "");
        note.body = body.map(String::into_bytes);
        note
    })
}

/// Mostly a step brings the blobs it uses; now and then it relies on earlier ones and may be refused.
fn any_step() -> impl Strategy<Value = Step> {
    (
        prop::collection::vec(content(), 0..2),
        prop::collection::vec(any_record(), 0..4),
        prop::collection::vec(any_note(), 0..3),
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.1),
    )
        .prop_map(|(mut contents, records, notes, durable, relies)| {
            let (records, used): (Vec<_>, Vec<_>) = records.into_iter().unzip();
            if !relies {
                contents.extend(used.into_iter().flatten());
            }
            Step { blobs: contents.iter().map(blob).collect(), records, notes, durable }
        })
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        8 => prop::collection::vec(any_step(), 0..4).prop_map(Action::Append),
        3 => prop::collection::vec(conversation(), 0..3).prop_map(Action::Purge),
        1 => Just(Action::Reopen),
    ]
}

fn assert_same(memory: &dyn Store, sqlite: &dyn Store) -> Result<(), TestCaseError> {
    prop_assert_eq!(memory.log(0, 999).unwrap(), sqlite.log(0, 999).unwrap());
    prop_assert_eq!(memory.last_seq().unwrap(), sqlite.last_seq().unwrap());
    let conversations = memory.conversations().unwrap();
    prop_assert_eq!(&conversations, &sqlite.conversations().unwrap());
    for row in conversations {
        let expected = memory.records(&row.id, 3).unwrap();
        prop_assert_eq!(expected, sqlite.records(&row.id, 3).unwrap());
    }
    let hashes: Vec<Hash> = (0..12_u8).map(|number| Hash::of(&vec![number; usize::from(number) * 150])).collect();
    prop_assert_eq!(memory.blobs(&hashes).unwrap(), sqlite.blobs(&hashes).unwrap());
    for name in ["x", "y"] {
        prop_assert_eq!(memory.notes(name).unwrap(), sqlite.notes(name).unwrap());
        let expected = memory.note("a", name).unwrap();
        prop_assert_eq!(expected, sqlite.note("a", name).unwrap());
    }
    let (expected, found) = (memory.check().unwrap(), sqlite.check().unwrap());
    prop_assert_eq!(expected.counts, found.counts);
    prop_assert!(found.is_sound(), "{:?}", found.findings);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn both_stores_answer_alike_after_any_actions(
        actions in prop::collection::vec(action(), 1..20)
    ) {
        let folder = tempfile::tempdir().unwrap();
        let memory = MemoryStore::new();
        let mut sqlite = SqliteStore::open(folder.path()).unwrap();
        for action in actions {
            match action {
                Action::Append(steps) => {
                    let expected = memory.append(steps.clone()).map_err(|error| error.to_string());
                    let given = sqlite.append(steps).map_err(|error| error.to_string());
                    prop_assert_eq!(expected, given);
                }
                Action::Purge(names) => {
                    prop_assert_eq!(memory.purge(&names).unwrap(), sqlite.purge(&names).unwrap());
                }
                Action::Reopen => {
                    drop(sqlite);
                    sqlite = SqliteStore::open(folder.path()).unwrap();
                }
            }
            assert_same(&memory, &sqlite)?;
        }
    }
}
