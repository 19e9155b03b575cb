//! The content of a message for people and policies.

use super::*;
use crate::anthropic::{Anthropic, message};
use crate::body::Body;
use ctx_core::content::{Origin, WireId};
use serde_json::json;

fn of(block: &Value) -> Content {
    let message = json!({"role": "user", "content": [block]}).to_string();
    contents(message.as_bytes()).pop().expect("a block")
}

#[test]
fn marks_and_members_without_a_neutral_form_are_passed_over() {
    let mark = json!({"type": "ephemeral"});
    let text = json!({"type": "text", "text": "a", "citations": [], "cache_control": mark});
    assert_eq!(of(&text), Content::text("a"));
    let call = json!({"type": "server_tool_use", "id": "t", "name": "search", "input": {"n": 1}, "caller": {}});
    let input = CallInput::Json(r#"{"n":1}"#.to_owned());
    assert_eq!(of(&call), Content::Call { id: Some("t".to_owned()), name: "search".to_owned(), input });
    let result = json!({"type": "mcp_tool_result", "tool_use_id": "t", "is_error": true, "content": [
        {"type": "text", "text": "a", "citations": []},
        {"type": "image", "source": {"type": "url", "url": "u"}, "cache_control": mark},
        {"type": "tool_reference", "tool_name": "Later"},
    ]});
    let Content::Result { id, parts, error: true } = of(&result) else { panic!("a failed result") };
    assert_eq!((id.as_deref(), &parts[0]), (Some("t"), &Content::text("a")));
    assert_eq!(parts[1], Content::Image { from: Origin::Url("u".to_owned()) });
    let Content::Raw { wire: WireId::Anthropic, json, .. } = &parts[2] else { panic!("raw JSON") };
    assert_eq!(type_name(json).as_deref(), Some("tool_reference"));
}

#[test]
fn reasoning_is_read_as_far_as_it_can_be() {
    let said = |block: Value| match of(&block) {
        Content::Reasoning { text, sealed } => (text, sealed),
        other => panic!("{other:?}"),
    };
    let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
    assert_eq!(said(thinking), ("hm".to_owned(), false));
    assert_eq!(said(json!({"type": "redacted_thinking", "data": "x"})), (String::new(), true));
}

#[test]
fn what_has_no_neutral_form_is_raw_and_names_its_call() {
    let found = json!({"type": "code_execution_tool_result", "tool_use_id": "t", "content": {"type": "x"}});
    assert_eq!((of(&found).answers(), of(&found).as_text()), (Some("t"), None));
    for block in [json!(1), json!("text"), json!({"type": "new_thing"}), json!({"text": "a"})] {
        assert!(matches!(of(&block), Content::Raw { .. }), "{block}");
    }
    let half = br#"{"role":"user","content":[{"type":"text","text":"\ud83d"},{"type":"text","text":"b"}]}"#;
    let [Content::Raw { .. }, second] = &contents(half)[..] else { panic!("two blocks") };
    assert_eq!(second, &Content::text("b"));
}

#[test]
fn an_input_is_as_the_client_wrote_it() {
    let input = r#"{ "n":12345678901234567890123, "s":"a\u0062" }"#;
    let call = format!(r#"{{"type":"tool_use","id":"t","name":"x","input":{input}}}"#);
    let message = format!(r#"{{"role":"assistant","content":[{call}]}}"#);
    let [Content::Call { input: CallInput::Json(read), .. }] = &contents(message.as_bytes())[..] else {
        panic!("a call")
    };
    assert_eq!(read, input);
}

#[test]
fn a_result_and_a_piece_of_the_head_are_found_in_their_json() {
    let block = br#"{"content":"x","type":"tool_result","content": [ 1.0e0 ]}"#;
    assert_eq!((result(block), result(b"{}")), (b"[ 1.0e0 ]".as_slice(), b"".as_slice()));
    for (piece, says) in [
        (r#""plain""#, Some("plain")),
        (r#"{"type":"text","text":"a"}"#, Some("a")),
        (r#"{"name":"Bash","description":"runs"}"#, Some("runs")),
        (r#"{"name":"Bash"}"#, None),
        ("no JSON", None),
    ] {
        assert_eq!(described(piece).as_deref(), says, "{piece}");
    }
}

#[test]
fn every_block_is_read_once_in_recorded_conversations() {
    for (name, bytes) in testkit::recorded_conversations() {
        let Ok(body) = Body::parse(bytes, &Anthropic) else { panic!("{name} is no request") };
        for at in 0..body.spans().messages.len() {
            let message = body.message(at);
            let blocks = message::read(message, ctx_clients::lexicon()).facts.blocks;
            let contents = contents(message);
            assert_eq!(contents.len(), blocks.len(), "{name} {at}");
            for (content, block) in contents.iter().zip(&blocks) {
                let id = content.calls().or(content.answers());
                assert_eq!(id, block.tool_use_id.as_deref(), "{name} {at}");
            }
        }
    }
}
