//! Repairs everything that the provider would refuse, and reports it.

use super::*;
use ctx_core::edit::effect::{FrameKey, FrameRef, Place};

fn tools() -> Vec<String> {
    vec![
        user("a"),
        list("assistant", &[text("look"), call("t1"), call("t2")]),
        list("user", &[result("t1"), result("t2")]),
        says("done"),
        user("b"),
    ]
}

#[test]
fn a_call_takes_its_result_along_and_the_other_way_round() {
    for block in [(1, 1), (2, 0)] {
        let done = Case::of(&strs(&tools())).delete(&[block]).compose();
        let expected = [
            user("a"),
            list("assistant", &[text("look"), call("t2")]),
            list("user", &[result("t2")]),
            says("done"),
            user("b"),
        ];
        assert_eq!(done.messages(), expected, "{block:?}");
        assert_eq!(done.rules().len(), 1);
    }
    let done = Case::of(&strs(&tools())).delete_messages(&[2]).compose();
    assert_eq!(done.messages(), [user("a"), says("look"), says("done"), user("b")]);
    assert_eq!(done.rules(), ["A30", "A30"]);
}

#[test]
fn what_got_between_a_call_and_its_result_goes_behind() {
    let messages = [
        user("a"),
        list("assistant", &[call("t1")]),
        list("user", &[result("t1"), text("hurry")]),
        says("b"),
        user("c"),
    ];
    let done = Case::of(&strs(&messages)).replace(&[(2, 1)], &[(Some(Role::User), &[&text("new")])]).compose();
    assert_eq!(done.messages()[2..4], [list("user", &[result("t1")]), list("user", &[text("new")])]);

    // A synthetic frame between them: the typed text opened a frame, which was moved before.
    let slot = |n| FrameRef { key: FrameKey::Opened(SlotId(n)), until: None };
    let done =
        Case::of(&strs(&messages)).effect(Effect::Move { frames: vec![slot(2), slot(4)], to: Place::Start }).compose();
    let expected = [
        list("user", &[text("hurry")]),
        says("b"),
        user("c"),
        user("a"),
        list("assistant", &[call("t1")]),
        list("user", &[result("t1")]),
    ];
    assert_eq!(done.messages(), expected);
}

#[test]
fn a_summary_between_call_and_result_comes_after_the_result() {
    let messages =
        [user("a"), list("assistant", &[call("t1"), text("x")]), list("user", &[result("t1")]), says("b"), user("c")];
    let done = Case::of(&strs(&messages)).replace(&[(1, 1)], &[(Some(Role::User), &[&text("new")])]).compose();
    let expected = [
        user("a"),
        list("assistant", &[call("t1")]),
        list("user", &[result("t1")]),
        list("user", &[text("new")]),
        says("b"),
        user("c"),
    ];
    assert_eq!(done.messages(), expected);
    assert_eq!(done.rules(), ["A34"]);
}

#[test]
fn tool_blocks_of_ours_need_a_partner_and_a_new_id() {
    let by: [(Option<Role>, &[&str]); 2] = [
        (Some(Role::Assistant), &[&call("n1"), &call("n2"), &call("t1"), &text("hm")]),
        (Some(Role::User), &[&result("n1"), &result("n9"), &text("hm")]),
    ];
    let done = Case::of(&strs(&tools())).replace(&[(3, 0)], &by).compose();
    assert_eq!(done.messages()[3], list("assistant", &[call("n1"), text("hm")]));
    assert_eq!(done.messages()[4], list("user", &[result("n1"), text("hm")]));
    assert_eq!(done.rules(), ["A32", "A30", "A31"]);
}

#[test]
fn blocks_of_ours_that_nobody_takes_are_left_out() {
    let bad: [&str; 9] = [
        "7",
        "{",
        r#"{"text":"x"}"#,
        r#"{"type":"text","text":" \n"}"#,
        r#"{"type":"thinking","thinking":"x","signature":"s"}"#,
        r#"{"type":"tool_use","id":"x","name":"Read","input":{}}"#,
        r#"{"type":"web_search_tool_result","tool_use_id":"x","content":[]}"#,
        r#"{"type":"fallback","from":{"model":"x"},"to":{"model":"y"}}"#,
        r#"{"type":"text","text":"ok","cache_control":{"type":"ephemeral"}}"#,
    ];
    let done = Case::of(&[&user("a")]).replace(&[(0, 0)], &[(None, &bad)]).compose();
    assert_eq!(done.messages(), [list("user", &[text("ok")])]);
    assert_eq!(done.rules(), ["A2", "A2", "A2", "A27", "A54", "A30", "A40", "A50", "A76"]);
}

#[test]
fn the_providers_own_tools_stay_in_pairs() {
    let search = |id: &str| format!(r#"{{"type":"server_tool_use","id":"{id}","name":"web_search","input":{{}}}}"#);
    let found = |id: &str| format!(r#"{{"type":"web_search_tool_result","tool_use_id":"{id}","content":[]}}"#);
    let answer = list("assistant", &[search("s1"), found("s1"), text("so")]);
    let messages = [user("a"), answer.clone(), user("b")];
    assert_eq!(Case::of(&strs(&messages)).compose().rules(), [""; 0]);
    for block in [0, 1] {
        let done = Case::of(&strs(&messages)).delete(&[(1, block)]).compose();
        assert_eq!(done.messages()[1], says("so"));
    }
    let torn = Case::of(&strs(&messages)).replace(&[(1, 1)], &[(Some(Role::User), &[&text("x")])]).compose();
    assert_eq!(torn.messages(), [user("a"), list("user", &[text("x")]), says("so"), user("b")]);
    // A running call stays, with its tool.
    let body = format!(
        r#"{{"messages":[{},{},{}],"tools":[{{"name":"Read","input_schema":{{}}}},{{"type":"web_search_1","name":"web_search"}}]}}"#,
        user("old"),
        says("older"),
        list("assistant", &[search("s1")])
    );
    let tool =
        Effect::Replace { why: Why::Deleted, covers: vec![Cover::Tool { name: "web_search".into() }], by: vec![] };
    let done = Case::body(&body).delete_messages(&[1]).effect(tool).compose();
    assert_eq!(done.rules(), ["A41"]);
    assert_eq!(done.messages().len(), 2);
}

#[test]
fn the_conversation_begins_and_ends_with_a_user() {
    let messages = [user("a"), says("b"), user("c"), says("d"), user("e")];
    let done = Case::of(&strs(&messages)).delete_messages(&[0, 4]).compose();
    assert_eq!(done.rules(), ["A3", "A6"]);
    assert_eq!(done.messages()[1..4], messages[1..4]);
    assert_eq!(done.messages().len(), 5);
    let all = Case::of(&strs(&messages)).delete_messages(&[0, 1, 2, 3, 4]).compose();
    assert_eq!((all.rules(), all.messages().len()), (vec!["A1"], 1));
    // The client wants its last message to be continued.
    let prefill = Case::of(&strs(&messages[..4])).delete_messages(&[0, 1]).compose();
    assert_eq!(prefill.messages(), messages[2..4]);
}

#[test]
fn system_messages_go_to_where_they_may_stand() {
    let messages = [user("a"), system("s"), says("b"), user("c"), system("t"), says("d"), user("e")];
    assert_eq!(Case::of(&strs(&messages)).compose().messages(), messages);
    let done = Case::of(&strs(&messages)).delete_messages(&[2]).compose();
    assert_eq!(done.messages(), [user("a"), user("c"), system("s"), system("t"), says("d"), user("e")]);
    assert_eq!(done.rules(), ["A14"]);
    let done = Case::of(&strs(&messages)).delete_messages(&[0]).compose();
    assert_eq!(done.messages()[1..], [system("s"), says("b"), user("c"), system("t"), says("d"), user("e")]);
    let done = Case::of(&strs(&messages)).delete_messages(&[0, 2, 3, 5, 6]).compose();
    assert_eq!(done.messages()[1..], [system("s"), system("t")]);
    // Settings may stand anywhere.
    let settings = r#"{"role":"system","content":[],"output_config":{"effort":"low"}}"#.to_owned();
    let messages = [user("a"), settings.clone(), says("b"), settings, user("c")];
    let done = Case::of(&strs(&messages)).delete_messages(&[2]).compose();
    assert_eq!(done.messages(), [&messages[..2], &messages[3..]].concat());
    assert_eq!(done.rules(), [""; 0]);
}

#[test]
fn a_system_message_of_ours_needs_a_model_that_takes_one() {
    let by = text("be brief");
    let done =
        Case::of(&[&user("a"), &says("b"), &user("c")]).replace(&[(1, 0)], &[(Some(Role::System), &[&by])]).compose();
    assert_eq!(done.messages()[1], list("user", &[by]));
    assert_eq!(done.rules(), ["A12"]);
}

#[test]
fn nothing_empty_is_sent() {
    let blank = list("user", &[text("a"), text(" \\n")]);
    let done = Case::of(&[&user("q"), &says("r"), &blank, &says("b"), &user("c")]).delete(&[(2, 0)]).compose();
    assert_eq!(done.messages(), [user("q"), says("r"), says("b"), user("c")]);
    assert_eq!(done.rules(), ["A26"]);
    let thought = list("assistant", &[thinks("s1"), text("b")]);
    let done = Case::of(&[&user("q"), &thought, &user("c")]).delete(&[(1, 1)]).compose();
    assert_eq!(done.messages(), [user("q"), user("c")]);
    assert_eq!(done.rules(), ["A39"]);
}

#[test]
fn tools_that_are_needed_stay() {
    let tool = |names: &[&str]| Effect::Replace {
        why: Why::Deleted,
        covers: names.iter().map(|name| Cover::Tool { name: (*name).into() }).collect(),
        by: vec![],
    };
    let done = Case::of(&strs(&tools())).effect(tool(&["Read"])).compose();
    assert_eq!(done.rules(), ["A9"]);
    assert!(done.text.contains(r#"[{"name":"Read""#));
    let body = |choice: &str| {
        let found =
            r#"{"tool_use_id":"t1","type":"tool_result","content":[{"type":"tool_reference","tool_name":"Later"}]}"#;
        format!(
            r#"{{"messages":[{},{},{}],"tools":[{{"name":"Read"}},{{"name":"Later","defer_loading":true}},{{"name":"Other"}}]{choice}}}"#,
            user("a"),
            list("assistant", &[call("t1")]),
            list("user", &[found.to_owned()])
        )
    };
    let done = Case::body(&body("")).effect(tool(&["Later", "Other"])).compose();
    assert_eq!(done.rules(), ["A45"]);
    assert!(done.text.contains("\"Later\",\"defer") && !done.text.contains("Other"));
    let done = Case::body(&body("")).effect(tool(&["Later", "Other", "Read"])).compose();
    assert_eq!(done.rules(), ["A45", "A45"]);
    let done = Case::body(&body(r#","tool_choice":{"type":"tool","name":"Other"}"#)).effect(tool(&["Other"])).compose();
    assert_eq!(done.rules(), ["A9"]);
    // Content that the model does not read is not part of the prefix.
    let done = Case::body(&body("")).delete_messages(&[1, 2]).effect(tool(&["Later"])).compose();
    assert_eq!(done.composed.prefix, done.prefixes[1]);
    assert!(!done.text.contains("Later"));
}

#[test]
fn what_the_assistant_cannot_have_said_is_left_out() {
    let bad: [&str; 6] = [
        r#"{"type":"tool_use","id":"x","input":{}}"#,
        r#"{"type":"tool_use","id":"x","name":"a name","input":{}}"#,
        r#"{"type":"server_tool_use","id":"toolu_1","name":"web_search","input":{}}"#,
        r#"{"type":"image","source":{"type":"url","url":"http://host/"}}"#,
        r#"{"type":"document","source":{"type":"text","data":"x"}}"#,
        r#"{"type":"text","text":"ok"}"#,
    ];
    let done = Case::of(&[&user("a"), &says("b"), &user("c")]).replace(&[(1, 0)], &[(None, &bad)]).compose();
    assert_eq!(done.messages()[1], says("ok"));
    assert_eq!(done.rules(), ["A10", "A10", "A10", "A11", "A11"]);
}

#[test]
fn what_the_provider_found_is_sent_as_it_is_or_not_at_all() {
    let search = r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}"#.to_owned();
    let found = r#"{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}"#.to_owned();
    let messages = [user("a"), list("assistant", &[search, found, text("so")]), user("b")];
    let done = Case::of(&strs(&messages)).result((1, 1), "new").compose();
    assert_eq!(done.messages()[1], says("so"));
    assert_eq!(done.rules(), ["A42", "A30"]);
}

#[test]
fn the_tool_that_a_container_is_for_stays() {
    let body = format!(
        r#"{{"messages":[{}],"container":"c1","tools":[{{"name":"Read"}},{{"type":"code_execution_20250825","name":"run"}}]}}"#,
        user("a")
    );
    let covers = vec![Cover::Tool { name: "run".into() }];
    let done = Case::body(&body).effect(Effect::Replace { why: Why::Deleted, covers, by: vec![] }).compose();
    assert_eq!((done.rules(), done.text), (vec!["A47"], body));
}

#[test]
fn the_tools_of_a_server_that_the_request_names_stay() {
    let set = |server: &str| format!(r#"{{"type":"mcp_toolset","mcp_server_name":"{server}"}}"#);
    let body = |messages: &[String]| {
        format!(
            r#"{{"mcp_servers":[{{"type":"url","name":"cal","url":"https://host"}}],"messages":[{}],"tools":[{{"name":"Read"}},{},{}]}}"#,
            messages.join(","),
            set("cal"),
            set("other")
        )
    };
    let covers = vec![Cover::Tool { name: "Read".into() }, Cover::Tool { name: String::new() }];
    let all = Effect::Replace { why: Why::Deleted, covers, by: vec![] };
    for messages in [vec![user("a")], tools()] {
        let done = Case::body(&body(&messages)).effect(all.clone()).compose();
        assert_eq!(done.rules(), ["A43"]);
        assert!(done.text.ends_with(&format!(r#""tools":[{}]}}"#, set("cal"))), "{}", done.text);
    }
    let without = body(&[user("a")]).replace("mcp_servers", "other_servers");
    assert!(Case::body(&without).effect(all).compose().text.ends_with(r#""tools":[]}"#));
}

#[test]
fn nothing_of_ours_stands_before_a_summary_that_the_request_opens_with() {
    let summary = list("assistant", &[r#"{"type":"compaction","content":"so far","signature":"s"}"#.to_owned()]);
    let ours = made(&[(Some(Role::User), &[r#"{"type":"text","text":"ours"}"#])]);
    let effect = Effect::Insert { number: 1, messages: ours, to: Place::Start, title: None };
    let done = Case::of(&[&summary, &user("a"), &says("b"), &user("c")]).effect(effect).compose();
    let messages = [summary, list("user", &[text("ours")]), user("a"), says("b"), user("c")];
    assert_eq!((done.messages(), done.rules()), (messages.to_vec(), vec!["A3"]));
}

#[test]
fn nothing_of_ours_brings_cache_marks() {
    let result = r#"{"type":"tool_result","tool_use_id":"n1","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]}"#;
    let by: [(Option<Role>, &[&str]); 2] = [(Some(Role::Assistant), &[&call("n1")]), (Some(Role::User), &[result])];
    let tool = r#"{"name":"Read","input_schema":{},"cache_control":{"type":"ephemeral"}}"#;
    let covers = vec![Cover::Tool { name: "Read".into() }];
    let done = Case::of(&strs(&tools()))
        .replace(&[(3, 0)], &by)
        .effect(Effect::Replace { why: Why::Edited, covers, by: made(&[(None, &[tool])]) })
        .compose();
    assert!(!done.text.contains("cache_control") && done.text.contains(r#""text":"x""#), "{}", done.text);
    assert_eq!(done.rules(), ["A76", "A76"]);
}

/// The effect of deferring the client's own tools.
pub(super) fn deferring(names: &[&str]) -> Vec<Effect> {
    let stub = |name: &&str| {
        let json = format!(r#"{{"name":"{name}","defer_loading":true}}"#);
        let content = vec![crate::anthropic::content::restored(&json)];
        let covers = vec![Cover::Tool { name: (*name).to_owned() }];
        Effect::Replace { why: Why::Edited, covers, by: vec![NewMessage { role: None, content }] }
    };
    names.iter().map(stub).collect()
}

#[test]
fn a_deferred_tool_keeps_the_clients_definition_and_a_search_finds_it() {
    let body = |choice: &str, more: &str| {
        format!(
            r#"{{"messages":[{}],"tools":[{{"name":"Read","input_schema":{{}}}},{{"name":"Agent","description":"long","input_schema":{{}}}},{{"name":"Skill","input_schema":{{}},"cache_control":{{"type":"ephemeral"}}}},{{"name":"Zeta","defer_loading":true}}{more}]{choice}}}"#,
            user("a")
        )
    };
    let compose = |body: &str, names: &[&str]| {
        let case = Case::body(body);
        deferring(names).into_iter().fold(case, Case::effect).compose()
    };
    const SEARCH: &str = r#"{"type":"tool_search_tool_regex_20251119","name":"tool_search_tool_regex"}"#;
    let done = compose(&body("", ""), &["Agent", "Skill"]);
    let agent = r#"{"name":"Agent","description":"long","input_schema":{},"defer_loading":true}"#;
    let skill = r#"{"name":"Skill","input_schema":{},"defer_loading":true}"#;
    assert!(done.text.contains(&format!("{agent},{SEARCH},{skill},{{\"name\":\"Zeta\"")), "{}", done.text);
    assert!(!done.text.contains(r#"true,"cache_control""#), "{}", done.text);
    // The client's own search is enough.
    let own = r#",{"type":"tool_search_tool_bm25_20251119","name":"tool_search_tool_bm25"}"#;
    let done = compose(&body("", own), &["Agent"]);
    assert!(done.text.contains(agent) && !done.text.contains("regex"), "{}", done.text);
    // A demanded tool stays loaded.
    let done = compose(&body(r#","tool_choice":{"type":"tool","name":"Agent"}"#, ""), &["Agent"]);
    assert_eq!(done.rules(), ["A9"]);
    assert!(!done.text.contains(agent) && !done.text.contains("tool_search"), "{}", done.text);
    // Where the client does not search for tools, provider or model may not know how.
    let done = compose(&body("", "").replace(r#","defer_loading":true"#, ""), &["Agent"]);
    assert_eq!(done.rules(), ["A45"]);
    assert!(!done.text.contains("defer_loading") && !done.text.contains("tool_search"), "{}", done.text);
    // What the model does not read is not part of the prefix; the search is.
    let other = compose(&body("", "").replace("long", "other"), &["Agent"]);
    assert_eq!(compose(&body("", ""), &["Agent"]).composed.prefix, other.composed.prefix);
}
