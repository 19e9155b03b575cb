//! The body that really left for a request can be had again, byte for byte.

use crate::support::House;
use ctx_api::edit::EditRequest;
use ctx_core::edit::Operation;
use ctx_core::{Class, ErrorCode};
use ctx_engine::request::Ticket;
use testkit::Session;

fn edit(house: &House, id: &str, block: &str, text: &str) {
    let operation =
        Operation::Edit { id: block.into(), text: Some(text.into()), raw: None, content: None, force: false };
    let edit = EditRequest { operations: vec![operation], author: "test".into(), ..EditRequest::default() };
    house.service.apply(id, edit).expect("made");
}

/// What the provider gets for what the session says now.
fn leaves(house: &House, session: &Session) -> (Ticket, Vec<u8>) {
    let (ticket, outgoing) = house.hold(session);
    let body = session.body();
    (ticket, outgoing.map_or(body.clone(), |outgoing| outgoing.bytes(&body)))
}

#[test]
fn every_request_that_left_is_rebuilt_exactly_whatever_came_after_it() {
    let house = House::new();
    let mut session = Session::new(41);
    session.user("first").assistant("one").user("second");
    let mut sent: Vec<(Ticket, Vec<u8>)> = Vec::new();
    let id = house.send(&session).conversation;
    sent.push((
        Ticket { conversation: id.clone(), request: 1, class: Class::Main, turn: true, losses: 0 },
        session.body(),
    ));
    edit(&house, &id, "t1#1", &"a long answer of ours ".repeat(40));
    for turn in 0..6 {
        let (ticket, body) = leaves(&house, &session);
        house.reply(&ticket, "an answer");
        sent.push((ticket, body));
        session.assistant("an answer").user(&format!("question {turn}"));
        if turn == 3 {
            edit(&house, &id, "t2#0", "short");
        }
    }
    assert!(sent[1].1 != session.body() && String::from_utf8_lossy(&sent[1].1).contains("a long answer of ours"));
    let house = house.restart();
    for (ticket, body) in &sent {
        let told = house.service.sent(&id, ticket.request).expect("known");
        assert_eq!((told.missing.as_deref(), told.bytes), (None, Some(body.len() as u64)), "r{}", ticket.request);
        assert_eq!(told.changed, ticket.request > 1);
        assert_eq!(house.service.sent_body(&id, ticket.request).expect("rebuilt"), *body, "r{}", ticket.request);
    }
    let told = house.service.sent(&id, 2).expect("known");
    assert_eq!((told.request.as_str(), told.head.is_some()), ("r2", true));
    assert_eq!(told.answer.expect("answered").status, 200);
    let refusal = house.service.sent(&id, 99).expect_err("unknown");
    assert!(refusal.code == ErrorCode::UnknownRequest && refusal.hint.to_string().contains("r1 to r7"), "{refusal:?}");
}

#[test]
fn what_composing_gives_does_not_change_with_a_restart() {
    let house = House::new();
    let mut session = Session::new(42);
    session.user("first").assistant("one").user("second").assistant("two").user("third");
    let id = house.send(&session).conversation;
    house.reply(&Ticket { conversation: id.clone(), request: 1, class: Class::Main, turn: true, losses: 0 }, "three");
    edit(&house, &id, "t1#1", "ours");
    for turn in 0..4 {
        session.assistant("an answer").user(&format!("question {turn}"));
        let (ticket, _) = leaves(&house, &session);
        house.reply(&ticket, "an answer");
    }
    let before = house.compose(&id);
    let house = house.restart();
    assert_eq!(String::from_utf8(house.compose(&id)), String::from_utf8(before), "the free cache mark included");
}
