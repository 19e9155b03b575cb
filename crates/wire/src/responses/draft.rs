//! Hand-written JSON for an edit: parsed into content, and refused if this wire cannot send it.

use super::content;
use super::item::{Item, Sort};
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
        DraftScope::Messages => items(&list()),
        DraftScope::System => list().into_iter().map(text).collect::<Result<_, _>>().map(inside),
        DraftScope::Blocks => list().into_iter().map(block).collect::<Result<_, _>>().map(inside),
        DraftScope::Tool => match raw["type"].is_string() {
            true => {
                let json = raw.to_string();
                Ok(inside(vec![Content::Raw { wire: WireId::OpenaiResponses, json, calls: None, answers: None }]))
            }
            false => Err(bad_json("a tool definition is an object with a `type`", "")),
        },
    }
}

/// A text of the system prompt: a string, a part, or a message.
fn text(raw: &Value) -> Result<Content, Refusal> {
    let parts = || {
        let texts = raw["content"].as_array()?.iter().map(|part| part["text"].as_str());
        Some(texts.collect::<Option<Vec<_>>>()?.join("\n"))
    };
    let found = raw.as_str().or(raw["text"].as_str()).or(raw["content"].as_str()).map(str::to_owned);
    let found = found.or_else(parts).ok_or_else(|| bad_json("the system prompt takes text only", ""))?;
    Ok(Content::text(not_empty(&found)?))
}

/// Items: messages, calls and results.
fn items(list: &[&Value]) -> Result<Vec<NewMessage>, Refusal> {
    let mut made = Vec::new();
    for (at, value) in list.iter().enumerate() {
        let wrong = |what: &str| bad_json(what, &format!(" (item {at})"));
        let json = value.to_string();
        let item = Item::read(json.as_bytes());
        let made_item = match item.sort {
            Sort::Message => message(value, &wrong)?,
            Sort::Call => NewMessage { role: Some(Role::Assistant), content: vec![block(value)?] },
            Sort::Output => NewMessage { role: Some(Role::User), content: vec![block(value)?] },
            Sort::Reasoning => return Err(thinking("this item")),
            _ => return Err(wrong("an item that one can write is a message, a call or a result of a call")),
        };
        made.push(made_item);
    }
    match made.is_empty() {
        true => Err(bad_json("the list of items is empty", "")),
        false => Ok(made),
    }
}

fn message(value: &Value, wrong: &dyn Fn(&str) -> Refusal) -> Result<NewMessage, Refusal> {
    let role = match value["role"].as_str() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system" | "developer") => Role::System,
        _ => return Err(wrong("`role` must be `user`, `assistant`, `developer` or `system`")),
    };
    // The id and the state of an item belong to the provider.
    let known = ["type", "role", "content", "id", "status"];
    if let Some(other) = value.as_object().and_then(|fields| fields.keys().find(|key| !known.contains(&key.as_str()))) {
        return Err(wrong(&format!("a message has `type`, `role` and `content`, not `{other}`")));
    }
    let content = match &value["content"] {
        Value::String(text) => vec![Content::text(not_empty(text)?)],
        Value::Array(list) if !list.is_empty() => list.iter().map(block).collect::<Result<Vec<_>, _>>()?,
        _ => return Err(wrong("`content` must be a text or a list of parts that is not empty: rule X3")),
    };
    Ok(NewMessage { role: Some(role), content })
}

/// Refuses content that cannot be sent as a block, including invalid raw JSON.
pub(super) fn check(content: &Content) -> Result<(), Refusal> {
    let value = serde_json::from_str(&content::write(content)).unwrap_or_default();
    block(&value).map(drop)
}

/// A part of a content, a call, or a result.
fn block(block: &Value) -> Result<Content, Refusal> {
    if !block["type"].is_string() {
        return Err(bad_json("a part is an object with a `type`", ""));
    }
    let json = block.to_string();
    let item = Item::read(json.as_bytes());
    match (item.sort, item.kind.as_ref()) {
        (_, "input_text" | "output_text") => drop(not_empty(block["text"].as_str().unwrap_or_default())?),
        (_, "input_image" | "input_file" | "input_audio") => {}
        (Sort::Reasoning, _) => return Err(thinking("this block")),
        (Sort::Call, "function_call") => {
            let input = block["arguments"].as_str().unwrap_or_default();
            if !block["name"].is_string() || serde_json::from_str::<Value>(input).is_err() {
                return Err(bad_json("a call has a `name`, and `arguments` that are JSON in a string: rule R7", ""));
            }
        }
        (Sort::Call, _) => {}
        (Sort::Output, _) if item.link().is_some() => {}
        (Sort::Output, _) => return Err(bad_json("a result names its call in `call_id`: rule R15", "")),
        (Sort::Hosted, kind) if kind == "function_call" || kind == "custom_tool_call" => {
            return Err(bad_json("a call has a `call_id`: rule R14", ""));
        }
        (_, other) => {
            let what = format!("`{other}` is no part that one can write; texts, images, files, calls and results are");
            return Err(bad_json(&what, ""));
        }
    }
    Ok(content::read(block))
}
