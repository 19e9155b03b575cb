//! Thinking is sent if and only if it follows its original prefix.

use super::*;

fn talk() -> Vec<String> {
    vec![
        user("a"),
        list("assistant", &[thinks("s1"), text("b")]),
        user("c"),
        list("assistant", &[thinks("s2"), text("d"), thinks("s3"), text("e")]),
        user("f"),
    ]
}

#[test]
fn a_change_takes_the_thinking_behind_it_along() {
    let done = Case::of(&strs(&talk())).compose();
    assert_eq!(done.composed.thinking_dropped, 0);
    let done = Case::of(&strs(&talk())).delete(&[(1, 1)]).compose();
    assert_eq!(done.composed.thinking_dropped, 3, "{}", done.text);
    let done = Case::of(&strs(&talk())).replace(&[(2, 0)], &[(None, &[&text("new")])]).compose();
    assert_eq!(done.messages()[1], talk()[1]);
    assert_eq!(done.messages()[3], list("assistant", &[text("d"), text("e")]));
    assert_eq!((done.composed.thinking_dropped, done.rules()), (2, vec!["A65"]));
    let done = Case::of(&strs(&talk())).delete(&[(3, 1)]).compose();
    // All thinking of one answer, or none of it.
    assert_eq!(done.messages()[3], list("assistant", &[text("e")]));
    let done = Case::of(&strs(&talk())).delete(&[(4, 0)]).compose();
    assert_eq!(done.composed.thinking_dropped, 0);
}

#[test]
fn what_was_produced_after_the_edit_stays_with_it() {
    let edit = |talk: &[String]| Case::of(&strs(talk)).replace(&[(0, 0)], &[(None, &[&text("new")])]);
    let first = edit(&talk()[..1]).compose();
    let mut next = edit(&talk());
    let signature = next.facts[1].blocks[0].signature.unwrap();
    next.bound.insert(signature, first.composed.prefix);
    let done = next.compose();
    assert_eq!(done.messages()[1], talk()[1]);
    assert_eq!(done.composed.thinking_dropped, 2);
    // The prefix depends neither on the client's breakpoints nor on the form of its texts.
    let marked = list("user", &[r#"{"type":"text","text":"c","cache_control":{"type":"ephemeral"}}"#.to_owned()]);
    let one = edit(&[talk()[..2].to_vec(), vec![marked]].concat()).compose();
    let other = edit(&talk()[..3]).compose();
    assert_eq!(one.composed.prefix, other.composed.prefix);
}

#[test]
fn unknown_thinking_goes_and_so_does_a_message_of_nothing_else() {
    let messages = [user("a"), list("assistant", &[thinks("s1")]), system("s"), user("b")];
    let mut case = Case::of(&strs(&messages));
    case.bound.clear();
    let done = case.compose();
    assert_eq!(done.messages(), [user("a"), user("b"), system("s")]);
}

#[test]
fn in_manual_mode_all_thinking_stays() {
    let body = format!(r#"{{"thinking":{{"type":"enabled","budget_tokens":1024}},"messages":[{}]}}"#, talk().join(","));
    let done = Case::body(&body).replace(&[(0, 0)], &[(None, &[&text("new")])]).compose();
    assert_eq!(done.composed.thinking_dropped, 0);
    assert_eq!(done.messages()[1..], talk()[1..]);
}
