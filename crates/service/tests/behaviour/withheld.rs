//! An edited conversation is never sent unedited, whatever fails; all others pass.

use crate::support::leaving::{self, Left};
use crate::support::stores::FailingStore;
use crate::support::{Headers, House, LONG, nameless};
use ctx_api::edit::{EditRequest, When};
use ctx_service::Recorder;
use ctx_service::recorder::{Flaw, Withheld};
use ctx_store::{Note, SqliteStore, Step, Store};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use testkit::Session;

struct Stage {
    house: House,
    recorder: Recorder,
}

impl Stage {
    fn on(store: Arc<dyn Store>) -> Stage {
        let house = House::on(store);
        let recorder = Recorder::start(house.service.clone()).expect("a thread");
        Stage { house, recorder }
    }

    fn restart(self) -> Stage {
        self.recorder.settle(LONG);
        let store = self.house.close();
        Stage::on(store)
    }

    fn send(&self, headers: &Headers, body: &[u8]) -> Left {
        let left = leaving::send(&self.recorder, headers, body);
        self.recorder.settle(LONG);
        left
    }

    fn say(&self, session: &Session) -> Left {
        self.send(&session.headers(), &session.body())
    }

    /// Edits the first message of the newest conversation.
    fn edit(&self) {
        self.edit_message("t1#0", When::Now);
    }

    fn edit_message(&self, id: &str, when: When) {
        let operations = serde_json::from_value(json!([{"op": "edit", "id": id, "text": "EDITED"}]));
        let edit = EditRequest { operations: operations.expect("operations"), when, ..EditRequest::default() };
        let id = self.house.ids().remove(0);
        self.house.service.apply(&id, edit).expect("a commit");
    }
}

fn session(seed: u64, first: &str) -> Session {
    let mut session = Session::new(seed).lean();
    session.user(first).assistant("yes").user("second");
    session
}

/// One conversation that is edited and one that is not, both on the disk only.
fn stage() -> (Stage, Arc<FailingStore>, Session, Session) {
    let store = Arc::new(FailingStore::new());
    let stage = Stage::on(store.clone());
    let (plain, edited) = (session(2, "plain"), session(1, "secret"));
    assert_eq!(stage.say(&edited), Left::Streamed);
    stage.edit();
    assert!(matches!(stage.say(&plain), Left::AsItCame), "a new session may be a fork");
    (stage.restart(), store, edited, plain)
}

#[test]
fn when_the_store_cannot_be_read_only_an_edited_conversation_is_withheld() {
    let (stage, store, edited, plain) = stage();
    store.refuse_reads(true);
    assert_eq!(stage.say(&edited), Left::Withheld(Withheld::Store));
    assert_eq!(stage.say(&plain), Left::Streamed);
    store.refuse_reads(false);
    let Left::Composed(sent) = stage.say(&edited) else { panic!("it is composed again") };
    assert!(sent.contains("EDITED") && !sent.contains("secret"));
}

#[test]
fn a_new_session_is_withheld_only_if_it_may_be_a_fork_of_the_edited_one() {
    let (stage, store, edited, _) = stage();
    let mut fork = edited.clone().fork();
    fork.assistant("yes").user("third");
    store.refuse_reads(true);
    assert_eq!(stage.say(&fork), Left::Withheld(Withheld::Store));
    assert_eq!(stage.say(&session(3, "something else")), Left::AsItCame);
    store.refuse_reads(false);
    let Left::Composed(sent) = stage.say(&fork) else { panic!("the fork inherits the edit") };
    assert!(sent.contains("EDITED") && !sent.contains("secret"));
    let stage = stage.restart();
    let Left::Composed(sent) = stage.say(&fork) else { panic!("the fork inherits the edit") };
    assert!(sent.contains("EDITED") && !sent.contains("secret"));
}

#[test]
fn a_client_without_a_session_is_withheld_only_if_its_path_is_the_edited_one() {
    let store = Arc::new(FailingStore::new());
    let stage = Stage::on(store.clone());
    let body = |first: &str| {
        let said = [("user", first), ("assistant", "yes"), ("user", "second")];
        let messages: Vec<_> = said.iter().map(|(role, text)| json!({"role": role, "content": text})).collect();
        json!({"model": "m", "messages": messages}).to_string()
    };
    assert_eq!(stage.send(&nameless(), body("secret").as_bytes()), Left::Streamed);
    stage.edit();
    let stage = stage.restart();
    store.refuse_reads(true);
    assert_eq!(stage.send(&nameless(), body("secret").as_bytes()), Left::Withheld(Withheld::Store));
    assert_eq!(stage.send(&nameless(), body("other").as_bytes()), Left::AsItCame);
}

#[test]
fn what_cannot_be_read_does_not_leave_an_edited_conversation() {
    let (stage, _, edited, plain) = stage();
    let new = session(3, "new");
    let many = format!("{{\"messages\":[{}1]}}", "1,".repeat(100_000));
    let withheld = |flaw| Left::Withheld(Withheld::Unreadable(flaw));
    let broken = ["{\"messages\":[", "[]", "\u{feff}{\"messages\":[]}"].map(|body| (body, Flaw::Json));
    for (body, flaw) in broken.into_iter().chain([(many.as_str(), Flaw::Size)]) {
        assert_eq!(stage.send(&edited.headers(), body.as_bytes()), withheld(flaw));
        assert_eq!(stage.send(&plain.headers(), body.as_bytes()), Left::Streamed);
        assert_eq!(stage.send(&new.headers(), body.as_bytes()), Left::AsItCame, "a new session has no edits");
        assert_eq!(stage.send(&nameless(), body.as_bytes()), withheld(flaw), "it may be of any conversation");
    }
    let load = stage.recorder.load();
    assert_eq!((load.unreadable, load.refused), (16, 8));
    for nothing in ["", "{}"] {
        assert_eq!(stage.send(&edited.headers(), nothing.as_bytes()), Left::AsItCame, "nothing is in it");
    }
}

#[test]
fn a_panic_withholds_an_edited_conversation_and_no_other() {
    let (stage, store, edited, _) = stage();
    store.panic_once();
    assert_eq!(stage.say(&edited), Left::Withheld(Withheld::Defect));
    assert!(matches!(stage.say(&edited), Left::Composed(_)));
}

#[test]
fn a_write_that_fails_does_not_switch_an_edit_off() {
    let (stage, store, mut edited, _) = stage();
    for refuses in [true, false, true, true, false] {
        store.refuse_writes(refuses);
        edited.assistant("yes").user("more");
        let Left::Composed(sent) = stage.say(&edited) else { panic!("it is composed") };
        assert!(sent.contains("EDITED") && !sent.contains("secret"));
    }
}

/// Changes rows of the database behind the store's back, and says how many.
fn tamper(folder: &Path, sql: &str) -> usize {
    let connection = rusqlite::Connection::open(folder.join("ctx.db")).expect("a database");
    connection.execute(sql, []).expect("valid SQL")
}

#[test]
fn an_edit_counts_though_every_note_is_lost_or_damaged() {
    for sql in ["UPDATE notes SET body = x'00'", "DELETE FROM notes"] {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Arc::new(SqliteStore::open(folder.path()).expect("a store"));
        let stage = Stage::on(store.clone());
        let edited = session(1, "secret");
        stage.say(&edited);
        stage.edit();
        stage.recorder.settle(LONG);
        assert!(tamper(folder.path(), sql) > 1);
        for _ in 0..2 {
            let stage = Stage::on(store.clone());
            let Left::Composed(sent) = stage.say(&edited) else { panic!("{sql}: it is composed") };
            assert!(sent.contains("EDITED") && !sent.contains("secret"));
        }
    }
}

#[test]
fn a_mark_that_was_taken_back_is_believed_over_old_commits() {
    let store = Arc::new(FailingStore::new());
    let stage = Stage::on(store.clone());
    let undone = session(1, "secret");
    stage.say(&undone);
    stage.edit();
    let undo = serde_json::from_value(json!({"action": "undo", "author": "cli"})).expect("an undo");
    stage.house.service.go(&stage.house.ids().remove(0), undo).expect("undone");
    let stage = stage.restart();
    assert_eq!(stage.say(&undone), Left::Streamed, "nothing is edited, so nothing is held");
    let lost = Note { conversation: stage.house.ids().remove(0), name: "edited".into(), body: None };
    store.append(vec![Step { notes: vec![lost], ..Step::default() }]).expect("stored");
    let stage = stage.restart();
    assert_eq!(stage.say(&undone), Left::AsItCame, "nobody knows before its log is read");
}

#[test]
fn a_conversation_whose_edits_are_in_a_damaged_record_is_withheld_until_the_next_commit() {
    for kind in ["commit", "arrived"] {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Arc::new(SqliteStore::open(folder.path()).expect("a store"));
        let stage = Stage::on(store.clone());
        let (edited, plain) = (session(1, "secret"), session(2, "plain"));
        stage.say(&edited);
        stage.edit();
        stage.say(&edited);
        let id = stage.house.ids().remove(0);
        stage.say(&plain);
        stage.recorder.settle(LONG);
        assert!(tamper(folder.path(), &format!("UPDATE records SET body = x'00' WHERE kind = '{kind}'")) > 0);

        let stage = Stage::on(store);
        for _ in 0..2 {
            assert_eq!(stage.say(&edited), Left::Withheld(Withheld::LostEdits), "{kind}");
        }
        assert!(matches!(stage.say(&plain), Left::AsItCame | Left::Streamed), "{kind}: it has no edits");
        if kind == "commit" {
            let mut fork = edited.clone().fork();
            fork.assistant("yes").user("third");
            assert_eq!(stage.say(&fork), Left::Withheld(Withheld::LostEdits), "it would inherit them");
        }
        let tag = serde_json::from_value(json!({"action": "tag", "name": "here", "author": "cli"})).expect("a tag");
        let _ = stage.house.service.go(&id, tag);
        assert_eq!(stage.say(&edited), Left::Withheld(Withheld::LostEdits), "{kind}: a name is no edit");
        let back = serde_json::from_value(json!({"action": "rollback", "target": "source", "author": "cli"}));
        stage.house.service.go(&id, back.expect("a way back")).expect("a person goes on without the lost edits");
        let left = stage.say(&edited);
        assert!(!matches!(left, Left::Withheld(_)), "{kind}: {left:?}");
        let stage = stage.restart();
        let left = stage.say(&edited);
        assert!(!matches!(left, Left::Withheld(_)), "{kind}: {left:?}");
    }
}

#[test]
fn a_deferred_edit_whose_moment_comes_does_not_end_the_withholding() {
    for accepted in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Arc::new(SqliteStore::open(folder.path()).expect("a store"));
        let stage = Stage::on(store.clone());
        let mut edited = session(1, "secret");
        stage.say(&edited);
        stage.edit();
        stage.edit_message("t2#0", When::NearLimit);
        let id = stage.house.ids().remove(0);
        match accepted {
            true => drop(stage.house.service.accept(&id, "w1", "cli").expect("accepted")),
            false => drop(edited.assistant("yes").user(&"a long story, told at length. ".repeat(150_000))),
        }
        stage.say(&edited);
        let state = stage.house.service.waiting(&id).expect("a list").wishes.remove(0).state;
        assert_eq!(state, "made");
        stage.recorder.settle(LONG);
        let first = "seq = (SELECT MIN(seq) FROM records WHERE kind = 'commit')";
        assert_eq!(tamper(folder.path(), &format!("UPDATE records SET body = x'00' WHERE {first}")), 1);

        let left = Stage::on(store).say(&edited);
        assert_eq!(left == Left::Withheld(Withheld::LostEdits), !accepted, "accepted: {accepted}, {left:?}");
    }
}
