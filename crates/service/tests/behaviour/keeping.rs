//! What is kept: each message once, all of a step together, little more than what is new.

use crate::support::growing::Growing;
use crate::support::stores::FailingStore;
use crate::support::{Headers, House, LONG, answers, with};
use ctx_store::{Record, SqliteStore, Store};
use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex};
use testkit::Session;

fn headers() -> Headers {
    let session = vec![("x-claude-code-session-id".to_owned(), "long".to_owned())];
    with(session, "x-claude-code-request-class", "main")
}

fn house(folder: &Path) -> House {
    House::on(Arc::new(SqliteStore::open(folder).expect("a store")))
}

/// Lets a conversation grow by one turn, answer included.
fn turn(house: &House, growing: &mut Growing, words: usize) -> String {
    growing.turn(words);
    let ticket = house.see(&headers(), &growing.body());
    house.answer(&ticket, answers::text("so it is", growing.body().len() as u64 / 4));
    ticket.conversation
}

/// The size of the store's closed files.
fn at_rest(folder: &Path, house: House) -> u64 {
    let store = house.close();
    while Arc::strong_count(&store) > 1 {
        std::thread::yield_now(); // the writer has yet to notice that the service is gone
    }
    drop(store);
    let files = std::fs::read_dir(folder).expect("a folder").flatten();
    files.map(|file| file.metadata().expect("a file").len()).sum()
}

#[test]
fn a_thousand_turns_store_each_message_once_and_little_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut growing = Growing::new(1);
    let mut id = String::new();
    let mut seen: Vec<(u64, u64)> = Vec::new(); // bytes of the body, bytes of the store
    for (from, to) in [(0, 50), (50, 100), (100, 950), (950, 1000)] {
        let house = house(folder.path());
        for _ in from..to {
            id = turn(&house, &mut growing, 250);
        }
        seen.push((growing.body().len() as u64, at_rest(folder.path(), house)));
    }
    let ratio =
        |before: usize, after: usize| (seen[after].1 - seen[before].1) as f64 / (seen[after].0 - seen[before].0) as f64;
    println!("bytes of body and store at 50, 100, 950, 1000 turns: {seen:?}");
    println!(
        "growth per new byte: {:.2} at 100 turns, {:.2} at 1,000, {:.2} between",
        ratio(0, 1),
        ratio(2, 3),
        ratio(1, 2)
    );
    assert!(ratio(0, 1) <= 1.2 && ratio(1, 2) <= 1.2 && ratio(2, 3) <= 1.2);

    let house = house(folder.path());
    assert_eq!(house.compose(&id), growing.body());
    // Each message, the envelope, and the two large values in it.
    assert_eq!(house.stored().0, growing.messages as u64 + 3);
}

#[test]
fn all_of_a_step_is_written_together() {
    let store = Arc::new(FailingStore::new());
    let house = House::on(store.clone());
    let mut session = Session::new(1).lean();
    session.user("first");
    let ticket = house.send(&session);
    house.reply(&ticket, "one");
    session.assistant("one").user("second");
    house.send(&session);
    house.service.settle(LONG);
    let steps = store.steps.lock().expect("no panic").clone();
    let shape = |step: &ctx_store::Step| {
        let kinds: Vec<&str> = step.records.iter().map(|record| record.kind.as_str()).collect();
        let notes: Vec<&str> = step.notes.iter().map(|note| note.name.as_str()).collect();
        (kinds.join(" "), notes.join(" "))
    };
    let shapes: Vec<_> = steps.iter().map(shape).collect();
    let pair = |records: &str, notes: &str| (records.to_owned(), notes.to_owned());
    assert_eq!(
        shapes,
        [pair("opened arrived", "card"), pair("answered", "pending card"), pair("arrived", "pending card")]
    );
    let mut known = HashSet::new();
    for step in &steps {
        known.extend(step.blobs.iter().map(|(hash, _)| *hash));
        let used = step.records.iter().flat_map(|record| &record.uses);
        assert!(used.into_iter().all(|hash| known.contains(hash)), "what a record uses comes with it or before it");
    }
}

#[test]
fn a_small_setting_that_changes_each_turn_does_not_store_the_tools_again() {
    let house = House::new();
    let mut session = Session::new(2);
    session.user("first");
    let mut sizes = Vec::new();
    for effort in ["low", "medium", "high", "medium"] {
        let mut body = session.body_value();
        body["output_config"]["effort"] = effort.into();
        house.send_value(&session.headers(), &body);
        house.service.settle(LONG);
        sizes.push(house.store.size().expect("a size").database_bytes);
    }
    assert!(sizes.windows(2).all(|pair| pair[1] - pair[0] < 3000), "{sizes:?}");
}

#[test]
fn listeners_hear_every_record_as_it_was_stored() {
    let house = House::new();
    let heard: Arc<Mutex<Vec<Record>>> = Arc::default();
    let sink = heard.clone();
    house.service.listen(move |record| {
        sink.lock().expect("no panic").push(record.clone());
        true
    });
    let only_one: Arc<Mutex<u32>> = Arc::default();
    let count = only_one.clone();
    house.service.listen(move |_| {
        *count.lock().expect("no panic") += 1;
        false
    });
    let mut session = Session::new(3).lean();
    for question in ["one", "two", "three"] {
        session.user(question);
        let ticket = house.send(&session);
        house.reply(&ticket, "yes");
        session.assistant("yes");
    }
    house.service.settle(LONG);
    assert_eq!(*heard.lock().expect("no panic"), house.store.log(0, usize::MAX).expect("a log").records);
    assert_eq!(*only_one.lock().expect("no panic"), 1, "who says that it is enough is left alone");
}

/// A client that is notified of a commit fetches the history at once, and only once.
#[test]
fn whoever_hears_of_a_commit_finds_it() {
    let house = House::new();
    let mut session = Session::new(3).lean();
    session.user("one");
    let ticket = house.send(&session);
    house.reply(&ticket, "yes");
    house.service.settle(LONG);
    let found: Arc<Mutex<Vec<usize>>> = Arc::default();
    let (sink, service, id) = (found.clone(), Arc::downgrade(&house.service), ticket.conversation.clone());
    house.service.listen(move |_| {
        let Some(service) = service.upgrade() else { return false };
        sink.lock().expect("no panic").push(service.history(&id, 9).expect("a history").commits.len());
        true
    });
    for title in ["a", "b", "c"] {
        let edit = serde_json::json!({"operations": [{"op": "retitle", "id": "t1", "title": title}], "author": "me"});
        house.service.apply(&ticket.conversation, serde_json::from_value(edit).expect("an edit")).expect("applied");
    }
    house.service.settle(LONG);
    assert_eq!(*found.lock().expect("no panic"), [1, 2, 3]);
}

#[test]
fn a_store_that_is_full_of_conversations_opens_without_replaying_them() {
    let store = Arc::new(FailingStore::new());
    let house = House::on(store.clone());
    let ids: Vec<String> = (0..50)
        .map(|seed| {
            let mut session = Session::new(seed).lean();
            session.user("hello");
            house.send(&session).conversation
        })
        .collect();
    house.service.settle(LONG);
    // A log that is read now waits for ever; listing needs none.
    store.close();
    let house = House::on(store.clone() as Arc<dyn Store>);
    assert_eq!(house.ids().len(), ids.len());
    store.open();
    assert_eq!(house.titles(&ids[7]), ["hello"]);
}
