//! The content of a message for people and policies. It is lenient, because it is displayed and never sent.

use super::content::{origin, raw};
use crate::json::{self, Span, key};
use ctx_core::content::{CallInput, Content};
use serde_json::Value;

/// One content per block of the parsed message, in the same order.
pub fn contents(message: &[u8]) -> Vec<Content> {
    let Some(content) = member(message, "content") else { return Vec::new() };
    match message.get(content.start) {
        Some(b'[') => {
            let blocks = json::elements(message, content.start).into_iter().flatten().flatten();
            blocks.map(|at| block(message.get(at).unwrap_or_default())).collect()
        }
        Some(b'"') => vec![text(message.get(content).unwrap_or_default())],
        _ => Vec::new(),
    }
}

/// The value of a result block: the JSON of a text or a list.
pub fn result(block: &[u8]) -> &[u8] {
    member(block, "content").and_then(|at| block.get(at)).unwrap_or_default()
}

/// The text of a system block, or the description of a tool.
pub fn described(piece: &str) -> Option<String> {
    let value: Value = serde_json::from_str(piece).ok()?;
    [&value, &value["text"], &value["description"]].iter().find_map(|value| value.as_str()).map(str::to_owned)
}

pub fn type_name(json: &str) -> Option<String> {
    let value: Value = serde_json::from_str(json).ok()?;
    value["type"].as_str().map(str::to_owned)
}

/// The value of a member of the object at the start of the bytes. The last one counts, as for every parser.
pub(super) fn member(bytes: &[u8], name: &str) -> Option<Span> {
    let members = json::members(bytes, 0).into_iter().flatten().flatten();
    members.filter(|member| key(bytes, member) == name).last().map(|member| member.value)
}

/// A message that is a plain text.
fn text(bytes: &[u8]) -> Content {
    serde_json::from_slice(bytes).map_or_else(|_| unreadable(bytes), |text| Content::Text { text })
}

fn block(bytes: &[u8]) -> Content {
    match serde_json::from_slice(bytes) {
        Ok(value) => neutral(bytes, &value).unwrap_or_else(|| raw(lossy(bytes), &value)),
        Err(_) => unreadable(bytes),
    }
}

/// A block that a strict parser rejects, such as one with half a surrogate pair.
fn unreadable(bytes: &[u8]) -> Content {
    raw(lossy(bytes), &Value::Null)
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn neutral(bytes: &[u8], value: &Value) -> Option<Content> {
    let word = |name: &str| value[name].as_str().map(str::to_owned);
    let id = |name: &str| word(name).filter(|id| !id.is_empty());
    match value["type"].as_str()? {
        "text" => Some(Content::Text { text: word("text").unwrap_or_default() }),
        "thinking" | "redacted_thinking" => {
            let text = word("thinking").unwrap_or_default();
            Some(Content::Reasoning { sealed: text.is_empty(), text })
        }
        "tool_use" | "server_tool_use" | "mcp_tool_use" => {
            let input = member(bytes, "input").and_then(|at| bytes.get(at)).map_or_else(|| "null".to_owned(), lossy);
            let name = word("name").unwrap_or_default();
            Some(Content::Call { id: id("id"), name, input: CallInput::Json(input) })
        }
        kind if kind.ends_with("tool_result") => {
            let parts = match &value["content"] {
                Value::Null => Vec::new(),
                Value::String(text) => vec![Content::text(text)],
                Value::Array(parts) => parts.iter().map(part).collect(),
                _ => return None,
            };
            Some(Content::Result { id: id("tool_use_id"), parts, error: value["is_error"] == true })
        }
        _ => pictured(value),
    }
}

/// A part of a result. Everything with a text is a text.
fn part(value: &Value) -> Content {
    let text = value["text"].as_str().map(Content::text);
    text.or_else(|| pictured(value)).unwrap_or_else(|| raw(value.to_string(), value))
}

fn pictured(value: &Value) -> Option<Content> {
    let from = origin(value.as_object()?)?;
    match value["type"].as_str()? {
        "image" => Some(Content::Image { from }),
        "document" => Some(Content::Document { from, title: value["title"].as_str().map(str::to_owned) }),
        _ => None,
    }
}

#[cfg(test)]
#[path = "contents_tests.rs"]
mod tests;
