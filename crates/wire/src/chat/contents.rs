//! The content of a message for people and policies. It is lenient, because it is displayed and never sent.

use super::content::{raw, read};
use super::message::{Parts, Site, member};
use crate::json::{self, Span};
use crate::openai::origin;
use ctx_core::content::{CallInput, Content};
use serde_json::Value;

/// One content per block of the parsed message, in the same order.
pub(super) fn contents(message: &[u8]) -> Vec<Content> {
    let parts = Parts::read(message);
    let at = |span: Span| message.get(span).unwrap_or_default();
    let content = |site: Site| match site {
        Site::Reasoning(member) => {
            let text = json::string_value(message, parts.value(member)).unwrap_or_default().into_owned();
            Content::Reasoning { sealed: text.is_empty(), text }
        }
        Site::Text => Content::text(
            json::string_value(message, parts.value(parts.content.unwrap_or_default())).unwrap_or_default(),
        ),
        Site::Element(element) => part(at(parts.elements.as_ref().map_or(0..0, |list| list[element].clone()))),
        Site::Call(call) => part(at(parts.call_elements[call].clone())),
        Site::Whole => part(message),
    };
    parts.sites().into_iter().map(content).collect()
}

/// A part of a content, a call, or a message that is a result.
fn part(bytes: &[u8]) -> Content {
    let json = String::from_utf8_lossy(bytes).into_owned();
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return raw(json, &Value::Null) };
    let word = |value: &Value| value.as_str().map(str::to_owned);
    let id = |name: &str| word(&value[name]).filter(|id| !id.is_empty());
    if value["role"] == "tool" {
        let parts = match &value["content"] {
            Value::String(text) => vec![Content::text(text)],
            Value::Array(parts) => parts.iter().map(|each| part(each.to_string().as_bytes())).collect(),
            _ => Vec::new(),
        };
        return Content::Result { id: id("tool_call_id"), parts, error: false };
    }
    let function = [&value["function"], &value["custom"]].into_iter().find(|function| function.is_object());
    if let Some(function) = function {
        let input = word(&function["arguments"]).or_else(|| word(&function["input"])).unwrap_or_default();
        let name = word(&function["name"]).unwrap_or_default();
        return Content::Call { id: id("id"), name, input: CallInput::Json(input) };
    }
    let text = word(&value["text"]).or_else(|| word(&value["refusal"]));
    let image = || value["image_url"]["url"].as_str().map(|url| Content::Image { from: origin(url) });
    text.map(Content::text).or_else(image).unwrap_or_else(|| raw(json, &value))
}

/// The content of a block as an edit writes it.
pub(super) fn content(block: &str) -> Option<Content> {
    let mut value: Value = serde_json::from_str(block).ok()?;
    if let Value::String(text) = &value {
        return Some(Content::text(text));
    }
    value.as_object_mut().into_iter().for_each(|fields| drop(fields.remove("cache_control")));
    Some(read(&value))
}

/// The value of a result block: the JSON of a text or a list.
pub(super) fn result(block: &[u8]) -> &[u8] {
    member(block, &(0..block.len()), "content").and_then(|at| block.get(at)).unwrap_or_default()
}

/// The text of a system message, or the description of a tool.
pub(super) fn described(piece: &str) -> Option<String> {
    let value: Value = serde_json::from_str(piece).ok()?;
    let parts = value["content"].as_array().map(|parts| {
        let texts = parts.iter().filter_map(|part| part["text"].as_str());
        texts.collect::<Vec<_>>().join("\n")
    });
    let texts = [&value, &value["content"], &value["text"], &value["function"]["description"], &value["description"]];
    texts.iter().find_map(|value| value.as_str()).map(str::to_owned).or(parts)
}

pub(super) fn type_name(json: &str) -> Option<String> {
    let value: Value = serde_json::from_str(json).ok()?;
    value["type"].as_str().map(str::to_owned)
}
