//! Whatever is done, the stores on disk and in a database behave like the store in memory.

#[path = "stores/common/mod.rs"]
#[allow(dead_code, unused_macros, reason = "other tests use the rest of it")]
mod common;

use std::sync::OnceLock;

use common::{blob, note, record};
use ctx_store::{
    Cursor, Expectation, Hash, MemoryStore, NewRecord, Note, PostgresStore, Records, SqliteStore, Step, Store,
};
use proptest::prelude::*;
use testkit::PostgresServer;

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
        prop::option::weighted(0.3, (conversation(), 0..30_u64)),
    )
        .prop_map(|(mut contents, records, notes, durable, relies, expect)| {
            let (records, used): (Vec<_>, Vec<_>) = records.into_iter().unzip();
            if !relies {
                contents.extend(used.into_iter().flatten());
            }
            let expect = expect.map(|(conversation, version)| Expectation { conversation, version });
            Step { blobs: contents.iter().map(blob).collect(), records, notes, durable, expect, is_announced: false }
        })
}

/// Most expectations are made true, as far as the state before the append tells.
fn with_luck(mut steps: Vec<Step>, store: &dyn Store) -> Vec<Step> {
    for expect in steps.iter_mut().filter_map(|step| step.expect.as_mut()).filter(|expect| expect.version > 5) {
        let records = store.records(&expect.conversation, 0).unwrap().records;
        expect.version = records.last().map_or(0, |record| record.seq);
    }
    steps
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        8 => prop::collection::vec(any_step(), 0..4).prop_map(Action::Append),
        3 => prop::collection::vec(conversation(), 0..3).prop_map(Action::Purge),
        1 => Just(Action::Reopen),
    ]
}

fn feed(store: &dyn Store) -> Records {
    store.feed(&Cursor::default(), 999).unwrap().found
}

fn assert_same(memory: &dyn Store, other: &dyn Store) -> Result<(), TestCaseError> {
    prop_assert_eq!(memory.log(0, 999).unwrap(), other.log(0, 999).unwrap());
    prop_assert_eq!(feed(memory), feed(other));
    prop_assert_eq!(memory.last_seq().unwrap(), other.last_seq().unwrap());
    let conversations = memory.conversations().unwrap();
    prop_assert_eq!(&conversations, &other.conversations().unwrap());
    for row in conversations {
        let expected = memory.records(&row.id, 3).unwrap();
        prop_assert_eq!(expected, other.records(&row.id, 3).unwrap());
    }
    let hashes: Vec<Hash> = (0..12_u8).map(|number| Hash::of(&vec![number; usize::from(number) * 150])).collect();
    prop_assert_eq!(memory.blobs(&hashes).unwrap(), other.blobs(&hashes).unwrap());
    for name in ["x", "y"] {
        prop_assert_eq!(memory.notes(name).unwrap(), other.notes(name).unwrap());
        let expected = memory.note("a", name).unwrap();
        prop_assert_eq!(expected, other.note("a", name).unwrap());
    }
    let (expected, found) = (memory.check().unwrap(), other.check().unwrap());
    prop_assert_eq!(expected.counts, found.counts);
    prop_assert!(found.is_sound(), "{:?}", found.findings);
    Ok(())
}

/// A store in the database of this program, without content; `None` if there is no server.
fn empty_database() -> Option<PostgresStore> {
    static STORE: OnceLock<Option<(String, PostgresStore)>> = OnceLock::new();
    let server = PostgresServer::shared()?;
    let store = STORE.get_or_init(|| {
        let name = server.new_database();
        let store = PostgresStore::open(&server.url(&name).parse().unwrap()).unwrap();
        Some((name, store))
    });
    let (name, store) = store.as_ref()?;
    let empty =
        "TRUNCATE ctx.conversations, ctx.records, ctx.blobs, ctx.notes; ALTER SEQUENCE ctx.record_numbers RESTART";
    server.sql(name, empty).unwrap();
    Some(store.clone())
}

fn others<'a>(sqlite: &'a SqliteStore, postgres: Option<&'a PostgresStore>) -> Vec<&'a dyn Store> {
    let postgres = postgres.map(|store| store as &dyn Store);
    std::iter::once(sqlite as &dyn Store).chain(postgres).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn all_stores_answer_alike_after_any_actions(
        actions in prop::collection::vec(action(), 1..20)
    ) {
        let folder = tempfile::tempdir().unwrap();
        let memory = MemoryStore::new();
        let mut sqlite = SqliteStore::open(folder.path()).unwrap();
        let postgres = empty_database();
        for action in actions {
            match action {
                Action::Append(steps) => {
                    let steps = with_luck(steps, &memory);
                    let expected = memory.append(steps.clone()).map_err(|error| error.to_string());
                    for store in others(&sqlite, postgres.as_ref()) {
                        let given = store.append(steps.clone()).map_err(|error| error.to_string());
                        prop_assert_eq!(&expected, &given);
                    }
                }
                Action::Purge(names) => {
                    let expected = memory.purge(&names).unwrap();
                    for store in others(&sqlite, postgres.as_ref()) {
                        prop_assert_eq!(expected, store.purge(&names).unwrap());
                    }
                }
                Action::Reopen => {
                    drop(sqlite);
                    sqlite = SqliteStore::open(folder.path()).unwrap();
                }
            }
            for store in others(&sqlite, postgres.as_ref()) {
                assert_same(&memory, store)?;
            }
        }
    }
}
