//! Manual thinking: an open tool loop begins with it.

use super::*;
use ctx_core::edit::effect::{FrameKey, FrameRef, Place};

fn manual(messages: &[String]) -> Case {
    Case::body(&format!(
        r#"{{"thinking":{{"type":"enabled","budget_tokens":1024}},"messages":[{}],"tools":[{{"name":"Read"}}]}}"#,
        messages.join(",")
    ))
}

fn step(id: &str) -> Vec<String> {
    vec![list("assistant", &[thinks(&format!("s{id}")), text("look"), call(id)]), list("user", &[result(id)])]
}

fn open() -> Vec<String> {
    [vec![user("a"), list("assistant", &[thinks("s"), text("b")]), user("c")], step("t1"), step("t2")].concat()
}

#[test]
fn thinking_of_an_open_loop_stays() {
    for at in [3, 5] {
        let done = manual(&open()).delete(&[(at, 0)]).compose();
        assert_eq!((done.messages(), done.rules()), (open(), vec!["A55"]), "{at}");
    }
    // Also beside changed content.
    let done = manual(&open()).replace(&[(5, 0), (5, 1)], &[(None, &[&text("n")])]).compose();
    assert_eq!(done.messages()[5], list("assistant", &[thinks("st2"), text("n"), call("t2")]));
    // Once the loop is closed, it is removed.
    let closed = [open(), vec![says("d"), user("e")]].concat();
    let done = manual(&closed).delete(&[(3, 0), (5, 0)]).compose();
    assert_eq!(done.messages()[3], list("assistant", &[text("look"), call("t1")]));
    assert_eq!(done.rules(), [""; 0]);
    // Other models do not require it.
    let done = Case::of(&strs(&open())).delete(&[(5, 0)]).compose();
    assert_eq!(done.messages()[5], list("assistant", &[text("look"), call("t2")]));
    // Thinking outside the loop may be removed.
    let done = manual(&open()).delete(&[(1, 0)]).compose();
    assert_eq!((done.messages()[1].clone(), done.rules()), (says("b"), vec![]));
}

#[test]
fn a_loop_without_thinking_is_closed_where_it_will_stay_closed() {
    let ours: [(Option<Role>, &[&str]); 2] =
        [(Some(Role::Assistant), &[&call("n1")]), (Some(Role::User), &[&result("n1")])];
    let edited = |messages: &[String]| manual(messages).replace(&[(3, 0), (3, 1), (3, 2), (4, 0)], &ours).compose();
    let first = edited(&open()[..5]);
    let exchange = [says("[The results are in.]"), list("user", &[text("[Please go on.]")])];
    assert_eq!(first.messages()[5..], exchange);
    assert_eq!(first.rules(), ["A55"]);
    let next = edited(&open());
    assert_eq!(next.messages()[..7], first.messages());
    assert_eq!(next.messages()[7..], open()[5..]);
}

#[test]
fn all_that_an_answer_thought_or_nothing() {
    let twice = list("assistant", &[thinks("s1"), text("b"), thinks("s2"), call("t1")]);
    let messages = [user("a"), twice.clone(), list("user", &[result("t1")])];
    let done = manual(&messages).delete(&[(1, 2)]).compose();
    assert_eq!((done.messages(), done.rules()), (messages.to_vec(), vec!["A55"]));
    let closed = [messages.to_vec(), vec![says("c"), user("d")]].concat();
    let done = manual(&closed).delete(&[(1, 2)]).compose();
    assert_eq!(done.messages()[1], list("assistant", &[text("b"), call("t1")]));
}

#[test]
fn a_client_that_sends_none_is_left_alone() {
    let messages = [user("a"), list("assistant", &[text("b"), call("t1")]), list("user", &[result("t1")])];
    let done = manual(&messages).replace(&[(0, 0)], &[(None, &[&text("n")])]).compose();
    assert_eq!((done.messages()[1..].to_vec(), done.rules()), (messages[1..].to_vec(), vec![]));
}

#[test]
fn answers_that_meet_are_parted() {
    // The question between two answers is removed.
    let messages = [vec![user("a"), says("b"), user("c")], step("t1"), step("t2")].concat();
    let done = manual(&messages).delete_messages(&[2]).compose();
    let go_on = list("user", &[text("[Please go on.]")]);
    assert_eq!(done.messages(), [&messages[..2], &[go_on], &messages[3..]].concat());
    assert_eq!(done.rules(), ["A55"]);
}

#[test]
fn a_loop_that_is_closed_waits_for_nothing() {
    let search = r#"{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}"#.to_owned();
    let answer = list("assistant", &[thinks("s"), call("t1"), search]);
    let messages = [user("a"), answer, list("user", &[result("t1")])];
    // A synthetic call is placed directly before the answer, and its result behind it.
    let ours: [(Option<Role>, &[&str]); 2] =
        [(Some(Role::User), &[&text("n")]), (Some(Role::Assistant), &[&call("n1")])];
    let frame = FrameRef { key: FrameKey::Opened(SlotId(0)), until: None };
    let its_result = made(&[(Some(Role::User), &[&result("n1")])]);
    let added = Effect::Insert { number: 1, messages: its_result, to: Place::After(frame), title: None };
    let done = manual(&messages).replace(&[(0, 0)], &ours).effect(added).compose();
    assert_eq!(done.messages()[2], list("assistant", &[thinks("s"), call("t1")]));
    assert_eq!(done.messages()[3], list("user", &[result("t1"), result("n1")]));
    assert_eq!(done.messages().len(), 6);
    assert_eq!(done.rules(), ["A34", "A55", "A46"]);
}
