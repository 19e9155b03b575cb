use super::Refused;
use crate::body::Body;
use crate::registry::wire;
use ctx_core::WireId;

/// The part that a refusal names, and whether it is misplaced.
fn named(id: WireId, sent: &str, message: &str, param: Option<&str>) -> Option<(String, bool)> {
    let body = Body::parse(sent.as_bytes().to_vec(), wire(id)).expect("a body");
    let part = wire(id).refused(&body, &Refused { message, param })?;
    Some((sent[part.at].to_owned(), part.misplaced))
}

fn found(text: &str, misplaced: bool) -> Option<(String, bool)> {
    Some((text.to_owned(), misplaced))
}

#[test]
fn anthropics_words_name_a_block() {
    let sent = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","source":{"data":"x"}}]},{"role":"assistant","content":"b"}]}"#;
    let named = |message| named(WireId::Anthropic, sent, message, None);
    assert_eq!(named("messages.0.content.1.image.source.base64.data: too large"), found(r#""x""#, false));
    assert_eq!(named("messages.1: `tool_use` ids"), found(r#"{"role":"assistant","content":"b"}"#, false));
    assert_eq!(named("***.messages.0.content.0.text"), found(r#""a""#, false));
    assert_eq!(named("prompt is too long"), None);
    assert_eq!(named("messages.7: gone"), None);
}

const ITEMS: [&str; 6] = [
    r#"{"type":"message","role":"developer","content":"be kind"}"#,
    r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}"#,
    r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"g"}"#,
    r#"{"type":"function_call","id":"fc_1","call_id":"call_1","name":"n","arguments":"{}"}"#,
    r#"{"type":"function_call_output","call_id":"call_1","output":"o"}"#,
    r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"g"}"#,
];

fn item(message: &str, param: Option<&str>) -> Option<(String, bool)> {
    named(WireId::OpenaiResponses, &format!(r#"{{"input":[{}]}}"#, ITEMS.join(",")), message, param)
}

#[test]
fn the_responses_api_names_items_by_path() {
    let part = "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.";
    assert_eq!(item(part, Some("input[1].content[0]")), found(r#"{"type":"input_text","text":"go"}"#, false));
    let prefix = "Invalid 'input[3].id': 'item_1'. Expected an ID that begins with 'fc'.";
    assert_eq!(item(prefix, Some("input[3].id")), found(ITEMS[3], true));
    assert_eq!(item(prefix, None), found(ITEMS[3], true), "also without the parameter");
    let long = "[ApiIdParam] [input[4].call_id] [string_above_max_length] too long";
    assert_eq!(item(long, None), found(ITEMS[4], true));
    let missing = "Missing required parameter: 'input[2].summary'.";
    assert_eq!(item(missing, Some("input[2].summary")), found("[]", false));
    assert_eq!(item("Invalid input", Some("input")), None);
}

#[test]
fn the_responses_api_names_items_by_id() {
    let input = Some("input");
    assert_eq!(item("No tool output found for function call call_1.", input), found(ITEMS[3], true));
    let orphan = "No tool call found for function call output with call_id call_1.";
    assert_eq!(item(orphan, input), found(ITEMS[4], true));
    let alone = "Item 'rs_1' of type 'reasoning' was provided without its required following item.";
    assert_eq!(item(alone, input), found(ITEMS[2], true));
    let lost = "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.";
    assert_eq!(item(lost, None), found(ITEMS[2], true));
    let sealed = "The encrypted content for item rs_1 could not be verified. Reason: x.";
    assert_eq!(item(sealed, None), found(ITEMS[2], true));
    assert_eq!(item("No tool output found for function call call_9.", input), None);
}

#[test]
fn of_duplicates_the_later_one_is_meant() {
    let sent = format!(r#"{{"input":[{}]}}"#, ITEMS.join(","));
    let body = Body::parse(sent.into_bytes(), wire(WireId::OpenaiResponses)).expect("a body");
    let message = "Duplicate item found with id rs_1. Remove duplicate items from your input and try again.";
    let part = body.wire().refused(&body, &Refused { message, param: None }).expect("a part");
    assert_eq!(part.at, body.spans().messages.last().cloned().expect("an item"));
}

const CALL: &str = r#"{"id":"call_b","type":"function","function":{"name":"n","arguments":"{}"}}"#;
const ANSWER: &str = r#"{"role":"tool","tool_call_id":"call_a","content":"o"}"#;

fn chat(message: &str, param: Option<&str>) -> Option<(String, bool)> {
    let sent = format!(
        r#"{{"messages":[{{"role":"system","content":"s"}},{{"role":"user","content":"go"}},{{"role":"assistant","content":null,"tool_calls":[{},{CALL}]}},{ANSWER}]}}"#,
        CALL.replace("call_b", "call_a")
    );
    named(WireId::OpenaiChat, &sent, message, param)
}

#[test]
fn chat_names_messages_and_calls() {
    let open = "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
                'tool_call_id'. The following tool_call_ids did not have response messages: call_b, call_x";
    assert_eq!(chat(open, Some("messages.[3].role")), found(CALL, true));
    let orphan = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with \
                  'tool_calls'.";
    assert_eq!(chat(orphan, Some("messages.[3].role")), found(ANSWER, true));
    let empty = "Invalid 'messages[2].tool_calls': empty array. Expected an array with minimum length 1.";
    assert!(chat(empty, None).is_some_and(|(text, misplaced)| text.contains("assistant") && misplaced));
    let long = "Invalid 'messages[2].tool_calls[1].id': string too long.";
    assert_eq!(chat(long, None), found(CALL, true));
    let null = "Invalid value for 'content': expected a string, got null.";
    assert_eq!(chat(null, Some("messages.[2].content")), found("null", false));
    let kimi = "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2";
    assert!(chat(kimi, None).is_some_and(|(text, _)| text.contains("call_a")));
    let cerebras = "messages.1.user.content: property 'messages.1.user.content' is unsupported";
    assert_eq!(chat(cerebras, None), found(r#""go""#, false));
    assert_eq!(chat("The `reasoning_content` in the thinking mode must be passed back to the API.", None), None);
}

#[test]
fn gemini_names_parts() {
    let parts = r#"[{"functionResponse":{"name":"n","response":"text"}},{"text":""}]"#;
    let sent = format!(r#"{{"request":{{"contents":[{{"role":"user","parts":{parts}}}]}}}}"#);
    let named = |message| named(WireId::Gemini, &sent, message, None);
    let empty = "* GenerateContentRequest.contents[0].parts[1].data: required oneof field 'data' must have one \
                 initialized field";
    assert_eq!(named(empty), found(r#"{"text":""}"#, false));
    let text = "Invalid value at 'contents[0].parts[0].function_response.response' (type.googleapis.com), \"text\"";
    assert_eq!(named(text), found(r#""text""#, false));
    assert_eq!(
        named("* GenerateContentRequest.contents[0].parts: contents.parts must not be empty."),
        found(parts, false)
    );
    assert_eq!(named("* GenerateContentRequest.contents: contents is not specified"), None);
}
