//! Covered content that is required.

use super::*;
use ctx_core::edit::effect::{FrameKey, FrameRef, Place};

fn brings(name: &str) -> String {
    format!(r#"{{"type":"tool_addition","tool":{{"type":"tool_definition","definition":{{"name":"{name}"}}}}}}"#)
}

fn takes(name: &str) -> String {
    format!(r#"{{"type":"tool_removal","tool":{{"type":"tool_reference","name":"{name}"}}}}"#)
}

fn calls(id: &str, name: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{{}}}}"#)
}

/// The tool `New` is added with the first question, used for the second, and removed with the third.
fn talk() -> Vec<String> {
    vec![
        user("a"),
        list("system", &[text("s"), brings("New")]),
        says("b"),
        user("c"),
        list("assistant", &[calls("t1", "New")]),
        list("user", &[result("t1")]),
        says("d"),
        user("e"),
        list("system", &[takes("New")]),
        says("f"),
        user("g"),
    ]
}

#[test]
fn a_tool_that_is_used_or_taken_away_later_stays() {
    let new = list("system", &[brings("New")]);
    let done = Case::of(&strs(&talk())).delete_messages(&[0, 1, 2]).compose();
    assert_eq!(done.messages(), [&[user("c"), new.clone()], &talk()[4..]].concat());
    assert_eq!(done.rules(), ["A23", "A14"]);
    // Removed, and not used.
    let done = Case::of(&strs(&talk())).delete_messages(&[0, 1, 2, 4, 5, 6]).compose();
    assert_eq!(done.messages()[..3], [user("c"), user("e"), new]);
    // Neither.
    let done = Case::of(&strs(&talk())).delete_messages(&[0, 1, 2, 4, 5, 6, 8]).compose();
    assert_eq!(done.messages(), [user("c"), user("e"), says("f"), user("g")]);
    assert_eq!(done.rules(), [""; 0]);
    // Only the words beside it.
    let done = Case::of(&strs(&talk())).delete(&[(1, 0)]).compose();
    assert_eq!((done.messages()[1].clone(), done.rules()), (list("system", &[brings("New")]), vec![]));
    // A removal may be deleted.
    let done = Case::of(&strs(&talk())).delete_messages(&[8]).compose();
    assert_eq!(done.rules(), [""; 0]);
    assert!(!done.text.contains("tool_removal"));
}

#[test]
fn a_tool_comes_before_it_is_used_wherever_the_frames_go() {
    let slot = |n| FrameRef { key: FrameKey::Opened(SlotId(n)), until: None };
    let done = Case::of(&strs(&talk())).effect(Effect::Move { frames: vec![slot(3)], to: Place::Start }).compose();
    let new = list("system", &[brings("New")]);
    assert_eq!(done.messages()[..2], [user("c"), new], "{}", done.text);
    assert_eq!(done.messages()[6], list("system", &[text("s")]), "{}", done.text);
    assert_eq!(done.rules(), ["A23"]);
    // Also one that is covered at its original place.
    let moved = Effect::Move { frames: vec![slot(3)], to: Place::Start };
    let done = Case::of(&strs(&talk())).delete_messages(&[0, 1, 2]).effect(moved).compose();
    assert_eq!(done.messages()[..2], [user("c"), list("system", &[brings("New")])], "{}", done.text);
}

#[test]
fn a_change_of_tools_follows_a_user() {
    let mut messages = talk();
    messages.insert(1, says("z"));
    messages.insert(2, user("y"));
    let done = Case::of(&strs(&messages)).delete_messages(&[2, 4, 5]).compose();
    // The previous answer does not end in a result: a user message comes between.
    let expected = [user("a"), says("z")];
    assert_eq!(done.messages()[..2], expected);
    assert_eq!(done.messages()[3], list("system", &[text("s"), brings("New")]), "{}", done.text);
    assert!(done.rules().contains(&"A23"));
}

#[test]
fn servers_and_their_lists_count_as_tools() {
    let server = r#"{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"type":"mcp_toolset","mcp_server_name":"cal"}}}"#;
    let listing = r#"{"type":"mcp_tool_listing","mcp_server_name":"cal","tools":[]}"#.to_owned();
    let use_it = r#"{"type":"mcp_tool_use","id":"m1","server_name":"cal","name":"New","input":{}}"#.to_owned();
    let result = r#"{"type":"mcp_tool_result","tool_use_id":"m1","content":[]}"#.to_owned();
    let messages = [
        user("a"),
        list("system", &[server.to_owned()]),
        list("assistant", &[listing.clone(), text("b")]),
        user("c"),
        list("assistant", &[use_it, result]),
        user("d"),
    ];
    let done = Case::of(&strs(&messages)).delete_messages(&[1, 2]).compose();
    assert_eq!(done.messages()[1..3], [messages[1].clone(), list("assistant", &[listing])]);
    assert_eq!(done.rules(), ["A23", "A23"]);
    let done = Case::of(&strs(&messages)).delete_messages(&[1, 2, 4]).compose();
    assert_eq!(done.messages(), [user("a"), user("c"), user("d")]);
}

#[test]
fn a_tool_that_a_message_offers_stays_defined() {
    let offers = r#"{"type":"tool_addition","tool":{"type":"tool_reference","name":"Later"}}"#.to_owned();
    let body = format!(
        r#"{{"messages":[{},{}],"tools":[{{"name":"Read"}},{{"name":"Later","defer_loading":true}}]}}"#,
        user("a"),
        list("system", &[offers])
    );
    let covers = vec![Cover::Tool { name: "Later".into() }];
    let done = Case::body(&body).effect(Effect::Replace { why: Why::Deleted, covers, by: vec![] }).compose();
    assert_eq!((done.rules(), done.text.clone()), (vec!["A45"], body));
}

#[test]
fn the_mark_of_a_change_of_models_stays_in_its_answer() {
    let mark = r#"{"type":"fallback","from":{"model":"x"},"to":{"model":"y"}}"#.to_owned();
    let answer = list("assistant", &[text("b"), mark.clone(), thinks("s1"), text("c")]);
    let messages = [user("a"), answer.clone(), user("d")];
    let done = Case::of(&strs(&messages)).delete(&[(1, 1)]).compose();
    assert_eq!((done.messages(), done.rules()), (messages.to_vec(), vec!["A48"]));
    // The rest of the answer may change, and the mark keeps its place.
    let done = Case::of(&strs(&messages)).replace(&[(1, 0)], &[(None, &[&text("n")])]).compose();
    assert_eq!(done.messages()[1], list("assistant", &[text("n"), mark.clone(), text("c")]));
    // All of it is removed with its answer, even if that is replaced.
    let done = Case::of(&strs(&messages)).delete_messages(&[1]).compose();
    assert_eq!((done.messages(), done.rules()), (vec![user("a"), user("d")], vec![]));
    let all = [(1, 0), (1, 1), (1, 2), (1, 3)];
    let done = Case::of(&strs(&messages)).replace(&all, &[(None, &[&text("n")])]).compose();
    assert_eq!(done.messages()[1], says("n"));
    // The mark alone is no answer.
    let done = Case::of(&strs(&messages)).delete(&[(1, 0), (1, 3)]).compose();
    assert_eq!(done.messages(), [user("a"), user("d")]);
    assert_eq!(done.rules(), ["A39"]);
    let done = Case::of(&strs(&messages)).delete(&[(1, 0), (1, 2), (1, 3)]).compose();
    assert_eq!((done.messages(), done.rules()), (vec![user("a"), user("d")], vec!["A48"]));
}

#[test]
fn nothing_of_ours_is_called_by_a_model_that_gave_up() {
    let mark = r#"{"type":"fallback","from":{"model":"x"},"to":{"model":"y"}}"#.to_owned();
    let messages = [user("a"), list("assistant", &[text("b"), mark.clone(), text("c")]), user("d")];
    let done = Case::of(&strs(&messages)).replace(&[(1, 0)], &[(None, &[&text("n"), &call("t1")])]).compose();
    assert_eq!(done.messages()[1], list("assistant", &[text("n"), mark.clone(), text("c")]));
    assert_eq!(done.rules(), ["A48"]);
}
