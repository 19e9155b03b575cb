//! Hand-written JSON for an edit: parsed into content, and refused if this wire cannot send it.

use super::content;
use ctx_core::content::Content;
use ctx_core::edit::Refusal;
use ctx_core::edit::effect::NewMessage;
use ctx_core::edit::resolve::{DraftScope, bad_json, not_empty, thinking};
use ctx_core::message::Role;
use serde_json::Value;

/// Turns JSON into content, or refuses it.
pub fn draft(raw: &Value, drafted: DraftScope) -> Result<Vec<NewMessage>, Refusal> {
    let inside = |content: Vec<Content>| vec![NewMessage { role: None, content }];
    match drafted {
        DraftScope::Messages => messages(raw),
        DraftScope::System if !is_text(raw) => Err(bad_json("the system prompt takes text only", "")),
        DraftScope::System | DraftScope::Blocks => {
            let list = if let Value::Array(list) = raw { list.iter().collect() } else { vec![raw] };
            list.into_iter().map(block).collect::<Result<_, _>>().map(inside)
        }
        DraftScope::Tool if is_tool(raw) => Ok(inside(vec![content::read(raw)])),
        DraftScope::Tool => Err(bad_json(
            "a tool definition is an object with a `name` and an `input_schema`, or with `defer_loading`: true",
            "",
        )),
    }
}

/// Refuses content that cannot be sent as a block, including invalid raw JSON.
pub fn check(content: &Content) -> Result<(), Refusal> {
    let value = serde_json::from_str(&content::write(content)).unwrap_or_default();
    block(&value).map(drop)
}

fn is_tool(raw: &Value) -> bool {
    let is_own = raw.get("type").is_some_and(|kind| kind.is_string() && kind != "custom");
    // With nothing but the name, the client's own definition is deferred.
    let is_alone = raw.as_object().is_some_and(|fields| fields.len() == 2);
    let is_deferred = is_alone && raw.get("defer_loading") == Some(&Value::Bool(true));
    let is_defined = raw.get("input_schema").is_some_and(Value::is_object);
    raw.get("name").is_some_and(Value::is_string) && (is_defined || is_own || is_deferred)
}

/// Messages, each with its role.
fn messages(raw: &Value) -> Result<Vec<NewMessage>, Refusal> {
    let list = if let Value::Array(list) = raw { list.iter().collect() } else { vec![raw] };
    let mut messages = Vec::new();
    for (at, message) in list.into_iter().enumerate() {
        let wrong = |what: &str| bad_json(what, &format!(" (message {at})"));
        let Value::Object(fields) = message else {
            return Err(wrong("a message is an object with `role` and `content`"));
        };
        let role = match fields.get("role").and_then(Value::as_str) {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            _ => return Err(wrong("`role` must be `user`, `assistant` or `system`")),
        };
        if let Some(other) = fields.keys().find(|key| !matches!(key.as_str(), "role" | "content")) {
            return Err(wrong(&format!("a message has only `role` and `content`, not `{other}`")));
        }
        let content = match fields.get("content") {
            Some(Value::String(text)) => vec![Content::text(not_empty(text)?)],
            Some(Value::Array(list)) if !list.is_empty() => list.iter().map(self::block).collect::<Result<_, _>>()?,
            Some(Value::Array(_)) => {
                return Err(wrong("`content` is empty, and the provider refuses that: rule A25"));
            }
            _ => return Err(wrong("`content` must be a text or a list of blocks")),
        };
        messages.push(NewMessage { role: Some(role), content });
    }
    if messages.is_empty() {
        return Err(bad_json("the list of messages is empty", ""));
    }
    Ok(messages)
}

fn block(block: &Value) -> Result<Content, Refusal> {
    let Value::Object(fields) = block else { return Err(bad_json("a block is an object with a `type`", "")) };
    match fields.get("type").and_then(Value::as_str) {
        None => return Err(bad_json("a block is an object with a `type`", "")),
        Some("thinking" | "redacted_thinking") => return Err(thinking("this block")),
        Some("text") => drop(not_empty(fields.get("text").and_then(Value::as_str).unwrap_or_default())?),
        Some("tool_use") => {
            let named = ["id", "name"].iter().all(|name| fields.get(*name).is_some_and(Value::is_string));
            if !named || !fields.get("input").is_some_and(Value::is_object) {
                return Err(bad_json(
                    "a tool call has an `id`, a `name` and an `input` that is an object: rule A10",
                    "",
                ));
            }
        }
        Some("tool_result") => {
            if !fields.get("tool_use_id").is_some_and(Value::is_string) {
                return Err(bad_json("a tool result names its call in `tool_use_id`", ""));
            }
        }
        Some(kind @ ("image" | "document")) => {
            if !fields.get("source").is_some_and(is_source) {
                return Err(bad_json(&format!("an {kind} has a `source` with its `type` and its data"), ""));
            }
        }
        Some("search_result") => {}
        // The provider refuses unknown types, and with them every later request.
        Some(other) => {
            return Err(bad_json(
                &format!(
                    "`{other}` is no block that one can write; text, image, document, search_result, tool_use and tool_result are"
                ),
                "",
            ));
        }
    }
    Ok(content::read(block))
}

/// Whether it is a text block, or a list of them.
fn is_text(raw: &Value) -> bool {
    match raw {
        Value::Array(list) => list.iter().all(is_text),
        block => block.get("type").is_some_and(|kind| kind == "text"),
    }
}

/// Whether it is the source of an image or a document.
fn is_source(source: &Value) -> bool {
    let text = |name: &str| source.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let base64 = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/' | b'=');
    match text("type") {
        Some("base64") => text("media_type").is_some() && text("data").is_some_and(|data| data.bytes().all(base64)),
        Some("url") => text("url").is_some(),
        Some("file") => text("file_id").is_some(),
        Some("text") => text("data").is_some(),
        Some("content") => source.get("content").is_some(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_core::ErrorCode;
    use ctx_core::content::CallInput;
    use serde_json::json;

    fn refused(raw: Value, drafted: DraftScope) -> Refusal {
        draft(&raw, drafted).expect_err("it cannot be sent")
    }

    #[test]
    fn content_is_held_to_the_same_rules_as_json() {
        let call = |input: &str| {
            let input = CallInput::Json(input.to_owned());
            Content::Call { id: Some("a".to_owned()), name: "Read".to_owned(), input }
        };
        assert!(check(&call(r#"{"n":12345678901234567890123}"#)).is_ok());
        assert_eq!(check(&call("[]")).expect_err("no object").code, ErrorCode::BadContent);
        assert_eq!(check(&Content::text(" ")).expect_err("empty").code, ErrorCode::Empty);
        let thought = Content::Reasoning { text: "hm".to_owned(), sealed: false };
        assert_eq!(check(&thought).expect_err("thinking").code, ErrorCode::Thinking);
        assert_eq!(check(&content::restored("no JSON")).expect_err("no JSON").code, ErrorCode::BadContent);
    }

    #[test]
    fn json_that_cannot_be_sent_is_refused_with_the_reason() {
        for (value, says) in [
            (json!("text"), "an object with `role` and `content`"),
            (json!([]), "the list of messages is empty"),
            (json!({ "role": "tool", "content": "x" }), "`role` must be `user`, `assistant` or `system` (message 0)"),
            (json!([{ "role": "user", "content": "x" }, { "role": "user" }]), "(message 1)"),
            (json!({ "role": "user", "content": [] }), "rule A25"),
            (json!({ "role": "user", "content": "x", "name": "y" }), "not `name`"),
            (json!({ "role": "user", "content": [{ "text": "x" }] }), "a block is an object with a `type`"),
            (json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "a", "input": "x" }] }), "rule A10"),
        ] {
            let refusal = refused(value, DraftScope::Messages);
            assert_eq!(refusal.code, ErrorCode::BadContent);
            assert!(refusal.message.contains(says), "{}", refusal.message);
        }
        for block in [
            json!({ "type": "magic" }),
            json!({ "type": "image" }),
            json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "!" } }),
        ] {
            assert_eq!(refused(block, DraftScope::Blocks).code, ErrorCode::BadContent);
        }
        for text in ["", " \n\t"] {
            assert_eq!(
                refused(json!({ "role": "user", "content": text }), DraftScope::Messages).code,
                ErrorCode::Empty
            );
            assert_eq!(refused(json!({ "type": "text", "text": text }), DraftScope::Blocks).code, ErrorCode::Empty);
        }
        let thought = json!({ "type": "thinking", "thinking": "x", "signature": "y" });
        assert_eq!(refused(thought.clone(), DraftScope::Blocks).code, ErrorCode::Thinking);
        assert_eq!(
            refused(json!({ "role": "assistant", "content": [thought] }), DraftScope::Messages).code,
            ErrorCode::Thinking
        );
        let call = json!({ "type": "tool_use", "id": "a", "name": "Read", "input": {} });
        assert!(refused(call.clone(), DraftScope::System).message.contains("text only"));
        assert_eq!(refused(json!({ "description": "x" }), DraftScope::Tool).code, ErrorCode::BadContent);
        assert_eq!(refused(json!({ "name": "Bash" }), DraftScope::Tool).code, ErrorCode::BadContent);
        assert!(draft(&json!({ "name": "Bash", "input_schema": {} }), DraftScope::Tool).is_ok());
        assert!(draft(&json!({ "name": "Bash", "defer_loading": true }), DraftScope::Tool).is_ok());
        let half = json!({ "name": "Bash", "description": "x", "defer_loading": true });
        assert_eq!(refused(half, DraftScope::Tool).code, ErrorCode::BadContent);
        let messages = draft(
            &json!([{ "role": "user", "content": "a" }, { "role": "assistant", "content": [call] }]),
            DraftScope::Messages,
        );
        let messages = messages.expect("messages");
        assert_eq!(
            messages.iter().map(|made| made.role).collect::<Vec<_>>(),
            [Some(Role::User), Some(Role::Assistant)]
        );
        assert_eq!(messages[1].calls().collect::<Vec<_>>(), ["a"]);
    }
}
