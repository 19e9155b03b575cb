//! A store that refuses for a while: nothing panics, and the next request teaches what was lost.

use crate::support::stores::FailingStore;
use crate::support::{House, LONG, answers, hints};
use ctx_api::edit::EditRequest;
use ctx_core::ErrorCode;
use ctx_engine::Problem;
use ctx_engine::attribution::SeenRequest;
use ctx_wire::rope::Arriving;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;
use testkit::Session;

#[test]
fn what_could_not_be_written_is_learned_again() {
    let store = Arc::new(FailingStore::new());
    let house = House::on(store.clone());
    let mut session = Session::new(1).lean();
    session.user("first");
    let id = house.send(&session).conversation;
    house.service.settle(LONG);
    store.refuse_writes(true);
    for question in ["second", "third"] {
        session.assistant("yes").user(question);
        let ticket = house.send(&session);
        house.reply(&ticket, "yes");
        house.service.settle(LONG);
    }
    assert!(house.service.unsaved() >= 4);
    let listed = house.service.frames(&id, false, None).expect("frames");
    assert!(listed.incomplete, "a list that lacks frames says so");
    store.refuse_writes(false);
    session.assistant("yes").user("fourth");
    house.send(&session);
    house.service.settle(LONG);
    assert!(!house.service.frames(&id, false, None).expect("frames").incomplete);
    assert_eq!(house.compose(&id), session.body());
    assert_eq!(house.titles(&id), ["first", "second", "third", "fourth"]);
    let house = house.restart();
    assert_eq!(house.compose(&id), session.body());
    assert_eq!(house.titles(&id), ["first", "second", "third", "fourth"]);
}

#[test]
fn a_conversation_whose_very_first_step_is_lost_is_still_the_sessions() {
    let store = Arc::new(FailingStore::new());
    let house = House::on(store.clone());
    store.refuse_writes(true);
    let mut session = Session::new(2).lean();
    session.user("first");
    let id = house.send(&session).conversation;
    house.service.settle(LONG);
    store.refuse_writes(false);
    session.assistant("yes").user("second");
    assert_eq!(house.send(&session).conversation, id);
    assert_eq!(house.compose(&id), session.body());
    let house = house.restart();
    let listed = house.service.conversations().conversations.remove(0);
    assert_eq!((listed.id.as_str(), listed.session.as_deref()), (id.as_str(), Some(session.session_id())));
    session.assistant("yes").user("third");
    assert_eq!(house.send(&session).conversation, id);
}

#[test]
fn a_store_that_cannot_be_read_is_a_problem_and_no_panic() {
    let store = Arc::new(FailingStore::new());
    let house = House::on(store.clone());
    let mut session = Session::new(3).lean();
    session.user("first");
    let id = house.send(&session).conversation;
    let house = house.restart();
    store.refuse_reads(true);
    assert!(matches!(house.pass(&session.headers(), &session.body()), Err(Problem::Store(_))));
    assert_eq!(house.service.frames(&id, false, None).expect_err("refused").code, ErrorCode::Store);
    assert_eq!(house.ids(), [id.as_str()], "the list needs no reading");
    store.refuse_reads(false);
    session.assistant("yes").user("second");
    house.send(&session);
    assert_eq!(house.compose(&id), session.body());
}

/// Whether the store refuses writes, whether the writer gets time to notice, which conversation goes on, and whether the
/// service restarts.
type Mood = (bool, bool, usize, bool);

/// Two conversations go on while the store comes and goes.
fn one_good_request_makes_it_whole(moods: &[Mood]) {
    let store = Arc::new(FailingStore::new());
    let mut house = House::on(store.clone());
    let mut sessions: Vec<Session> = [4, 5].map(|seed| Session::new(seed).lean()).into();
    for session in &mut sessions {
        session.user("first");
    }
    for (number, &(refuses, waits, who, restarts)) in moods.iter().enumerate() {
        store.refuse_writes(refuses);
        let session = &mut sessions[who];
        let ticket = house.send(session);
        assert!(ticket.turn);
        house.reply(&ticket, "yes");
        session.assistant("yes").user(&format!("question {number}"));
        if waits {
            house.service.settle(LONG);
        }
        if restarts && number % 3 == 0 {
            house = house.restart();
        }
    }
    house.service.settle(LONG);
    store.refuse_writes(false);
    for session in &sessions {
        let id = house.send(session).conversation;
        assert!(house.compose(&id) == session.body());
        house = house.restart();
        assert!(house.compose(&id) == session.body());
        let seen = house.judge(session);
        assert!(seen.is("retry", [session.messages() as u64, 0, 0]), "{seen:?}");
        let messages = session.body_value()["messages"].as_array().cloned().unwrap_or_default();
        let asked = messages.iter().filter(|message| message["role"] == "user").count();
        assert_eq!(house.titles(&id).len(), asked);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whenever_it_fails_one_good_request_makes_it_whole(
        moods in vec((any::<bool>(), any::<bool>(), 0..2usize, any::<bool>()), 1..14),
    ) {
        one_good_request_makes_it_whole(&moods);
    }
}

/// A conversation is lost before it is stored, and begins again as the fork of its own fork. No slot id of its first
/// life is assigned twice.
#[test]
fn a_lost_conversation_inherits_from_its_fork() {
    let moods = [
        (true, false, 0, true),
        (true, true, 1, true),
        (true, true, 1, false),
        (true, false, 0, false),
        (true, false, 1, false),
        (false, true, 0, true),
    ];
    for _ in 0..60 {
        one_good_request_makes_it_whole(&moods);
    }
}

/// A conversation whose client sends one result twice, with a question behind it. The provider refuses it.
fn doubled(house: &House) -> String {
    let result = json!({"functionResponse": {"id": "call_1", "name": "read", "response": {"output": "a file"}}});
    let contents = [
        json!({"role": "user", "parts": [{"text": "read it"}]}),
        json!({"role": "model", "parts": [{"functionCall": {"id": "call_1", "name": "read", "args": {}}}]}),
        json!({"role": "user", "parts": [result, result]}),
        json!({"role": "model", "parts": [{"text": "done"}]}),
        json!({"role": "user", "parts": [{"text": "and now?"}]}),
    ];
    let system = json!({"parts": [{"text": "You are a coding agent."}]});
    let tools = json!([{"functionDeclarations": [{"name": "read", "description": "Reads a file."}]}]);
    let headers = Session::new(3).headers();
    let ask = |count: usize| {
        let mut arriving = Arriving::alone();
        let body = json!({"systemInstruction": system, "tools": tools, "contents": contents[..count]});
        arriving.push(body.to_string().as_bytes());
        let (hints, pieces) = (hints(&headers), arriving.finish());
        let wire = ctx_wire::wire(ctx_wire::WireId::Gemini);
        let seen = SeenRequest { wire, hints, pieces, at: house.now(), counting: false };
        house.service.observe(seen).expect("readable").expect("belongs to a conversation")
    };
    house.reply(&ask(1), "I look.");
    let ticket = ask(5);
    house.answer(&ticket, answers::refusal(400, "each call needs one result"));
    house.service.settle(LONG);
    ticket.conversation.clone()
}

#[test]
fn an_edit_without_effect_is_not_explained_by_what_the_client_did_elsewhere() {
    let house = House::new();
    let id = doubled(&house);
    let operations = vec![serde_json::from_value(json!({"op": "delete", "ids": ["t2"]})).expect("an operation")];
    let refusal = house.service.apply(&id, EditRequest { operations, ..EditRequest::default() });
    let message = refusal.expect_err("the newest message stays").message;
    assert!(message.contains("the newest message stays"), "{message}");
}

#[test]
fn what_the_client_does_wrong_itself_heals_with_any_edit() {
    let house = House::new();
    let id = doubled(&house);
    let refusal = house.service.heal(&id, EditRequest::default()).expect_err("it names no message");
    assert_eq!(refusal.code, ErrorCode::Healthy);
    assert!(refusal.hint.to_string().contains("another one has its id"), "{}", refusal.hint);
}
