//! A damaged or future record is skipped and counted; the conversation opens all the same, and its
//! next request makes it whole again, for good.

use crate::support::{House, LONG};
use ctx_core::ErrorCode;
use ctx_engine::Conversation;
use ctx_store::{NewRecord, Snapshot, SqliteStore, Step, Store};
use std::path::Path;
use std::sync::Arc;
use testkit::Session;

fn house(folder: &Path) -> House {
    House::on(Arc::new(SqliteStore::open(folder).expect("a store")))
}

/// Closes the store's file.
fn close(house: House) {
    let store = house.close();
    while Arc::strong_count(&store) > 1 {
        std::thread::yield_now(); // the writer has yet to notice that the service is gone
    }
}

/// A conversation of four turns with a branch that was left, stored; and the session as it is.
fn stored(folder: &Path) -> (String, Session) {
    let house = house(folder);
    let mut session = Session::new(1).lean();
    session.user("first");
    house.send(&session);
    let mut left = session.clone();
    left.subagent();
    left.assistant("another answer").user("left behind");
    house.send(&left);
    let mut id = String::new();
    for question in ["second", "third", "fourth"] {
        session.assistant_tools(&[("Read", serde_json::json!({"file_path": "/a"}))]).results(&["fn main() {}"]);
        session.assistant("yes").user(question);
        let ticket = house.send(&session);
        house.reply(&ticket, "the reply");
        id = ticket.conversation;
    }
    assert_eq!(house.titles(&id), ["first", "second", "third", "fourth"]);
    close(house);
    (id, session)
}

fn tamper(folder: &Path, sql: &str) -> usize {
    let connection = rusqlite::Connection::open(folder.join("ctx.db")).expect("a database");
    connection.execute(sql, []).expect("valid SQL")
}

/// Whatever was done to the store: the conversation opens, the next request heals it, it stays healed.
fn heals(folder: &Path, id: &str, mut session: Session, what: &str) {
    let before = house(folder);
    assert_eq!(before.ids(), [id], "{what}: still listed");
    before.service.frames(id, true, None).unwrap_or_else(|refusal| panic!("{what}: {refusal}"));
    let timeline = before.service.timeline(id, usize::MAX).expect("a timeline");
    let composed = before.service.compose(id, None);
    assert!(composed.is_ok() || composed.is_err_and(|refusal| refusal.code == ErrorCode::Incomplete), "{what}");
    if what.starts_with("record") {
        assert!(timeline.skipped > 0, "{what}: skipped ones are counted");
    }

    session.assistant("the reply").user("fifth");
    let ticket = before.send(&session);
    assert_eq!(ticket.conversation, id, "{what}");
    let check = |house: &House, session: &Session, titles: &[&str]| {
        assert_eq!(house.titles(id), titles, "{what}");
        assert!(house.compose(id) == session.body(), "{what}: not the exact bytes");
    };
    let titles = ["first", "second", "third", "fourth", "fifth"];
    check(&before, &session, &titles);
    close(before);

    let after = house(folder);
    check(&after, &session, &titles);
    assert!(after.judge(&session).is("retry", [session.messages() as u64, 0, 0]), "{what}: {:?}", after.last(id));
    let known = session.messages() as u64;
    session.assistant("yes").user("sixth");
    assert!(after.judge(&session).is("next", [known, 2, 0]), "{what}: {:?}", after.last(id));
    check(&after, &session, &[&titles[..], &["sixth"]].concat());
    let listed = after.service.conversations().conversations.remove(0);
    assert_eq!(listed.session.as_deref(), Some(session.session_id()), "{what}");
    close(after);
    check(&house(folder), &session, &[&titles[..], &["sixth"]].concat());
}

#[test]
fn any_record_may_be_damaged() {
    let records = {
        let folder = tempfile::tempdir().expect("a folder");
        stored(folder.path());
        house(folder.path()).stored().1
    };
    assert_eq!(records, 9, "opened, five turns, three answers");
    for seq in 1..=records {
        for change in ["body = x'00'", "checksum = checksum + 1", "uses = x'ff'"] {
            let folder = tempfile::tempdir().expect("a folder");
            let (id, session) = stored(folder.path());
            assert_eq!(tamper(folder.path(), &format!("UPDATE records SET {change} WHERE seq = {seq}")), 1);
            heals(folder.path(), &id, session, &format!("record {seq}, {change}"));
        }
    }
}

#[test]
fn all_records_may_be_damaged() {
    let folder = tempfile::tempdir().expect("a folder");
    let (id, session) = stored(folder.path());
    tamper(folder.path(), "UPDATE records SET body = x'00'");
    heals(folder.path(), &id, session, "record: all of them");
}

#[test]
fn any_blob_may_be_damaged_or_gone() {
    let blobs = {
        let folder = tempfile::tempdir().expect("a folder");
        stored(folder.path());
        house(folder.path()).stored().0
    };
    assert!(blobs > 15);
    for (blob, has_snapshot) in (1..=blobs).flat_map(|blob| [(blob, false), (blob, true)]) {
        let folder = tempfile::tempdir().expect("a folder");
        let (id, session) = stored(folder.path());
        if has_snapshot {
            keep_snapshot(folder.path(), &id);
        }
        let sql = match blob % 2 {
            0 => format!("UPDATE pieces SET body = x'00' WHERE id = (SELECT first FROM blobs WHERE id = {blob})"),
            _ => format!("DELETE FROM blobs WHERE id = {blob}"),
        };
        assert_eq!(tamper(folder.path(), &sql), 1);
        heals(folder.path(), &id, session, &format!("blob {blob}, snapshot: {has_snapshot}"));
    }
}

fn keep_snapshot(folder: &Path, id: &str) {
    let store = SqliteStore::open(folder).expect("a store");
    let snapshot = Conversation::snapshot(id, &store).expect("read").expect("a snapshot");
    let notes = vec![snapshot.note(id).expect("a note")];
    store.append(vec![Step { notes, ..Step::default() }]).expect("stored");
}

#[test]
fn a_snapshot_may_be_damaged_or_of_another_program() {
    for body in ["x'00'", "substr(body, 1, length(body) - 1)", "substr(body, 1, 24)"] {
        let folder = tempfile::tempdir().expect("a folder");
        let (id, session) = stored(folder.path());
        keep_snapshot(folder.path(), &id);
        assert_eq!(tamper(folder.path(), &format!("UPDATE notes SET body = {body} WHERE name = 'snapshot'")), 1);
        heals(folder.path(), &id, session, body);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (id, session) = stored(folder.path());
    let store = SqliteStore::open(folder.path()).expect("a store");
    let other = Snapshot { version: 3, body: br#"{"format":0,"program":"0","facts":[]}"#.to_vec() };
    let notes = vec![other.note(&id).expect("a note")];
    store.append(vec![Step { notes, ..Step::default() }]).expect("stored");
    drop(store);
    heals(folder.path(), &id, session, "of another program");
}

#[test]
fn notes_may_be_damaged_or_gone() {
    for sql in ["UPDATE notes SET body = x'00'", "DELETE FROM notes"] {
        let folder = tempfile::tempdir().expect("a folder");
        let (id, session) = stored(folder.path());
        assert_eq!(tamper(folder.path(), sql), 3, "the card, the tools and the pending reply");
        heals(folder.path(), &id, session, sql);
    }
}

#[test]
fn a_record_of_a_later_version_or_of_an_unknown_kind_is_skipped_and_counted() {
    for (kind, version) in [("arrived", 2), ("answered", 700), ("opened", 2), ("dreamt", 1)] {
        let folder = tempfile::tempdir().expect("a folder");
        let (id, session) = stored(folder.path());
        let store = SqliteStore::open(folder.path()).expect("a store");
        let record = NewRecord {
            conversation: id.clone(),
            at: 5,
            kind: kind.into(),
            version,
            uses: Vec::new(),
            body: b"{\"turn\":{\"something\":\"new\"}}".to_vec(),
        };
        store.append(vec![Step { records: vec![record], ..Step::default() }]).expect("stored");
        drop(store);
        heals(folder.path(), &id, session, &format!("record of kind {kind}, version {version}"));
    }
}

#[test]
fn a_nameless_conversation_whose_card_is_lost_is_found_again_by_its_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = |texts: &[&str]| {
        let role = |at: usize| if at.is_multiple_of(2) { "user" } else { "assistant" };
        let messages: Vec<_> =
            texts.iter().enumerate().map(|(at, text)| serde_json::json!({"role": role(at), "content": text})).collect();
        serde_json::json!({"model": "m", "messages": messages})
    };
    let house = house(folder.path());
    let headers = crate::support::nameless();
    let id = house.send_value(&headers, &body(&["one", "two", "three"])).conversation;
    close(house);
    tamper(folder.path(), "DELETE FROM notes");
    let house = self::house(folder.path());
    assert_eq!(house.titles(&id), ["one", "three"]);
    assert_eq!(house.send_value(&headers, &body(&["one", "two", "three", "four", "five"])).conversation, id);
    house.service.settle(LONG);
    assert!(house.last(&id).is("next", [3, 2, 0]));
}
