//! An acknowledged edit is in every request that begins later, whichever daemon it passes through.

use crate::stage::{Daemon, Left, Stage, session, until};
use crate::support::hints;
use ctx_core::ErrorCode;
use serde_json::json;
use std::time::{Duration, Instant};
use testkit::{Fault, Session};

#[test]
fn a_request_that_begins_after_an_edit_carries_it_through_every_daemon() {
    let Some(stage) = Stage::new() else { return };
    let daemons = ["one", "two", "three"].map(|name| stage.daemon(name));
    let session = session(1, "secret");
    assert_eq!(daemons[0].say(&session), Left::Streamed);
    daemons[0].settle();
    let id = daemons[0].house.ids().remove(0);
    let mut took = Vec::new();
    for (number, daemon) in daemons.iter().cycle().take(12).enumerate() {
        until("every daemon lists it", || daemon.house.ids() == [id.clone()]);
        let new = format!("text {number}");
        let start = Instant::now();
        let applied = daemon.rewrite(&id, "t1#0", &new);
        took.push(start.elapsed());
        assert_eq!(applied.warnings, [""; 0], "all daemons run");
        let sent: Vec<Left> = daemons.iter().map(|daemon| daemon.say(&session)).collect();
        assert!(sent.iter().all(|left| left.says(&new) && !left.says("secret")), "{number}: {sent:?}");
        assert!(sent.iter().all(|left| *left == sent[0]), "each composes the same bytes");
    }
    took.sort();
    println!("an edit through three daemons took {:?} in the middle, {:?} at most", took[6], took[11]);
    let applied = daemons[1].house.service.history(&id, 100).expect("a history").commits.len();
    assert_eq!(applied, 12, "no commit is lost");
}

#[test]
fn a_conversation_that_began_elsewhere_a_moment_ago_is_known_by_its_id_and_session() {
    let Some(stage) = Stage::new() else { return };
    let (one, two) = (stage.daemon("one"), stage.daemon("two"));
    for seed in 40..46 {
        let session = session(seed, &format!("secret {seed}"));
        one.say(&session);
        one.settle();
        let own = hints(&session.headers()).session.expect("it names its session");
        let id = one.house.service.resolve(&own).expect("known where it began");
        let name = if seed % 2 == 0 { id } else { own.into() };
        two.rewrite(&name, "t1#0", "EDITED");
        assert!(two.say(&session).says("EDITED"));
    }
    let refusal = two.edit("c0000000000000000", json!({"op": "delete", "ids": ["t1"]})).expect_err("there is none");
    assert_eq!(refusal.code, ErrorCode::UnknownConversation);
}

/// A conversation edited through one daemon, whose next request passed through another.
fn edited_through_two(stage: &Stage, seed: u64) -> (Daemon, Daemon, Session, String) {
    let (one, two) = (stage.daemon("one"), stage.daemon("two"));
    let session = session(seed, "secret");
    one.say(&session);
    one.settle();
    let id = one.house.ids().remove(0);
    one.rewrite(&id, "t1#0", "EDITED");
    assert!(two.say(&session).says("EDITED"));
    two.settle();
    (one, two, session, id)
}

#[test]
fn a_reverted_edit_is_no_longer_held_anywhere() {
    let Some(stage) = Stage::new() else { return };
    let (one, two, session, id) = edited_through_two(&stage, 2);
    let undo = serde_json::from_value(json!({"action": "undo", "author": "test"})).expect("a request");
    one.house.service.go(&id, undo).expect("undone");
    for daemon in [&one, &two] {
        assert!(!daemon.say(&session).says("EDITED"));
        assert_eq!(daemon.house.service.edited_count(), one.house.service.edited_count());
    }
}

/// Turns pass through the daemons in turn, with edits between. A lone daemon with the same log composes the same bytes.
#[test]
fn a_conversation_without_affinity_is_the_one_that_its_log_tells() {
    let Some(stage) = Stage::new() else { return };
    let daemons = ["one", "two", "three"].map(|name| stage.daemon(name));
    let mut session = session(3, "first");
    daemons[0].say(&session);
    daemons[0].settle();
    let id = daemons[0].house.ids().remove(0);
    until("every daemon lists it", || daemons.iter().all(|daemon| daemon.house.ids() == [id.clone()]));
    let mut last = Left::Streamed;
    for turn in 0..18 {
        let (through, editor): (&Daemon, &Daemon) = (&daemons[turn % 3], &daemons[(turn + 1) % 3]);
        if turn % 4 == 0 {
            editor.rewrite(&id, "t1#0", &format!("edit {turn}"));
        }
        session.assistant(&format!("answer {turn}")).user(&format!("question {turn}"));
        last = through.say(&session);
        assert!(last.says(&format!("edit {}", turn / 4 * 4)), "{turn}: {last:?}");
        through.settle();
    }
    let newest = &daemons[2];
    assert_eq!(newest.say(&session), last);
    newest.settle();
    // The newest request may have met a conflict; then the next one stores it.
    until("a lone daemon composes the same", || {
        newest.say(&session);
        newest.settle();
        last == Left::Composed(String::from_utf8(stage.alone().compose(&id)).expect("text"))
    });
}

#[test]
fn an_edit_on_an_outdated_state_is_made_on_the_newest_one() {
    let Some(stage) = Stage::new() else { return };
    let (one, two) = (stage.daemon("one"), stage.daemon("two"));
    let mut session = session(4, "first");
    one.say(&session);
    one.settle();
    let id = one.house.ids().remove(0);
    until("both list it", || two.house.ids() == [id.clone()]);
    two.rewrite(&id, "t1#0", "EDITED");
    for turn in 0..5 {
        session.assistant("yes").user(&format!("turn {turn}"));
        assert!(one.say(&session).says("EDITED"));
        one.settle();
        // The other daemon has not heard of this turn yet.
        let applied = two.edit(&id, json!({"op": "pin", "ids": ["t1"]}));
        let unpinned = two.edit(&id, json!({"op": "unpin", "ids": ["t1"]}));
        assert!(applied.is_ok() && unpinned.is_ok(), "{applied:?} {unpinned:?}");
    }
    assert_eq!(two.house.service.history(&id, 100).expect("a history").commits.len(), 11);
}

#[test]
fn a_purged_conversation_is_gone_from_every_daemon() {
    let Some(stage) = Stage::new() else { return };
    let (one, two, session, id) = edited_through_two(&stage, 5);
    one.house.service.purge(std::slice::from_ref(&id)).expect("purged");
    assert_eq!(two.house.ids(), [""; 0]);
    assert_eq!(two.house.service.edited_count(), 0);
    assert_eq!(two.say(&session), Left::Streamed, "it begins anew");
}

#[test]
fn an_answer_whose_request_was_overtaken_is_not_booked_for_another() {
    let Some(stage) = Stage::new() else { return };
    let (one, two) = (stage.daemon("one"), stage.daemon("two"));
    let first = session(6, "first");
    one.say(&first);
    one.settle();
    let id = one.house.ids().remove(0);
    until("both list it", || two.house.ids() == [id.clone()]);
    let (mut here, mut there) = (first.clone(), first);
    here.assistant("yes").user("through one");
    there.assistant("yes").user("through two");
    assert_eq!(two.house.turns(&id).len(), 2, "it is in memory");
    two.proxy.set(Fault::Stall);
    let late = two.house.send(&there);
    let stored = one.house.send(&here);
    one.settle();
    assert_eq!(late.request, stored.request, "both count on");
    two.proxy.set(Fault::None);
    until("it is overtaken", || two.house.service.conflicts() > 0);
    one.house.reply(&stored, "an answer");
    one.settle();
    two.house.reply(&late, "an answer to the late one");
    two.settle();
    let log = stage.alone().store.records(&id, 0).expect("records").records;
    let answers = log.iter().filter(|record| record.kind == "answered");
    let requests: Vec<u64> = answers
        .filter_map(|record| serde_json::from_slice::<serde_json::Value>(&record.body).ok()?["request"].as_u64())
        .collect();
    let own = requests.iter().filter(|request| **request == u64::from(stored.request)).count();
    assert_eq!(own, 1, "{requests:?}");
}

/// The bytes that every append begins with.
const APPEND: &[u8] = b"FOR NO KEY UPDATE";

/// An edit waits for the database while another one is made elsewhere, and its conversation is read again meanwhile.
#[test]
fn an_edit_that_another_one_overtook_is_made_on_top_of_it() {
    let Some(stage) = Stage::new() else { return };
    let (one, two) = (stage.daemon("one"), stage.patient_daemon("two", Duration::from_secs(20)));
    let (edited, other) = (session(60, "secret"), session(61, "other"));
    one.say(&edited);
    one.settle();
    let id = one.house.ids().remove(0);
    one.rewrite(&id, "t1#0", "FIRST");
    assert!(two.say(&edited).says("FIRST"));
    two.say(&other);
    two.settle();
    std::thread::scope(|scope| {
        two.proxy.set(Fault::HoldFrom(APPEND));
        let mut grown = other.clone();
        grown.assistant("answer").user("a turn that the writer waits for");
        two.say(&grown);
        std::thread::sleep(Duration::from_millis(200));
        let late = scope.spawn(|| two.rewrite(&id, "t1#1", "LATE"));
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(one.rewrite(&id, "t1#0", "OVERTAKING").warnings, [""; 0], "both know it");
        assert!(two.say(&edited).says("OVERTAKING"), "read again");
        two.proxy.set(Fault::None);
        late.join().expect("no panic");
    });
    for daemon in [&one, &two] {
        let sent = daemon.say(&edited);
        assert!(sent.says("OVERTAKING") && sent.says("LATE"), "{sent:?}");
    }
    let house = stage.alone();
    assert_eq!(house.service.history(&id, 100).expect("a history").commits.len(), 3);
}

#[test]
fn what_was_purged_does_not_come_back_with_a_turn_that_waited() {
    let Some(stage) = Stage::new() else { return };
    let (one, two) = (stage.daemon("one"), stage.patient_daemon("two", Duration::from_secs(20)));
    let (said, other) = (session(62, "secret"), session(63, "other"));
    two.say(&said);
    two.settle();
    let id = two.house.ids().remove(0);
    two.say(&other);
    two.settle();
    until("it is known elsewhere", || one.house.ids().contains(&id));
    two.proxy.set(Fault::HoldFrom(APPEND));
    for session in [&other, &said] {
        let mut grown = session.clone();
        grown.assistant("answer").user("a turn that is not stored yet");
        two.say(&grown);
        std::thread::sleep(Duration::from_millis(1500));
    }
    one.house.service.purge(std::slice::from_ref(&id)).expect("removed");
    assert!(!two.house.ids().contains(&id), "it knows");
    two.proxy.set(Fault::None);
    two.settle();
    assert_eq!(stage.alone().ids().len(), 1);
    let mut grown = said.clone();
    grown.assistant("answer").user("it goes on");
    assert!(matches!(two.say(&grown), Left::Streamed | Left::AsItCame), "it begins anew");
    two.settle();
    assert_eq!(stage.alone().turns(&id).len(), 3);
}
