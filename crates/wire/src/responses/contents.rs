//! The content of an item for people and policies. It is lenient, because it is displayed and never sent.

use super::content::{raw, read};
use super::item::{Item, Sort};
use crate::json::{self, Span};
use crate::openai::origin;
use ctx_core::content::{CallInput, Content};
use serde_json::Value;
use std::borrow::Cow;

/// One content per block of the parsed item, in the same order.
pub(super) fn contents(message: &[u8]) -> Vec<Content> {
    let item = Item::read(message);
    match (item.sort, item.value("content")) {
        (Sort::Message | Sort::Agent, Some(content)) => match item.elements("content") {
            Some(parts) => parts.iter().map(|at| part(message.get(at.clone()).unwrap_or_default())).collect(),
            None => json::string_value(message, content).map(Content::text).into_iter().collect(),
        },
        (Sort::Message, None) if item.is_text() => {
            json::string_value(message, 0..message.len()).map(Content::text).into_iter().collect()
        }
        (Sort::Message | Sort::Agent, None) => Vec::new(),
        _ if item.members.is_empty() => Vec::new(),
        _ => vec![part(message)],
    }
}

/// A part of a content, or an item.
fn part(bytes: &[u8]) -> Content {
    let item = Item::read(bytes);
    let other = || raw(String::from_utf8_lossy(bytes).into_owned());
    let words = |name: &str| item.text(name).map(Content::text);
    match (item.sort, item.kind.as_ref()) {
        (Sort::Call, _) => {
            Content::Call { id: item.link().map(Cow::into_owned), name: item.tool().into_owned(), input: input(&item) }
        }
        (Sort::Output, _) => {
            Content::Result { id: item.link().map(Cow::into_owned), parts: output(bytes), error: false }
        }
        (Sort::Reasoning, _) => {
            let summary = item.elements("summary").unwrap_or_default();
            let texts = summary.iter().filter_map(|at| text_of(bytes, at));
            let text = texts.collect::<Vec<_>>().join("\n");
            Content::Reasoning { sealed: text.is_empty(), text }
        }
        (_, "input_text" | "output_text" | "text") => words("text").unwrap_or_else(other),
        (_, "refusal") => words("refusal").unwrap_or_else(other),
        (_, "input_image") => {
            let url = item.text("image_url").map(|url| Content::Image { from: origin(&url) });
            url.unwrap_or_else(other)
        }
        _ => other(),
    }
}

fn text_of(bytes: &[u8], part: &Span) -> Option<String> {
    let text = crate::compose::spell::member(bytes, part.start, "text")?;
    json::string_value(bytes, text.value).map(Cow::into_owned)
}

/// The input of a call as the text of a JSON value.
fn input(item: &Item<'_>) -> CallInput {
    let json = String::from_utf8_lossy(&item.input()).into_owned();
    CallInput::Json(if json.is_empty() { "{}".to_owned() } else { json })
}

/// The parts of a result.
fn output(bytes: &[u8]) -> Vec<Content> {
    let value = result(bytes);
    match value.first() {
        Some(b'"') => json::string_value(value, 0..value.len()).map(Content::text).into_iter().collect(),
        Some(b'[') => {
            let parts = json::elements(value, 0).into_iter().flatten().flatten();
            parts.map(|at| text_of(value, &at).map_or_else(|| part(&value[at]), Content::text)).collect()
        }
        Some(_) => vec![raw(String::from_utf8_lossy(value).into_owned())],
        None => Vec::new(),
    }
}

/// The content of a block as an edit writes it.
pub(super) fn content(block: &str) -> Option<Content> {
    let mut value: Value = serde_json::from_str(block).ok()?;
    if let Value::String(text) = &value {
        return Some(Content::text(text));
    }
    value.as_object_mut().into_iter().for_each(|fields| drop(fields.remove("prompt_cache_breakpoint")));
    Some(read(&value))
}

/// The value of a result item, as the client wrote it.
pub(super) fn result(block: &[u8]) -> &[u8] {
    let item = Item::read(block);
    let value = ["output", "result", "tools"].iter().find_map(|name| item.value(name));
    value.and_then(|at| block.get(at)).unwrap_or_default()
}

/// The text of a piece of the system prompt, or the description of a tool.
pub(super) fn described(piece: &str) -> Option<String> {
    let value: Value = serde_json::from_str(piece).ok()?;
    let parts = value["content"].as_array().map(|parts| {
        let texts = parts.iter().filter_map(|part| part["text"].as_str());
        texts.collect::<Vec<_>>().join("\n")
    });
    let texts = [&value, &value["content"], &value["text"], &value["description"]];
    texts.iter().find_map(|value| value.as_str()).map(str::to_owned).or(parts)
}

pub(super) fn type_name(json: &str) -> Option<String> {
    Some(Item::read(json.as_bytes()).kind.into_owned()).filter(|kind| !kind.is_empty())
}
