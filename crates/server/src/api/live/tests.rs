use super::*;
use std::collections::BTreeSet;

use ctx_store::{MemoryStore, NewRecord, Step, Store};
use ctx_team::{Actor, Identity, Registry, Role, State};

fn known(epoch: Option<u64>, seq: u64) -> Option<Option<Id>> {
    Some(Some(Id { epoch, seq }))
}

#[test]
fn an_id_is_a_number_with_or_without_its_epoch() {
    assert_eq!(parse("17"), Some(Id { epoch: None, seq: 17 }));
    assert_eq!(parse("1f-17"), Some(Id { epoch: Some(31), seq: 17 }));
    for wrong in ["", "-", "1f-", "-17", "+1", "1f-+1", "x", "xy-1", "1-2-3", "99999999999999999999", "١"] {
        assert_eq!(parse(wrong), None, "{wrong}");
    }
}

#[test]
fn a_stream_goes_on_where_it_was_left_or_says_that_it_cannot() {
    assert_eq!(start(None, 7, 100), Start::After(100));
    assert_eq!(start(known(Some(7), 40), 7, 100), Start::After(40));
    assert_eq!(start(known(None, 40), 7, 100), Start::After(40));
    assert_eq!(start(known(None, 0), 7, 0), Start::After(0));
    assert_eq!(start(known(Some(6), 40), 7, 100), Start::Reset(Reason::Restarted));
    assert_eq!(start(known(None, 101), 7, 100), Start::Reset(Reason::UnknownId));
    assert_eq!(start(Some(None), 7, 100), Start::Reset(Reason::UnknownId));
    assert_eq!(start(known(None, 0), 7, MOST), Start::After(0));
    assert_eq!(start(known(None, 0), 7, MOST + 1), Start::Reset(Reason::TooFarBehind));
}

fn store_of(records: u64) -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::new());
    append(&*store, records);
    store
}

fn append(store: &dyn Store, records: u64) {
    let record = || NewRecord {
        conversation: "c".into(),
        at: 1,
        kind: "recovery".into(),
        version: 1,
        uses: Vec::new(),
        body: b"{}".to_vec(),
    };
    let steps = (0..records).map(|_| Step { records: vec![record()], ..Step::default() }).collect();
    store.append(steps).expect("records");
}

fn numbers(text: &str) -> Vec<u64> {
    text.lines().filter_map(|line| line.strip_prefix("id: 7-")?.parse().ok()).collect()
}

#[tokio::test]
async fn a_reader_that_does_not_read_holds_a_page_and_misses_nothing_later() {
    let store = store_of(5000);
    let service = Arc::new(Service::open(store.clone()).expect("a service"));
    let (told, newest) = watch::channel(0);
    let (send, mut receive) = mpsc::channel(1);
    let reader = Reader { _api: None, service, epoch: 7, brief: false, permit: None, keep_alive: KEEP_ALIVE };
    let teller = tokio::spawn(tell(reader, Position::Number(100), newest, None, send));
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(receive.len() <= 1 && !teller.is_finished());
    append(&*store, 1000);
    told.send(6000).expect("it listens");

    let mut read = Vec::new();
    while read.last() != Some(&6000) {
        let piece = receive.recv().await.expect("more");
        let some = numbers(std::str::from_utf8(&piece).expect("text"));
        assert!(some.len() <= PAGE);
        read.extend(some);
    }
    assert_eq!(read, (101..=6000).collect::<Vec<_>>());

    // New events are sent at once, and a disconnecting reader is noticed at once.
    append(&*store, 1);
    told.send(6001).expect("it listens");
    assert_eq!(numbers(std::str::from_utf8(&receive.recv().await.expect("more")).expect("text")), [6001]);
    drop(receive);
    teller.await.expect("the end");
    assert!(told.send(0).is_err(), "nobody listens any more");
}

#[tokio::test]
async fn an_idle_stream_ends_when_its_person_is_removed() {
    let registry = Arc::new(Registry::open(Arc::new(MemoryStore::new())).expect("a registry"));
    let actor = Actor::OPERATOR;
    let add = |state: &State| Ok((state.add_person(&actor, "anna", Role::Member, BTreeSet::new())?, ()));
    registry.change(&actor, add).expect("added");
    let identity = Identity::without_key(registry.state().person(1).expect("anna").clone());
    let permit = Some(Permit::of_request(&registry, &identity));
    let service = Arc::new(Service::open(store_of(0)).expect("a service"));
    let (_told, newest) = watch::channel(0);
    let (send, mut receive) = mpsc::channel(1);
    let reader = Reader { _api: None, service, epoch: 7, brief: false, permit, keep_alive: Duration::from_millis(10) };
    let teller = tokio::spawn(tell(reader, Position::Number(0), newest, None, send));
    assert_eq!(receive.recv().await.as_deref(), Some(&b": still here\n\n"[..]));
    registry.change(&actor, |state| Ok((state.remove_person(&actor, "anna")?, ()))).expect("removed");
    let ended = async { while receive.recv().await.is_some() {} };
    tokio::time::timeout(Duration::from_secs(10), ended).await.expect("the stream ends");
    teller.await.expect("the end");
}
