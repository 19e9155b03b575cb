//! Pairs, families, places and forms.

use super::*;
use ctx_core::content::CallInput;

fn custom(call: &str) -> String {
    format!(r#"{{"type":"custom_tool_call","id":"ctc_{call}","call_id":"{call}","name":"exec","input":"run"}}"#)
}

fn custom_output(call: &str) -> String {
    let part = r#"{"type":"input_text","text":"a"}"#;
    format!(r#"{{"type":"custom_tool_call_output","id":"o_{call}","call_id":"{call}","output":[{part},{part}]}}"#)
}

fn ours(id: &str) -> Content {
    Content::Result { id: Some(id.into()), parts: vec![Content::text("ours")], error: false }
}

#[test]
fn a_call_takes_its_result_along_and_a_result_its_call() {
    let items = [user("go"), call("", "c1"), output("c1"), call("", "c2"), output("c2"), user("more")];
    let items: Vec<&str> = items.iter().map(String::as_str).collect();
    for gone in [1, 2] {
        let done = Case::of(&items).delete_items(&[gone]).compose();
        assert_eq!(done.items, [items[0], items[3], items[4], items[5]]);
    }
}

#[test]
fn items_of_an_unknown_type_that_share_a_call_go_together() {
    let unknown = r#"{"type":"teleport_call","call_id":"c","to":"x"}"#;
    let answer = r#"{"type":"teleport_call_output","call_id":"c","output":"there"}"#;
    let lone = r#"{"type":"teleport_call","call_id":"d","to":"y"}"#;
    let items = [&user("go"), unknown, answer, lone, &says("", "done"), &user("more")];
    for gone in [1, 2] {
        let done = Case::of(&items).delete_items(&[gone]).compose();
        assert_eq!(done.items, [items[0], items[3], items[4], items[5]]);
    }
    let done = Case::of(&items).delete_items(&[4]).compose();
    assert_eq!(done.items, [items[0], items[1], items[2], items[3], items[5]]);
}

#[test]
fn a_result_that_stands_alone_stays() {
    let event = r#"{"type":"function_call_output","name":"event","output":"news"}"#;
    let done = Case::of(&[&user("go"), event, &says("", "I see"), &user("more")]).delete_items(&[2]).compose();
    assert_eq!(done.items, [user("go"), event.to_owned(), user("more")]);
}

#[test]
fn results_of_ours_are_of_the_family_of_their_call() {
    let done =
        Case::of(&[&user("go"), &custom("c"), &custom_output("c")]).replace((2, 0), None, vec![ours("c")]).compose();
    assert_eq!(done.items[2], r#"{"type":"custom_tool_call_output","call_id":"c","output":"ours"}"#);
    let shell = r#"{"type":"shell_call","call_id":"c","action":{"commands":["ls"]}}"#;
    let printed = r#"{"type":"shell_call_output","call_id":"c","output":[{"stdout":"a","stderr":"","outcome":{"type":"exit","exit_code":0}}]}"#;
    let done = Case::of(&[&user("go"), shell, printed]).replace((2, 0), None, vec![ours("c")]).compose();
    assert_eq!(done.items[2], printed.replace(r#""stdout":"a""#, r#""stdout":"ours""#));
    let raw = content::raw(r#"{"type":"function_call_output","id":"x","call_id":"c","output":"raw"}"#.to_owned());
    let done = Case::of(&[&user("go"), &custom("c"), &custom_output("c")]).replace((2, 0), None, vec![raw]).compose();
    assert_eq!(done.items[2], r#"{"type":"custom_tool_call_output","call_id":"c","output":"raw"}"#);
}

#[test]
fn another_text_keeps_the_item_and_its_form() {
    let done = Case::of(&[&user("go"), &custom("c"), &custom_output("c")]).result(2, "[dropped]").compose();
    let list = r#"[{"type":"input_text","text":"[dropped]"}]"#;
    assert_eq!(done.items[2], format!(r#"{{"type":"custom_tool_call_output","call_id":"c","output":{list}}}"#));
    let program = r#"{"type":"program","call_id":"p","code":"x","fingerprint":"f"}"#;
    let result = r#"{"type":"program_output","call_id":"p","result":"long","status":"completed"}"#;
    let done = Case::of(&[&user("go"), program, result]).result(2, "short").compose();
    assert_eq!(done.items[1..], [program.to_owned(), result.replace("long", "short")]);
}

#[test]
fn a_result_that_is_no_text_stays() {
    let shot = r#"{"type":"computer_call","call_id":"c","action":{"type":"screenshot"}}"#;
    let seen = r#"{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","image_url":"data:image/png;base64,AA"}}"#;
    let done = Case::of(&[&user("go"), shot, seen]).result(2, "[dropped]").compose();
    assert_eq!((done.items[2].as_str(), done.rules), (seen, vec!["R16"]));
    // The synthetic result cannot be written: it is removed with its call.
    let done = Case::of(&[&user("go"), shot, seen, &user("more")]).replace((2, 0), None, vec![ours("c")]).compose();
    assert_eq!(done.items, [user("go"), user("more")]);
}

#[test]
fn the_calls_of_a_program_go_with_it() {
    let program = r#"{"type":"program","call_id":"p","code":"x"}"#;
    let result = r#"{"type":"program_output","call_id":"p","result":"r"}"#;
    let inner = r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}","caller":{"type":"program","caller_id":"p"}}"#;
    let case = || Case::of(&[&user("go"), program, inner, &output("c"), result, &user("more")]);
    assert_eq!(case().delete_items(&[1]).compose().items, [user("go"), user("more")]);
    assert_eq!(case().compose().items.len(), 6);
}

#[test]
fn the_newest_results_stay_with_the_program_that_made_their_calls() {
    let program = r#"{"type":"program","call_id":"p","code":"x"}"#;
    let inner = |id: &str| {
        let caller = r#"{"type":"program","caller_id":"p"}"#;
        format!(r#"{{"type":"function_call","call_id":"{id}","name":"f","arguments":"{{}}","caller":{caller}}}"#)
    };
    let items = [&user("go"), &thinks("rs_1"), program, &inner("c"), &output("c")];
    let done = Case::of(&items).delete_items(&[2]).compose();
    assert_eq!(done.items, items);
    assert!(done.rules.contains(&"X2"), "{:?}", done.rules);
    let later = [says("", "more"), inner("d"), output("d")];
    let items = [&items[..], &later.each_ref().map(String::as_str)[..]].concat();
    let done = Case::of(&items).delete_items(&[1, 2, 3, 4]).compose();
    assert_eq!(done.items, [&items[..1], &items[2..]].concat(), "with everything from the program on");
}

#[test]
fn parts_leave_a_message_and_come_to_it() {
    let list = r#"{"type":"message","id":"m","role":"user","content":[{"type":"input_text","text":"a"}, {"type":"input_text","text":"b"}],"x":1}"#;
    let done = Case::of(&[list]).delete(&[(0, 0)]).compose();
    assert_eq!(done.items, [r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"b"}],"x":1}"#]);
    let done = Case::of(&[list]).replace((0, 1), None, vec![Content::text("c")]).compose();
    let expected = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"c"}],"x":1}"#;
    assert_eq!(done.items, [expected]);
    // A string stays a string.
    let done =
        Case::of(&[r#"{"role":"user","content":"a"}"#]).replace((0, 0), None, vec![Content::text("b")]).compose();
    assert_eq!(done.items, [r#"{"role":"user","content":"b"}"#]);
}

#[test]
fn a_frame_of_ours_is_items_without_ids() {
    let call = Content::Call { id: Some("n".into()), name: "look".into(), input: CallInput::Json("{\"a\":1}".into()) };
    let messages = vec![
        NewMessage::text(Some(Role::User), "a question"),
        NewMessage { role: Some(Role::Assistant), content: vec![Content::text("I look"), call] },
        NewMessage { role: Some(Role::User), content: vec![ours("n")] },
        NewMessage::text(Some(Role::System), "a note"),
    ];
    let done = Case::of(&[&user("go"), &says("msg", "done"), &user("more")]).insert_behind(0, messages).compose();
    assert_eq!(
        done.items[2..6],
        [
            user("a question"),
            r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look"}]}"#.to_owned(),
            r#"{"type":"function_call","call_id":"n","name":"look","arguments":"{\"a\":1}"}"#.to_owned(),
            r#"{"type":"function_call_output","call_id":"n","output":"ours"}"#.to_owned(),
        ]
    );
    assert_eq!(done.items[6], user("a note").replace("\"user\"", "\"developer\""));
}

#[test]
fn what_does_not_fit_the_role_is_left_out() {
    let raw = |json: &str| content::raw(json.to_owned());
    let image = raw(r#"{"type":"input_image","file_id":"f"}"#);
    let unfit = [
        (image, "R4"),
        (raw(r#"{"type":"reasoning","summary":[]}"#), "R47"),
        (ours("c"), "R15"),
        (Content::text(" "), "X3"),
        (Content::Raw { wire: WireId::Anthropic, json: "{}".into(), calls: None, answers: None }, "R4"),
    ];
    for (content, rule) in unfit {
        let done = Case::of(&[&user("go"), &says("", "a"), &user("more")])
            .replace((1, 0), Some(Role::Assistant), vec![content, Content::text("kept")])
            .compose();
        assert_eq!(done.rules, [rule]);
        assert_eq!(
            done.items[1],
            r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"kept"}]}"#
        );
    }
}

#[test]
fn the_newest_results_stay_with_their_call() {
    let items = [user("go"), says("", "I look"), call("", "c"), output("c")];
    let items: Vec<&str> = items.iter().map(String::as_str).collect();
    let done = Case::of(&items).delete_items(&[2]).compose();
    assert_eq!(done.items, items);
    assert!(done.rules.contains(&"X2"));
    let done = Case::of(&items).delete_items(&[0, 1, 2, 3]).compose();
    assert_eq!(done.items, items[2..]);
}

#[test]
fn the_request_for_a_compaction_stays_last() {
    let trigger = r#"{"type":"compaction_trigger"}"#;
    let case = || Case::of(&[&user("go"), &says("", "done"), trigger]);
    let done = case().insert_behind(0, vec![NewMessage::text(Some(Role::User), "more")]).compose();
    assert_eq!(done.items, [user("go"), says("", "done"), user("more"), trigger.to_owned()]);
    let done = case().delete_items(&[1, 2]).compose();
    assert_eq!(done.items, [user("go"), trigger.to_owned()]);
    assert!(done.rules.contains(&"R10"));
}

#[test]
fn the_system_prompt_changes_where_it_stands() {
    let text = r#"{"instructions":"be brief","input":[{"type":"additional_tools","role":"developer","tools":[{"type":"custom","name":"exec"}]},{"type":"message","role":"developer","content":"be kind"},{"role":"user","content":"go"}]}"#;
    let system = |at: u32, by: &[&str]| {
        let key = Case::body(text).body.envelope(ctx_clients::lexicon()).system[at as usize].key;
        let content = by.iter().map(|text| Content::text(*text)).collect::<Vec<_>>();
        let by = if content.is_empty() { vec![] } else { vec![NewMessage { role: None, content }] };
        Case::body(text)
            .effect(Effect::Replace { why: Why::Edited, covers: vec![Cover::System { at, key }], by })
            .compose()
    };
    assert_eq!(system(0, &["be long"]).text, text.replace("be brief", "be long"));
    assert_eq!(system(0, &[]).text, text.replace(r#""instructions":"be brief","#, ""));
    let message = r#"{"type":"message","role":"developer","content":[{"type":"input_text","text":"be rude"}]}"#;
    let own = r#"{"type":"message","role":"developer","content":"be kind"}"#;
    assert_eq!(system(1, &["be rude"]).text, text.replace(own, message));
    assert_eq!(system(1, &[]).text, text.replace(&format!(",{own}"), ""));
    let covers = vec![Cover::Tool { name: "exec".into() }];
    let done = Case::body(text).effect(Effect::Replace { why: Why::Deleted, covers, by: vec![] }).compose();
    assert_eq!((done.text.as_str(), done.rules), (text, vec!["R11"]));
}

#[test]
fn without_tools_nothing_speaks_of_them() {
    let text = r#"{"tools":[{"type":"function","name":"f"}],"tool_choice":"auto","parallel_tool_calls":true,"input":[{"role":"user","content":"go"}]}"#;
    let covers = vec![Cover::Tool { name: "f".into() }];
    let done = Case::body(text).effect(Effect::Replace { why: Why::Deleted, covers, by: vec![] }).compose();
    assert_eq!(done.text, r#"{"input":[{"role":"user","content":"go"}]}"#);
}

#[test]
fn system_prompt_and_tools_go_together_wherever_they_stand() {
    let input = r#""input":[{"role":"user","content":"go"}]"#;
    let (said, tools) = (r#""instructions":"x""#, r#""tools":[{"type":"function","name":"f"}],"tool_choice":"auto""#);
    for members in [[said, tools, input], [tools, said, input], [input, said, tools], [tools, input, said]] {
        let case = Case::body(&format!("{{{}}}", members.join(",")));
        let key = case.body.envelope(ctx_clients::lexicon()).system[0].key;
        let covers = vec![Cover::System { at: 0, key }, Cover::Tool { name: "f".into() }];
        let done = case.effect(Effect::Replace { why: Why::Deleted, covers, by: vec![] }).compose();
        assert_eq!(done.text, format!("{{{input}}}"), "{members:?}");
    }
}

#[test]
fn a_result_of_ours_in_a_message_goes_behind_its_call_and_the_rest_stays() {
    let list = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}"#;
    let done = Case::of(&[&user("go"), &call("", "c"), &output("c"), &user("x"), list])
        .delete_items(&[2])
        .replace((4, 0), None, vec![ours("c")])
        .compose();
    let result = r#"{"type":"function_call_output","call_id":"c","output":"ours"}"#;
    assert_eq!(done.items, [user("go"), call("", "c"), result.to_owned(), user("x"), user("b")]);
}
