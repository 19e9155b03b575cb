//! Hand-written JSON for an edit: parsed into content, and refused if this wire cannot send it.

use super::content;
use super::part::{Data, Part};
use crate::compose::nameless::link_draft;
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
        DraftScope::Messages => messages(&list()).map(|made| link_draft(made, &raw.to_string())),
        DraftScope::System => list().into_iter().map(text).collect::<Result<_, _>>().map(inside),
        DraftScope::Blocks => list().into_iter().map(block).collect::<Result<_, _>>().map(inside),
        DraftScope::Tool => {
            let json = raw.to_string();
            match raw["name"].is_string() {
                true => Ok(inside(vec![Content::Raw { wire: WireId::Gemini, json, calls: None, answers: None }])),
                false => Err(bad_json("a function declaration is an object with a `name`", "")),
            }
        }
    }
}

/// Refuses content that cannot be sent as a block, including invalid raw JSON.
pub(super) fn check(content: &Content) -> Result<(), Refusal> {
    let value = serde_json::from_str(&content::write(content)).unwrap_or_default();
    match content {
        // The tool of a result is that of its call, which is unknown here.
        Content::Result { .. } => Ok(()),
        _ => block(&value).map(drop),
    }
}

/// A text of the system prompt: a string, or a part.
fn text(raw: &Value) -> Result<Content, Refusal> {
    let found = raw.as_str().or(raw["text"].as_str());
    let found = found.ok_or_else(|| bad_json("the system prompt takes text only", ""))?;
    Ok(Content::text(not_empty(found)?))
}

/// Messages, each with its role.
fn messages(list: &[&Value]) -> Result<Vec<NewMessage>, Refusal> {
    let mut messages = Vec::new();
    for (at, message) in list.iter().enumerate() {
        let wrong = |what: &str| bad_json(what, &format!(" (message {at})"));
        let Value::Object(fields) = message else {
            return Err(wrong("a message is an object with `role` and `parts`"));
        };
        let role = match fields.get("role").and_then(Value::as_str) {
            Some("user") | None => Role::User,
            Some("model") => Role::Assistant,
            Some(_) => return Err(wrong("`role` must be `user` or `model`: rule G1")),
        };
        if let Some(other) = fields.keys().find(|key| !["role", "parts"].contains(&key.as_str())) {
            return Err(wrong(&format!("a message has `role` and `parts`, not `{other}`: rule G4")));
        }
        let content = match fields.get("parts") {
            Some(Value::Array(list)) if !list.is_empty() => list.iter().map(block).collect::<Result<Vec<_>, _>>()?,
            _ => return Err(wrong("`parts` must be a list of parts, and not an empty one: rule G3")),
        };
        messages.push(NewMessage { role: Some(role), content });
    }
    if messages.is_empty() {
        return Err(bad_json("the list of messages is empty", ""));
    }
    Ok(messages)
}

/// A part.
fn block(block: &Value) -> Result<Content, Refusal> {
    if !block.is_object() {
        return Err(bad_json("a part is an object", ""));
    }
    let json = block.to_string();
    let part = Part::read(json.as_bytes(), &(0..json.len()));
    let holds = |camel: &str, snake: &str| [&block[camel], &block[snake]].into_iter().find(|value| value.is_object());
    match part.data() {
        Some(Data::Text) if part.is_thought => return Err(thinking("this block")),
        Some(Data::Text) => drop(not_empty(block["text"].as_str().unwrap_or_default())?),
        Some(Data::Call) => {
            let call = holds("functionCall", "function_call").unwrap_or(&Value::Null);
            if !call["name"].is_string() || call.get("args").is_some_and(|args| !args.is_object()) {
                return Err(bad_json("a `functionCall` has a `name`, and `args` that are an object: rule G8", ""));
            }
        }
        Some(Data::Response) => {
            let response = holds("functionResponse", "function_response").unwrap_or(&Value::Null);
            if !response["response"].is_object() {
                return Err(bad_json("a `functionResponse` has a `response` that is an object: rule G8", ""));
            }
        }
        Some(Data::Inline | Data::File | Data::Code) => {}
        Some(Data::Hosted) | None => {
            let what = "a part holds `text`, `functionCall`, `functionResponse`, `inlineData` or `fileData`: rule G2";
            return Err(bad_json(what, ""));
        }
    }
    content::read(json.as_bytes()).ok_or_else(|| bad_json("it is no part", ""))
}
