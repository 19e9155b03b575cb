//! Cache breakpoints.

use super::*;

const MARK: &str = r#""cache_control":{"type":"ephemeral"}"#;
const LONG: &str = r#""cache_control":{"type":"ephemeral","ttl":"1h"}"#;

fn marked(text: &str, mark: &str) -> String {
    format!(r#"{{"type":"text","text":"{text}",{mark}}}"#)
}

fn chat(turns: usize, mark: &str) -> Vec<String> {
    let mut messages: Vec<String> = (0..turns).flat_map(|n| [user(&format!("q{n}")), says(&format!("a{n}"))]).collect();
    messages.push(list("user", &[marked("last", mark)]));
    messages
}

#[test]
fn marks_on_what_stays_stay_and_are_told() {
    let case = Case::of(&strs(&chat(3, MARK))).delete_messages(&[2]);
    let done = case.compose();
    assert_eq!(done.messages().last(), Some(&list("user", &[marked("last", MARK)])));
    assert_eq!(done.composed.marks.last(), Some(&done.composed.prefix));
}

#[test]
fn the_free_mark_stands_behind_the_last_change_so_that_the_next_one_finds_it() {
    let first = Case::of(&strs(&chat(20, MARK))).delete_messages(&[10]);
    let done = first.compose();
    assert_eq!(done.text.matches("cache_control").count(), 2);
    assert_eq!(done.messages()[10], list("assistant", &[marked("a5", MARK)]));
    // Something behind it changes: the content before that is read from the cache.
    let mut second = Case::of(&strs(&chat(20, MARK))).delete_messages(&[10, 30]);
    second.written = done.composed.marks.clone();
    let again = second.compose();
    assert_eq!(again.messages()[10], done.messages()[10]);
    assert_eq!(again.composed.marks, [done.composed.marks[0], again.composed.prefix]);
    // From then on the new position has the breakpoint.
    second.written.extend(again.composed.marks);
    let later = second.compose();
    assert_eq!(later.messages()[29], list("assistant", &[marked("a15", MARK)]));
}

#[test]
fn the_free_mark_stands_before_what_will_be_changed_next() {
    let mut case = Case::of(&strs(&chat(20, MARK))).delete_messages(&[10]);
    case.next = Some(24);
    let done = case.compose();
    assert_eq!(done.text.matches("cache_control").count(), 2);
    assert_eq!(done.messages()[22], list("assistant", &[marked("a11", MARK)]), "{}", done.text);
    // The entry written before it is read first.
    case.written = vec![case.prefixes()[7]];
    assert_eq!(case.compose().messages()[6], list("user", &[marked("q3", MARK)]));
}

#[test]
fn thinking_that_had_to_go_is_no_place_for_a_mark() {
    let mut messages = chat(20, MARK);
    messages[31] = list("assistant", &[thinks("s1"), text("a15")]);
    let done = Case::of(&strs(&messages)).delete_messages(&[10]).compose();
    assert!(!done.text.contains("s1"), "it is bound to what was deleted");
    assert_eq!(done.messages()[10], list("assistant", &[marked("a5", MARK)]), "{}", done.text);
}

#[test]
fn a_mark_that_lost_its_block_is_put_back() {
    let messages = [user("a"), says("b"), list("user", &[text("c"), marked("d", MARK)])];
    let done = Case::of(&strs(&messages)).delete(&[(2, 1)]).compose();
    assert_eq!(done.messages()[2], list("user", &[marked("c", MARK)]));
    let done = Case::of(&strs(&messages)).replace(&[(2, 0), (2, 1)], &[(None, &[&text("new")])]).compose();
    assert_eq!(done.messages()[2], list("user", &[marked("new", MARK)]));
    // Never on an inserted message, nor on thinking.
    let thought = list("assistant", &[text("b"), thinks("s1")]);
    let messages = [user("a"), thought, list("user", &[marked("d", MARK)])];
    let done = Case::of(&strs(&messages)).delete_messages(&[2]).compose();
    assert!(done.messages()[1].contains(&marked("b", MARK)), "{}", done.text);
    // A string becomes a list in the client's spelling.
    let messages = [user("a"), list("user", &[marked("d", LONG)])];
    let done = Case::of(&strs(&messages)).delete_messages(&[1]).compose();
    assert_eq!(done.messages(), [list("user", &[marked("a", LONG)])]);
}

#[test]
fn the_free_mark_goes_to_the_last_written_place_before_the_edit() {
    let mut case = Case::of(&strs(&chat(20, MARK))).delete_messages(&[10]);
    case.written = [3, 7, 15].map(|n| case.prefixes()[n]).to_vec();
    let done = case.compose();
    assert_eq!(done.messages()[6], list("user", &[marked("q3", MARK)]));
    assert_eq!(done.composed.marks, [done.prefixes[7], done.composed.prefix]);
    // A breakpoint that reaches it makes it unnecessary.
    let mut near = Case::of(&strs(&chat(9, MARK))).delete_messages(&[10]);
    near.written = vec![near.prefixes()[7]];
    assert!(!near.compose().messages()[6].contains("cache_control"));
    // Without breakpoints, none is added.
    let mut none = Case::of(&strs(&chat(20, "\"x\":1"))).delete_messages(&[10]);
    none.written = case.written.clone();
    assert!(!none.compose().text.contains("cache_control"));
}

#[test]
fn never_more_than_four_and_long_before_short() {
    let body = |system: &str, more: &str, message: &str| {
        let system = format!("[{},{}]", marked("s1", system), marked("s2", system));
        format!(r#"{{"system":{system},"messages":[{}]{more}}}"#, chat(20, message).join(","))
    };
    let compose = |text: &str| {
        let mut case = Case::body(text).delete_messages(&[10]);
        case.written = vec![case.prefixes()[5]];
        case.compose().text
    };
    assert_eq!(compose(&body(MARK, "", MARK)).matches("cache_control").count(), 4);
    assert_eq!(compose(&body(MARK, &format!(",{MARK}"), MARK)).matches("cache_control").count(), 4);
    assert_eq!(compose(&body(LONG, "", LONG)).matches("1h").count(), 4);
    assert_eq!(compose(&body(LONG, "", MARK)).matches("1h").count(), 2);
}

#[test]
fn a_mark_of_the_system_prompt_or_a_tool_moves_to_the_one_before() {
    let body = format!(
        r#"{{"system":[{},{}],"messages":[{}],"tools":[{{"name":"A"}},{{"name":"B",{MARK}}}]}}"#,
        text("s1"),
        marked("s2", MARK),
        user("a")
    );
    let effect = Effect::Replace {
        why: Why::Deleted,
        covers: vec![Cover::System { at: 1, key: Key([0; 16]) }, Cover::Tool { name: "B".into() }],
        by: vec![],
    };
    let done = Case::body(&body).effect(effect).compose();
    let expected =
        format!(r#"{{"system":[{}],"messages":[{}],"tools":[{{"name":"A",{MARK}}}]}}"#, marked("s1", MARK), user("a"));
    assert_eq!(done.text, expected);
}

#[test]
fn at_the_end_a_mark_lives_as_long_as_the_automatic_one() {
    let long = r#"{"type":"text","text":"b","cache_control":{"type":"ephemeral","ttl":"1h"}}"#.to_owned();
    let body = format!(
        r#"{{"cache_control":{{"type":"ephemeral"}},"messages":[{},{},{}]}}"#,
        user("a"),
        list("user", &[long]),
        user("c")
    );
    assert_eq!(Case::body(&body).replace(&[(0, 0)], &[(None, &[&text("n")])]).compose().rules(), [""; 0]);
    let done = Case::body(&body).delete_messages(&[2]).compose();
    assert_eq!(done.rules(), ["A79"]);
    assert!(!done.text.contains("1h"));
}

#[test]
fn a_mark_that_lost_its_block_never_goes_into_the_clients_attribution() {
    let attribution = text("x-anthropic-billing-header: cc_version=1; cc_entrypoint=cli;");
    let body = |identity: &str| {
        let system = [&attribution, identity, &marked("prompt", MARK)].join(",");
        format!(r#"{{"system":[{system}],"messages":[{}]}}"#, user("q"))
    };
    let key = Key::of([b"any".as_slice()]);
    let delete = |places: std::ops::Range<u32>| {
        let covers = places.map(|at| Cover::System { at, key }).collect();
        Effect::Replace { why: Why::Deleted, covers, by: vec![] }
    };
    let done = Case::body(&body(&marked("identity", MARK))).effect(delete(0..3)).compose();
    assert_eq!(done.rules(), ["E"]);
    assert!(done.text.starts_with(&format!(r#"{{"system":[{attribution}],"#)), "{}", done.text);
    // Any other block before it takes the mark.
    let done = Case::body(&body(&text("identity"))).effect(delete(2..3)).compose();
    let left = format!(r#"{{"system":[{attribution},{}],"#, marked("identity", MARK));
    assert!(done.text.starts_with(&left), "{}", done.text);
}
