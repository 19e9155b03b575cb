//! Facts of items and envelopes.

use super::*;
use ctx_core::message::Kind;

fn roles(item: &str) -> (Role, Vec<Kind>) {
    let facts = facts(item);
    (facts.role, facts.blocks.iter().map(|block| block.kind).collect())
}

#[test]
fn every_type_of_item_has_its_role_and_its_blocks() {
    use Kind::{Other, Reminder, Text, Thinking, ToolResult, ToolUse};
    let cases: [(&str, Role, &[Kind]); 20] = [
        (&user("go"), Role::User, &[Text]),
        (r#"{"role":"user","content":"go"}"#, Role::User, &[Text]),
        (&says("", "I do"), Role::Assistant, &[Text]),
        (r#"{"type":"message","role":"developer","content":"be kind"}"#, Role::System, &[Reminder]),
        (&thinks("rs"), Role::Assistant, &[Thinking]),
        (&call("fc", "c"), Role::Assistant, &[ToolUse]),
        (r#"{"type":"custom_tool_call","call_id":"c","name":"x","input":"free"}"#, Role::Assistant, &[ToolUse]),
        (r#"{"type":"shell_call","call_id":"c","action":{"commands":["ls"]}}"#, Role::Assistant, &[ToolUse]),
        (r#"{"type":"web_search_call","status":"completed"}"#, Role::Assistant, &[Other]),
        (r#"{"type":"tool_search_call","execution":"server","call_id":"c"}"#, Role::Assistant, &[Other]),
        (&output("c"), Role::User, &[ToolResult]),
        (r#"{"type":"mcp_approval_response","approval_request_id":"m","approve":true}"#, Role::User, &[ToolResult]),
        (r#"{"type":"compaction","encrypted_content":"x"}"#, Role::System, &[Other]),
        (r#"{"type":"agent_message","content":[{"type":"input_text","text":"done"}]}"#, Role::User, &[Reminder]),
        (r#"{"type":"item_reference","id":"msg_1"}"#, Role::Other, &[Other]),
        (r#"{"type":"not_known_yet","x":1}"#, Role::Other, &[Other]),
        (r#"{"type":"teleport_call","call_id":"c","arguments":"{}"}"#, Role::Other, &[Other]),
        (r#"{"type":"teleport_call","id":"tp_1"}"#, Role::Other, &[Other]),
        (r#"{"type":"teleport_call_output","call_id":"c","output":"there"}"#, Role::Other, &[Other]),
        ("7", Role::Other, &[]),
    ];
    for (item, role, kinds) in cases {
        assert_eq!(roles(item), (role, kinds.to_vec()), "{item}");
        assert_eq!(Responses.glance(item.as_bytes()).0, role, "{item}");
    }
}

#[test]
fn only_humans_speak() {
    assert_eq!(facts(&user("go")).speaks, Some(0));
    assert_eq!(facts(r#"{"type":"agent_message","content":[{"type":"input_text","text":"done"}]}"#).speaks, None);
    assert_eq!(facts(&output("c")).speaks, None);
}

#[test]
fn calls_and_results_have_the_same_id_whatever_their_family() {
    let id = |item: &str| facts(item).blocks[0].tool_use_id.as_deref().map(String::from);
    assert_eq!(id(&call("fc", "c")), id(&output("c")));
    assert_eq!(
        id(r#"{"type":"mcp_approval_request","id":"mcpr_1","name":"n","arguments":"{}"}"#),
        id(r#"{"type":"mcp_approval_response","approval_request_id":"mcpr_1","approve":true}"#)
    );
    assert_eq!(id(r#"{"type":"function_call_output","name":"event","output":"stands alone"}"#), None);
}

#[test]
fn a_custom_call_is_told_by_its_input() {
    let call = facts(r#"{"type":"custom_tool_call","call_id":"c","name":"apply","input":"*** Begin\nmore"}"#);
    assert_eq!(call.blocks[0].tool.as_deref(), Some("apply"));
    assert!(call.blocks[0].label.as_deref().is_some_and(|label| label.starts_with("*** Begin")));
}

#[test]
fn reasoning_weighs_what_its_seal_holds() {
    let blob = "a".repeat(4_000);
    let item = format!(
        r#"{{"type":"reasoning","summary":[{{"type":"summary_text","text":"four"}}],"encrypted_content":"{blob}"}}"#
    );
    let block = facts(&item).blocks.remove(0);
    assert_eq!((block.chars, block.fixed_tokens), (4, (3_000 - 650) / 4));
    assert_eq!(block.signature, Some(Responses.signature(&blob)));
    let open = facts(r#"{"type":"reasoning","id":"rs_1","summary":[]}"#).blocks.remove(0);
    assert_eq!((open.chars, open.fixed_tokens, open.signature), (0, 0, None));
}

#[test]
fn an_item_is_recognised_without_its_id_and_its_breakpoint() {
    let key = |item: &str| facts(item).key;
    assert_eq!(key(&thinks("rs_1").replace("blob of rs_1", "b")), key(&thinks("").replace("blob of ", "b")));
    assert_eq!(key(&says("msg_1", "I do")), key(&says("", "I do")));
    assert_eq!(
        key(r#"{"type":"web_search_call","id":"ws_1","action":1}"#),
        key(r#"{"type":"web_search_call","action":1}"#)
    );
    assert_eq!(key(&user("go")), key(r#"{"role":"user","content":"go"}"#));
    assert_ne!(key(&thinks("rs_1")), key(&thinks("rs_2")));
    let marked = r#"{"role":"user","content":[{"type":"input_text","text":"go","prompt_cache_breakpoint":{"mode":"explicit"}}]}"#;
    let read = Responses.read(marked.as_bytes(), ctx_clients::lexicon());
    assert_eq!(read.facts.key, key(&user("go")));
    assert_eq!(read.cuts.len(), 1);
}

#[test]
fn images_and_texts_of_a_result_are_weighed() {
    let item = r#"{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"four"},{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]}"#;
    let block = facts(item).blocks.remove(0);
    assert_eq!(block.fixed_tokens, 1_844);
    assert!((4..60).contains(&block.chars), "{}", block.chars);
}

#[test]
fn the_system_prompt_is_the_instructions_and_the_items_at_the_beginning() {
    let text = r#"{"model":"gpt","instructions":"be brief","input":[{"type":"additional_tools","role":"developer","tools":[{"type":"namespace","name":"functions","tools":[]}]},{"type":"message","role":"developer","content":[{"type":"input_text","text":"be kind"}]},{"role":"user","content":"go"},{"role":"developer","content":"later"}],"tools":[{"type":"function","name":"look","description":"Looks"},{"type":"web_search"}],"stream":true,"text":{"format":{"type":"json_schema"}}}"#;
    let case = Case::body(text);
    let read = case.body.envelope(ctx_clients::lexicon());
    assert_eq!(read.system.iter().map(|piece| &*piece.label).collect::<Vec<_>>(), ["be brief", "be kind"]);
    let tools = read.tools.unwrap();
    assert_eq!(
        tools.iter().map(|tool| (&*tool.name, tool.server)).collect::<Vec<_>>(),
        [("look", false), ("web_search", true), ("functions", false)]
    );
    assert!(read.streams && read.wants_format && !read.threaded);
    assert_eq!(case.facts.iter().map(|facts| facts.role).collect::<Vec<_>>(), [Role::User, Role::System]);
}

#[test]
fn a_history_that_lives_elsewhere_is_told() {
    let threaded = |member: &str| {
        Case::body(&format!(r#"{{"input":[],{member}}}"#)).body.envelope(ctx_clients::lexicon()).threaded
    };
    assert!(threaded(r#""previous_response_id":"resp_1""#));
    assert!(threaded(r#""conversation":"conv_1""#));
    assert!(!threaded(r#""previous_response_id":null"#));
}

#[test]
fn only_settings_that_the_cache_depends_on_are_the_manner() {
    let manner = |members: &str| {
        let read = Case::body(&format!(r#"{{"input":[],{members}}}"#)).body.envelope(ctx_clients::lexicon());
        read.manner.0.iter().map(|(member, _)| *member).collect::<Vec<_>>()
    };
    assert!(manner(r#""tool_choice":"auto","text":{"verbosity":"low"},"reasoning":{"summary":"auto"}"#).is_empty());
    assert_eq!(
        manner(r#""tool_choice":"none","text":{"format":{"type":"json_schema"}},"reasoning":{"effort":"high"}"#),
        ["tool_choice", "reasoning.effort", "text.format"]
    );
}

#[test]
fn credentials_of_servers_are_found() {
    let text = r#"{"input":[],"tools":[{"type":"mcp","authorization":"A1","headers":{"x":"B2","y":"C3"}},{"type":"function","name":"f","authorization":"no"}]}"#;
    let body = Case::body(text).body;
    let found: Vec<&str> = Responses.secrets(body.bytes(), body.spans()).into_iter().map(|span| &text[span]).collect();
    assert_eq!(found, [r#""A1""#, r#""B2""#, r#""C3""#]);
}

#[test]
fn a_call_is_known_by_its_path() {
    let of = |method: &str, path: &str| crate::route(method, path).map(|(wire, call)| (wire.id(), call));
    assert_eq!(of("POST", "/v1/responses"), Some((WireId::OpenaiResponses, Call::Generate)));
    assert_eq!(of("POST", "/backend-api/codex/responses"), Some((WireId::OpenaiResponses, Call::Generate)));
    assert_eq!(of("POST", "/v1/responses/compact"), Some((WireId::OpenaiResponses, Call::Count)));
    assert_eq!(of("GET", "/v1/responses"), None);
    assert_eq!(crate::wire(WireId::OpenaiResponses).id(), WireId::OpenaiResponses);
}

#[test]
fn a_call_that_the_provider_runs_is_the_same_without_its_id_and_status() {
    let key = |item: &str| facts(item).key;
    let search =
        key(r#"{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"x"}}"#);
    assert_eq!(key(r#"{"type":"web_search_call","action":{"type":"search","query":"x"}}"#), search);
    assert_ne!(key(r#"{"type":"web_search_call","action":{"type":"search","query":"y"}}"#), search);
    assert_ne!(key(r#"{"type":"file_search_call","action":{"type":"search","query":"x"}}"#), search);
}
