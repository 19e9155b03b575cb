//! Only the targets of operations differ.

use super::*;

#[test]
fn what_nothing_touches_leaves_as_one_range() {
    let text =
        r#" { "messages" : [ {"role":"user","content":"a"} , {"content":[ ],"role":"assistant"} ] , "x" : 1.50e+10 } "#;
    let done = Case::body(text).compose();
    assert_eq!(done.composed.segments, [Segment::Source(0..text.len())]);
    assert_eq!(done.composed.prefix, done.prefixes[2]);
    assert_eq!((done.rules(), done.composed.thinking_dropped), (vec![], 0));
}

#[test]
fn a_deleted_message_goes_with_its_comma() {
    let text = r#"{"messages":[ {"role":"user","content":"a"} , {"role":"assistant","content":"b"} , {"role":"user","content":"c"} , {"role":"assistant","content":"d"}, {"role":"user","content":"e"} ]}"#;
    let done = Case::body(text).delete_messages(&[2, 3]).compose();
    let expected = r#"{"messages":[ {"role":"user","content":"a"} , {"role":"assistant","content":"b"}, {"role":"user","content":"e"} ]}"#;
    assert_eq!(done.text, expected);
    assert_eq!(done.composed.segments.len(), 2);
}

#[test]
fn a_deleted_block_goes_with_its_comma_and_nothing_else() {
    let message = r#"{ "x":1.0, "role":"user","content":[ {"type":"text","text":"\u0061"} , {"type":"text","text":"b"},  {"type":"text","text":"c"} ] ,"z" :2 }"#;
    let cases = [
        (
            0,
            r#"{ "x":1.0, "role":"user","content":[ {"type":"text","text":"b"},  {"type":"text","text":"c"} ] ,"z" :2 }"#,
        ),
        (
            1,
            r#"{ "x":1.0, "role":"user","content":[ {"type":"text","text":"\u0061"},  {"type":"text","text":"c"} ] ,"z" :2 }"#,
        ),
        (
            2,
            r#"{ "x":1.0, "role":"user","content":[ {"type":"text","text":"\u0061"} , {"type":"text","text":"b"} ] ,"z" :2 }"#,
        ),
    ];
    for (block, expected) in cases {
        assert_eq!(Case::of(&[message]).delete(&[(0, block)]).compose().messages(), [expected]);
    }
}

#[test]
fn the_content_of_a_result_is_replaced_and_the_rest_of_it_stays() {
    let results = r#"{"role":"user","content":[{"is_error":true, "tool_use_id":"t1","content":[{"type":"text","text":"long"}] ,"type":"tool_result"},{"type":"tool_result","tool_use_id":"t2"}]}"#;
    let calls = list("assistant", &[call("t1"), call("t2")]);
    let case = Case::of(&[&user("a"), &calls, results]).result((2, 0), "sh\"ort").result((2, 1), "none");
    let expected = r#"{"role":"user","content":[{"is_error":true, "tool_use_id":"t1","content":"sh\"ort" ,"type":"tool_result"},{"type":"tool_result","tool_use_id":"t2","content":"none"}]}"#;
    let done = case.compose();
    assert_eq!(done.messages()[2], expected);
    assert_eq!(done.rules(), [""; 0]);
}

#[test]
fn a_replacement_without_a_role_stands_inside_the_message() {
    let message = list("user", &[text("a"), text("b"), text("c")]);
    let done = Case::of(&[&message]).replace(&[(0, 1)], &[(None, &[&text("new")])]).compose();
    assert_eq!(done.messages(), [list("user", &[text("a"), text("new"), text("c")])]);
    let done = Case::of(&[&message]).replace(&[(0, 0), (0, 1), (0, 2)], &[(None, &[&text("new")])]).compose();
    assert_eq!(done.messages(), [list("user", &[text("new")])]);
    let done = Case::of(&[&user("a")]).replace(&[(0, 0)], &[(None, &[&text("new")])]).compose();
    assert_eq!(done.messages(), [list("user", &[text("new")])]);
}

#[test]
fn a_message_of_ours_stands_where_it_replaces_and_tears_its_message_apart() {
    let message = r#"{"role":"user","content":[{"type":"text","text":"a"}, {"type":"text","text":"b"}, {"type":"text","text":"c"}],"x":1}"#;
    let by = text("new");
    let done =
        Case::of(&[message, &says("d"), &user("e")]).replace(&[(0, 1)], &[(Some(Role::Assistant), &[&by])]).compose();
    let expected = [
        r#"{"role":"user","content":[{"type":"text","text":"a"}],"x":1}"#.to_owned(),
        list("assistant", &[by]),
        list("user", &[text("c")]),
        says("d"),
        user("e"),
    ];
    assert_eq!(done.messages(), expected);
}

#[test]
fn two_edits_of_the_same_thing_follow_each_other() {
    let done = Case::of(&[&user("a"), &says("b"), &user("c")])
        .replace(&[(1, 0)], &[(Some(Role::Assistant), &[&text("first")])])
        .effect(Effect::Replace {
            why: Why::Edited,
            covers: vec![Cover::Made(ctx_core::edit::effect::NewMessageId {
                effect: EffectId { commit: CommitId(1), index: 0 },
                message: 0,
            })],
            by: made(&[(None, &[&text("second")])]),
        })
        .compose();
    assert_eq!(done.messages(), [user("a"), list("assistant", &[text("second")]), user("c")]);
}

#[test]
fn system_and_tools_are_cut_and_replaced_in_place() {
    let body = r#"{"system":[ {"type":"text","text":"x-anthropic-billing-header: 1"}, {"type":"text","text":"s1"} , {"type":"text","text":"s2"} ],"messages":[{"role":"user","content":"a"}], "tools" : [ {"name":"A"} , {"name":"B"} ]}"#;
    let system = |at: u32| Cover::System { at, key: Key([0; 16]) };
    let tool = |name: &str| Cover::Tool { name: name.into() };
    let effect =
        |covers: Vec<Cover>, by: &[(Option<Role>, &[&str])]| Effect::Replace { why: Why::Edited, covers, by: made(by) };
    let done = Case::body(body)
        .effect(effect(vec![system(1)], &[(None, &[&text("new")])]))
        .effect(effect(vec![tool("A")], &[]))
        .compose();
    let expected = r#"{"system":[ {"type":"text","text":"x-anthropic-billing-header: 1"},{"type":"text","text":"new"} , {"type":"text","text":"s2"} ],"messages":[{"role":"user","content":"a"}], "tools" : [ {"name":"B"} ]}"#;
    assert_eq!(done.text, expected);
    assert_ne!(done.composed.prefix, done.prefixes[1]);

    let all =
        Case::body(body).effect(effect(vec![system(0), system(1), system(2), tool("A"), tool("B")], &[])).compose();
    let expected = r#"{"system":[ {"type":"text","text":"x-anthropic-billing-header: 1"} ],"messages":[{"role":"user","content":"a"}], "tools" : [  ]}"#;
    assert_eq!(all.text, expected);
    let gone = Case::body(r#"{"system":"s","messages":[{"role":"user","content":"a"}]}"#)
        .effect(effect(vec![system(0)], &[]))
        .compose();
    assert_eq!(gone.text, r#"{"messages":[{"role":"user","content":"a"}]}"#);
    let edited = Case::body(r#"{"system":"s","messages":[{"role":"user","content":"a"}]}"#)
        .effect(effect(vec![system(0)], &[(None, &[&text("t")])]))
        .compose();
    assert_eq!(edited.text, r#"{"system":[{"type":"text","text":"t"}],"messages":[{"role":"user","content":"a"}]}"#);
}
