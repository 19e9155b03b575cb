//! Converts content to this wire's JSON, and back. A call is an element of `tool_calls`, a result a message of role
//! `tool`.

use crate::openai::origin;
use ctx_core::Key;
use ctx_core::content::{CallInput, Content, Origin, WireId};
use ctx_core::links;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The content of a block. A block with members unknown to other wires stays raw.
pub(super) fn read(block: &Value) -> Content {
    neutral(block).unwrap_or_else(|| raw(block.to_string(), block))
}

pub(super) fn raw(json: String, value: &Value) -> Content {
    let id = |name: &str| value[name].as_str().map(str::to_owned);
    let calls = id("id").filter(|_| value["function"].is_object() || value["custom"].is_object());
    Content::Raw { wire: WireId::OpenaiChat, json, calls, answers: id("tool_call_id") }
}

fn neutral(block: &Value) -> Option<Content> {
    let fields = block.as_object()?;
    let has_only = |known: &[&str]| fields.keys().all(|name| known.contains(&name.as_str()));
    let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    if text("role").as_deref() == Some("tool") {
        let parts = match fields.get("content") {
            None => Vec::new(),
            Some(Value::String(text)) => vec![Content::text(text)],
            Some(Value::Array(parts)) => parts.iter().map(neutral).collect::<Option<_>>()?,
            Some(_) => return None,
        };
        let is_plain = has_only(&["role", "tool_call_id", "content"]);
        return is_plain.then_some(Content::Result { id: Some(text("tool_call_id")?), parts, error: false });
    }
    match text("type")?.as_str() {
        "text" if has_only(&["type", "text"]) => Some(Content::Text { text: text("text")? }),
        "function" if has_only(&["type", "id", "function"]) => {
            let function = fields.get("function")?.as_object().filter(|function| function.len() == 2)?;
            let input = function.get("arguments")?.as_str()?;
            let is_object = serde_json::from_str::<Map<String, Value>>(input).is_ok();
            let name = function.get("name")?.as_str()?.to_owned();
            is_object.then_some(Content::Call { id: Some(text("id")?), name, input: CallInput::Json(input.to_owned()) })
        }
        "image_url" if has_only(&["type", "image_url"]) => {
            let image = fields.get("image_url")?.as_object().filter(|image| image.len() == 1)?;
            Some(Content::Image { from: origin(image.get("url")?.as_str()?) })
        }
        _ => None,
    }
}

fn url(from: &Origin) -> Option<String> {
    match from {
        Origin::Base64 { media, data } => Some(format!("data:{media};base64,{data}")),
        Origin::Url(url) => Some(url.clone()),
        Origin::File { .. } => None,
    }
}

/// A block of this wire.
pub(super) fn write(content: &Content) -> Cow<'_, str> {
    Cow::Owned(match content {
        Content::Text { text } => json!({"type": "text", "text": text}).to_string(),
        Content::Call { id, name, input: CallInput::Json(input) } => {
            let (id, name) = (quoted(sent(id)), quoted(name));
            format!(r#"{{"id":{id},"type":"function","function":{{"name":{name},"arguments":{}}}}}"#, quoted(input))
        }
        Content::Result { id, parts, error } => {
            let id = quoted(sent(id));
            format!(r#"{{"role":"tool","tool_call_id":{id},"content":{}}}"#, quoted(&result_text(parts, *error)))
        }
        Content::Image { from } => json!({"type": "image_url", "image_url": {"url": url(from)}}).to_string(),
        Content::Document { from, title } => {
            json!({"type": "file", "file": {"file_data": url(from), "filename": title}}).to_string()
        }
        Content::Reasoning { text, .. } => json!({"type": "reasoning", "text": text}).to_string(),
        Content::Raw { json, .. } => return Cow::Borrowed(json),
    })
}

/// The id that is sent.
fn sent(id: &Option<String>) -> &str {
    id.as_deref().and_then(links::sent_id).unwrap_or_default()
}

/// A result takes text only (C7).
fn result_text(parts: &[Content], error: bool) -> String {
    let text = |part: &Content| match part {
        Content::Text { text } => text.clone(),
        Content::Image { .. } => "[image]".to_owned(),
        Content::Document { .. } => "[document]".to_owned(),
        other => write(other).into_owned(),
    };
    let text = parts.iter().map(text).collect::<Vec<_>>().join("\n");
    if error && !text.starts_with("Error") { format!("Error: {text}") } else { text }
}

pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Content as one message with one block each. Displayed, never sent.
pub(super) fn shown(content: &[Content]) -> Vec<u8> {
    let blocks: Vec<Cow<'_, str>> = content.iter().map(write).collect();
    format!(r#"{{"role":"user","content":[{}]}}"#, blocks.join(",")).into_bytes()
}

/// A tool call with another input, the text of an object.
pub(super) fn with_input(call: &str, input: &str) -> Content {
    let mut value: Value = serde_json::from_str(call).unwrap_or_default();
    if let Some(arguments) = value.pointer_mut("/function/arguments") {
        *arguments = input.into();
    }
    read(&value)
}

/// Content for another place of a request: with new ids derived from `salt`, and without a cache breakpoint. The ids
/// have a form that every server accepts (C5).
pub(super) fn copied(content: Content, salt: &str) -> Content {
    let renamed = |id: Option<String>| id.map(|id| rename(&id, salt));
    match content {
        Content::Call { id, name, input } => Content::Call { id: renamed(id), name, input },
        Content::Result { id, parts, error } => Content::Result { id: renamed(id), parts, error },
        Content::Raw { json, calls, answers, .. } => {
            let mut value: Value = serde_json::from_str(&json).unwrap_or_default();
            let Some(fields) = value.as_object_mut() else { return raw(json, &value) };
            fields.remove("cache_control");
            for (name, linked) in [("id", calls), ("tool_call_id", answers)] {
                if let Some(Value::String(id)) = fields.get_mut(name) {
                    *id = rename(&linked.unwrap_or_else(|| id.clone()), salt);
                }
            }
            read(&value)
        }
        other => other,
    }
}

/// A new id of nine letters and digits, which every server takes (C5).
pub(super) fn rename(id: &str, salt: &str) -> String {
    let key = Key::of([salt.as_bytes(), id.as_bytes()]).to_string();
    key.get(..9).unwrap_or(&key).to_owned()
}

/// The text of raw JSON, or the tool that it calls.
pub(super) fn title(block: &str) -> Option<String> {
    let value: Value = serde_json::from_str(block).ok()?;
    let text = value["text"].as_str().or(value["function"]["name"].as_str()).or(value["name"].as_str());
    text.map(str::to_owned)
}

/// Whether it contains an image or a document.
pub(super) fn is_pictured(content: &Content) -> bool {
    match content {
        Content::Image { .. } | Content::Document { .. } => true,
        Content::Raw { json, .. } => json.contains(r#""type":"image_url""#) || json.contains(r#""type":"file""#),
        Content::Text { .. } | Content::Call { .. } | Content::Result { .. } | Content::Reasoning { .. } => false,
    }
}
