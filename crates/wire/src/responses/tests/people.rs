//! Content that people read and write.

use super::*;
use ctx_core::content::CallInput;

fn draft(raw: &str, drafted: DraftScope) -> Result<Vec<NewMessage>, String> {
    let value: Value = serde_json::from_str(raw).unwrap();
    Responses.draft(&value, drafted).map_err(|refusal| format!("{refusal:?}"))
}

#[test]
fn what_other_wires_know_is_neutral_and_all_else_stays_as_it_is() {
    let read = |text: &str| Responses.content(text).unwrap();
    assert_eq!(read(r#"{"type":"input_text","text":"a"}"#), Content::text("a"));
    assert_eq!(read(r#"{"type":"output_text","text":"a","annotations":[]}"#), Content::text("a"));
    assert_eq!(
        read(r#"{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"}"#),
        Content::Call { id: Some("c".into()), name: "f".into(), input: CallInput::Json("{}".into()) }
    );
    assert_eq!(read(&output("c")).answers(), Some("c"));
    for raw in [r#"{"type":"output_text","text":"a","annotations":[1]}"#, &call("fc", "c"), r#"{"type":"not_known"}"#] {
        let Content::Raw { json, .. } = read(raw) else { panic!("{raw}") };
        assert_eq!(json, serde_json::from_str::<Value>(raw).unwrap().to_string());
    }
    assert_eq!(read(&call("fc", "c")).calls(), Some("c"));
}

#[test]
fn what_is_written_is_read_as_the_same() {
    let parts = vec![
        Content::text("a \"b\""),
        Content::Call { id: Some("c".into()), name: "f".into(), input: CallInput::Json("{\"a\":1.0}".into()) },
        Content::Result { id: Some("c".into()), parts: vec![Content::text("r")], error: false },
        Content::Image { from: ctx_core::content::Origin::Url("https://x/y.png".into()) },
    ];
    for content in &parts {
        assert_eq!(Responses.content(&Responses.write(content)).as_ref(), Some(content));
    }
    let shown = Responses.read(&Responses.written(&parts), ctx_clients::lexicon());
    assert_eq!(shown.facts.blocks.len(), parts.len());
    assert_eq!(shown.facts.blocks[1].tool.as_deref(), Some("f"));
}

#[test]
fn a_copy_has_ids_of_its_own() {
    let call = Responses.copied(content::raw(call("fc", "c")), "salt");
    let result = Responses.copied(Responses.content(&output("c")).unwrap(), "salt");
    let id = call.calls().unwrap();
    assert_eq!(result.answers(), Some(id));
    assert!(id != "c" && id.len() <= 40);
    assert!(!Responses.write(&call).contains(r#""id""#));
}

#[test]
fn a_call_takes_another_input_and_one_of_another_form_stays() {
    let custom = r#"{"type":"custom_tool_call","call_id":"c","name":"exec","input":"long"}"#;
    assert!(matches!(Responses.with_input(custom, "{}"), Content::Raw { json, .. } if json == custom));
    let changed = Responses.with_input(&call("", "c"), "{}");
    assert_eq!(changed.calls(), Some("c"));
    assert!(Responses.write(&changed).contains(r#""arguments":"{}""#));
}

#[test]
fn people_write_items_parts_and_texts() {
    let made = draft(&format!("[{},{},{}]", user("a"), call("", "c"), output("c")), DraftScope::Messages).unwrap();
    let roles: Vec<_> = made.iter().map(|made| made.role).collect();
    assert_eq!(roles, [Some(Role::User), Some(Role::Assistant), Some(Role::User)]);
    assert_eq!(made[0].content, [Content::text("a")]);
    let inside = draft(r#"{"type":"output_text","text":"b"}"#, DraftScope::Blocks).unwrap();
    assert_eq!((inside[0].role, &inside[0].content[..]), (None, &[Content::text("b")][..]));
    let system =
        draft(r#"{"role":"developer","content":[{"type":"input_text","text":"s"}]}"#, DraftScope::System).unwrap();
    assert_eq!(system[0].content, [Content::text("s")]);
    assert!(draft(r#"{"type":"function","name":"f"}"#, DraftScope::Tool).is_ok());
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let refused = [
        (r#"{"type":"reasoning","summary":[]}"#, DraftScope::Messages),
        (r#"{"type":"compaction","encrypted_content":"x"}"#, DraftScope::Messages),
        (r#"{"type":"message","role":"user","content":[]}"#, DraftScope::Messages),
        (r#"{"type":"message","role":"boss","content":"x"}"#, DraftScope::Messages),
        (r#"{"type":"function_call","call_id":"c","name":"f","arguments":""}"#, DraftScope::Blocks),
        (r#"{"type":"function_call","name":"f","arguments":"{}"}"#, DraftScope::Blocks),
        (r#"{"type":"function_call_output","output":"x"}"#, DraftScope::Blocks),
        (r#"{"type":"input_text","text":" "}"#, DraftScope::Blocks),
        (r#"{"name":"f"}"#, DraftScope::Tool),
        ("[]", DraftScope::Messages),
    ];
    for (raw, drafted) in refused {
        assert!(draft(raw, drafted).is_err(), "{raw}");
    }
}
