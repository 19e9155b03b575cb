//! Turns that call tools of the client and of the provider at once.

use super::*;
use ctx_core::edit::effect::{FrameKey, FrameRef, MessageRef, Place};

fn search(id: &str) -> String {
    format!(r#"{{"type":"server_tool_use","id":"{id}","name":"web_search","input":{{}}}}"#)
}

fn found(id: &str) -> String {
    format!(r#"{{"type":"web_search_tool_result","tool_use_id":"{id}","content":[]}}"#)
}

/// The provider searches once the client has read.
fn waiting() -> Vec<String> {
    vec![user("a"), says("b"), user("c"), list("assistant", &[call("t1"), search("s1")]), list("user", &[result("t1")])]
}

/// The provider has searched.
fn answered() -> Vec<String> {
    let answer = list("assistant", &[found("s1"), text("so")]);
    [waiting(), vec![answer, user("d")]].concat()
}

fn slot(n: u64) -> FrameRef {
    FrameRef { key: FrameKey::Opened(SlotId(n)), until: None }
}

/// Adds words behind the open frame.
fn added(words: &str) -> Effect {
    let messages = made(&[(Some(Role::User), &[&text(words)])]);
    Effect::Insert { number: 1, messages, to: Place::After(slot(2)), title: None }
}

#[test]
fn a_pair_over_two_answers_stays() {
    for messages in [waiting(), answered()] {
        assert_eq!(Case::of(&strs(&messages)).delete_messages(&[0, 1]).compose().messages(), messages[2..]);
    }
    let done = Case::of(&strs(&answered())).delete_messages(&[0, 1]).compose();
    assert_eq!(done.rules(), [""; 0]);
}

#[test]
fn what_is_added_behind_results_comes_before_their_calls() {
    let done = Case::of(&strs(&waiting())).effect(added("new")).compose();
    let new = list("user", &[text("new")]);
    assert_eq!(done.messages(), [&waiting()[..3], &[new], &waiting()[3..]].concat());
    assert_eq!(done.rules(), ["A46"]);
}

#[test]
fn what_replaces_a_part_of_a_turn_that_waits_comes_before_it() {
    let messages = [
        user("a"),
        list("assistant", &[call("t1"), search("s1"), text("x")]),
        list("user", &[result("t1")]),
        system("s"),
        list("assistant", &[text("y"), found("s1"), text("so")]),
        user("d"),
    ];
    let new = text("new");
    let by: &[(Option<Role>, &[&str])] = &[(Some(Role::User), &[&new])];
    for block in [(1, 2), (4, 0)] {
        let done = Case::of(&strs(&messages)).replace(&[block], by).compose();
        assert_eq!(done.messages()[..2], [user("a"), list("user", std::slice::from_ref(&new))], "{}", done.text);
        assert_eq!(done.messages()[3..5], messages[2..4], "{}", done.text);
        assert!(done.rules().contains(&"A46"), "{:?}", done.rules());
    }
}

#[test]
fn a_search_whose_answer_went_elsewhere_goes() {
    // The answer with the result, and everything found with it.
    let done = Case::of(&strs(&answered())).delete(&[(5, 0)]).compose();
    assert_eq!(done.messages()[3..6], [list("assistant", &[call("t1")]), list("user", &[result("t1")]), says("so")]);
    // Another answer comes between.
    let by: &[(Option<Role>, &[&str])] =
        &[(Some(Role::Assistant), &[&text("hm")]), (Some(Role::User), &[&text("well")])];
    let messages =
        [answered()[..5].to_vec(), vec![list("assistant", &[text("y"), found("s1"), text("so")]), user("d")]];
    let done = Case::of(&strs(&messages.concat())).replace(&[(5, 0)], by).compose();
    assert!(!done.text.contains("s1"), "{}", done.text);
    assert_eq!(done.rules(), ["A40"]);
    // A waiting turn that is no longer the last.
    let messages = [waiting(), vec![user("z")]].concat();
    let done = Case::of(&strs(&waiting())).effect(added("new")).replace(&[(0, 0)], &[(None, &[&text("n")])]);
    assert_eq!(done.compose().messages().len(), waiting().len() + 1);
    let done = Case::of(&strs(&messages)).effect(Effect::Move { frames: vec![slot(2)], to: Place::Start }).compose();
    assert!(!done.text.contains("srvtoolu") && !done.text.contains("web_search"), "{}", done.text);
}

#[test]
fn without_the_calls_of_the_client_there_is_nothing_to_wait_for() {
    let by: &[(Option<Role>, &[&str])] = &[(Some(Role::User), &[&text("new")])];
    let done = Case::of(&strs(&answered())).delete(&[(3, 0)]).replace(&[(4, 0)], by).compose();
    let expected =
        [&answered()[..3], &[list("user", &[text("new")]), list("assistant", &[search("s1")])], &answered()[5..]];
    assert_eq!(done.messages(), expected.concat());
}

#[test]
fn a_call_that_waits_for_nothing_goes() {
    let done = Case::of(&strs(&waiting())).delete(&[(3, 0)]).compose();
    assert_eq!(done.messages(), waiting()[..3]);
    assert_eq!(done.rules(), ["A31", "A46"]);
    // Unless the client wants it to continue.
    let paused = [&waiting()[..3], &[list("assistant", &[text("x"), search("s1")])]].concat();
    let done = Case::of(&strs(&paused)).effect(added("new")).delete(&[(0, 0)]).compose();
    assert_eq!(done.messages()[4..], paused[3..], "{}", done.text);
    assert_eq!(done.rules(), ["A46", "A3"]);
}

#[test]
fn a_system_message_that_lost_its_place_does_not_come_between_a_search_and_what_it_found() {
    let messages = [
        user("a"),
        list("assistant", &[call("t1"), search("s1")]),
        list("user", &[result("t1")]),
        list("assistant", &[found("s1"), call("t2")]),
        list("user", &[result("t2")]),
        system("s"),
        list("assistant", &[call("t3"), search("s2")]),
        list("user", &[result("t3")]),
    ];
    let done = Case::of(&strs(&messages)).delete(&[(3, 1), (4, 0)]).compose();
    let first = list("assistant", &[found("s1")]);
    let (before, behind) = ([&messages[..1], &messages[5..6], &messages[1..3]].concat(), &messages[6..]);
    let wherever = [before, vec![first.clone()], behind.to_vec()].concat();
    let in_place = [&messages[..3], &[first], &messages[5..6], behind].concat();
    assert!(done.messages() == wherever || done.messages() == in_place, "{:#?}", done.messages());
}

#[test]
fn a_system_message_that_was_moved_behind_results_does_not_stay_there() {
    let messages = [
        user("a"),
        list("assistant", &[call("t1")]),
        list("user", &[result("t1")]),
        system("s"),
        says("b"),
        user("c"),
        list("assistant", &[call("t2"), search("s1")]),
        list("user", &[result("t2")]),
    ];
    // The results arrived when the frame had been moved: they are the last.
    let until = Some((MessageRef::Slot(SlotId(6)), 1));
    let moved = Effect::Move { frames: vec![FrameRef { until, ..slot(5) }], to: Place::Start };
    let done = Case::of(&strs(&messages)).effect(moved).delete_messages(&[0, 4]).compose();
    let sent = done.messages();
    let at = |what: &str| sent.iter().position(|message| message.contains(what)).expect("sent");
    assert!(at(&system("s")) < at("server_tool_use"), "{sent:#?}");
    assert_eq!(sent[at("server_tool_use")..].len(), 3, "{sent:#?}");
    assert!(done.rules().contains(&"A46"), "{:?}", done.rules());
}

#[test]
fn what_was_found_in_the_same_row_ends_the_wait() {
    let added = r#"{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"New","input_schema":{}}}}]}"#;
    let uses = r#"{"type":"tool_use","id":"t9","name":"New","input":{}}"#;
    let messages = [
        user("a"),
        list("assistant", &[call("t1"), search("s1")]),
        list("user", &[result("t1")]),
        list("assistant", &[found("s1"), text("b")]),
        user("c"),
        added.to_owned(),
        says("d"),
        user("e"),
        list("assistant", &[uses.to_owned()]),
        list("user", &[result("t9")]),
    ];
    let by: &[(Option<Role>, &[&str])] = &[(Some(Role::User), &[&text("short")])];
    let done = Case::of(&strs(&messages)).replace(&[(2, 0)], by).delete_messages(&[4, 5, 6]).compose();
    let sent = done.messages();
    let at = |what: &str| sent.iter().position(|message| message.contains(what)).expect("sent");
    assert!(at("tool_addition") < at(uses), "{sent:#?}");
}
