//! Hand-written JSON for an edit: parsed into content, and refused if this wire cannot send it.

use super::content;
use ctx_core::content::{Content, WireId};
use ctx_core::edit::Refusal;
use ctx_core::edit::effect::NewMessage;
use ctx_core::edit::resolve::{DraftScope, bad_json, not_empty, thinking};
use ctx_core::message::Role;
use serde_json::Value;

/// Turns JSON into content, or refuses it.
pub(super) fn draft(raw: &Value, drafted: DraftScope) -> Result<Vec<NewMessage>, Refusal> {
    let list = || if let Value::Array(list) = raw { list.iter().collect() } else { vec![raw] };
    let inside = |content: Vec<Content>| vec![NewMessage { role: None, content }];
    match drafted {
        DraftScope::Messages => messages(&list()),
        DraftScope::System => list().into_iter().map(text).collect::<Result<_, _>>().map(inside),
        DraftScope::Blocks => list().into_iter().map(block).collect::<Result<_, _>>().map(inside),
        DraftScope::Tool => {
            let is_tool = raw["type"].is_string() && raw["function"]["name"].is_string();
            let json = raw.to_string();
            match is_tool {
                true => Ok(inside(vec![Content::Raw { wire: WireId::OpenaiChat, json, calls: None, answers: None }])),
                false => {
                    Err(bad_json("a tool definition is an object with a `type` and a `function` that has a `name`", ""))
                }
            }
        }
    }
}

/// Refuses content that cannot be sent as a block, including invalid raw JSON.
pub(super) fn check(content: &Content) -> Result<(), Refusal> {
    let value = serde_json::from_str(&content::write(content)).unwrap_or_default();
    block(&value).map(drop)
}

/// A text of the system prompt: a string, a part, or a message.
fn text(raw: &Value) -> Result<Content, Refusal> {
    let found = raw.as_str().or(raw["text"].as_str()).or(raw["content"].as_str());
    let found = found.ok_or_else(|| bad_json("the system prompt takes text only", ""))?;
    Ok(Content::text(not_empty(found)?))
}

/// Messages, each with its role.
fn messages(list: &[&Value]) -> Result<Vec<NewMessage>, Refusal> {
    let mut messages = Vec::new();
    for (at, message) in list.iter().enumerate() {
        let wrong = |what: &str| bad_json(what, &format!(" (message {at})"));
        let Value::Object(fields) = message else {
            return Err(wrong("a message is an object with `role` and `content`"));
        };
        let role = match fields.get("role").and_then(Value::as_str) {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("system" | "developer") => Role::System,
            Some("tool") => {
                messages.push(NewMessage { role: Some(Role::User), content: vec![block(message)?] });
                continue;
            }
            _ => return Err(wrong("`role` must be `user`, `assistant`, `system` or `tool`")),
        };
        let known = ["role", "content", "tool_calls"];
        if let Some(other) = fields.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(wrong(&format!("a message has `role`, `content` and `tool_calls`, not `{other}`")));
        }
        let mut content = match fields.get("content") {
            Some(Value::String(text)) => vec![Content::text(not_empty(text)?)],
            Some(Value::Array(list)) => list.iter().map(block).collect::<Result<Vec<_>, _>>()?,
            None | Some(Value::Null) => Vec::new(),
            _ => return Err(wrong("`content` must be a text or a list of parts")),
        };
        for call in fields.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            content.push(block(call)?);
        }
        if content.is_empty() {
            return Err(wrong("the message says nothing and calls nothing, and the provider refuses that: rule X3"));
        }
        messages.push(NewMessage { role: Some(role), content });
    }
    if messages.is_empty() {
        return Err(bad_json("the list of messages is empty", ""));
    }
    Ok(messages)
}

/// A part of a content, a call, or a message of role `tool`.
fn block(block: &Value) -> Result<Content, Refusal> {
    let Value::Object(fields) = block else { return Err(bad_json("a part is an object with a `type`", "")) };
    if fields.get("role").is_some_and(|role| role == "tool") {
        if !fields.get("tool_call_id").is_some_and(Value::is_string) {
            return Err(bad_json("a result names its call in `tool_call_id`: rule C2", ""));
        }
        return Ok(content::read(block));
    }
    match fields.get("type").and_then(Value::as_str) {
        Some("text") => drop(not_empty(fields.get("text").and_then(Value::as_str).unwrap_or_default())?),
        Some("reasoning") => return Err(thinking("this block")),
        Some("function") => {
            let is_named = block["id"].is_string() && block["function"]["name"].is_string();
            let input = block["function"]["arguments"].as_str().unwrap_or_default();
            if !is_named || serde_json::from_str::<Value>(input).is_err() {
                return Err(bad_json(
                    "a call has an `id` and a `function` with a `name` and `arguments` that are JSON in a string: rule C13",
                    "",
                ));
            }
        }
        Some("image_url" | "file" | "input_audio") => {}
        Some(other) => {
            let what = format!("`{other}` is no part that one can write; text, image_url, file and function are");
            return Err(bad_json(&what, ""));
        }
        None => return Err(bad_json("a part is an object with a `type`", "")),
    }
    Ok(content::read(block))
}
