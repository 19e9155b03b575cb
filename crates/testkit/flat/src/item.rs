//! One item: a message of one block. Its bytes are read in place; JSON is written for content of edits only.

use ctx_core::Lexicon;
use ctx_core::content::{CallInput, Content, WireId};
use ctx_core::message::{Kind, Role};
use ctx_wire::compose::spell;
use ctx_wire::json::{self, Span};
use ctx_wire::{Bare, Facts, Reading};
use serde_json::{Value, json};

/// The value of a member.
pub fn member(item: &[u8], name: &str) -> Option<Span> {
    spell::member(item, 0, name).map(|member| member.value)
}

/// The text of a member.
pub fn text(item: &str, name: &str) -> Option<String> {
    spell::text(item.as_bytes(), 0, name).map(|text| text.into_owned())
}

/// The speaker.
pub fn role(item: &[u8]) -> Role {
    match spell::text(item, spans(item).first().map_or(0, |first| first.start), "kind").as_deref() {
        Some("user" | "result") => Role::User,
        Some("model" | "call") => Role::Assistant,
        _ => Role::Other,
    }
}

/// The items of a displayed list, or the item itself.
fn spans(message: &[u8]) -> Vec<Span> {
    match json::elements(message, 0) {
        Some(elements) => elements.flatten().collect(),
        None => std::iter::once(0..message.len()).collect(),
    }
}

/// The facts that the engine works with. They never contain an id: the engine links calls and results by place and name.
pub fn read(message: &[u8], lexicon: &Lexicon) -> Reading {
    let mut facts = Facts::new(message, role(message), lexicon);
    for at in spans(message) {
        let text = |name: &str| spell::text(message, at.start, name);
        let said = text("text").unwrap_or_default();
        let whole = Bare { at: &at, cut: None };
        match text("kind").as_deref() {
            Some("user" | "model") => facts.text(at.clone(), &said),
            Some("call") => {
                let input = spell::member(message, at.start, "input").map_or(&b"{}"[..], |input| &message[input.value]);
                facts.nameless_call(&at, &text("tool").unwrap_or_default(), input);
            }
            Some("result") => {
                facts.result(whole, None, (said.chars().count() as u32, 0));
                facts.answers_tool(text("tool"));
            }
            other => facts.other(whole, Kind::Other, other.unwrap_or_default(), (at.len() as u32, 0)),
        }
    }
    facts.finish()
}

/// The content of each block, for people.
pub fn contents(message: &[u8]) -> Vec<Content> {
    let items = spans(message).into_iter().map(|at| String::from_utf8_lossy(&message[at]).into_owned());
    items.map(|item| content(&item).unwrap_or_else(|| raw(item))).collect()
}

fn raw(json: String) -> Content {
    Content::Raw { wire: WireId::Custom, json, calls: None, answers: None }
}

/// The content of an item as an edit writes it: raw if it has members that other wires do not know.
pub fn content(item: &str) -> Option<Content> {
    let value: Value = serde_json::from_str(item).ok()?;
    if let Value::String(text) = &value {
        return Some(Content::text(text));
    }
    Some(neutral(item, &value).unwrap_or_else(|| raw(item.to_owned())))
}

fn neutral(item: &str, value: &Value) -> Option<Content> {
    let has_only = |known: &[&str]| value.as_object().is_some_and(|all| all.keys().all(|key| known.contains(&&**key)));
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    match value["kind"].as_str()? {
        "user" | "model" if has_only(&["kind", "text"]) => Some(Content::text(text("text")?)),
        "call" if has_only(&["kind", "tool", "input"]) && value["input"].is_object() => {
            let input = item.get(member(item.as_bytes(), "input")?)?.to_owned();
            Some(Content::Call { id: None, name: text("tool")?, input: CallInput::Json(input) })
        }
        "result" if has_only(&["kind", "tool", "text"]) => {
            Some(Content::Result { id: None, parts: vec![Content::text(text("text")?)], error: false })
        }
        _ => None,
    }
}

/// Content as an item. `tool` names the tool of the call with an id.
pub fn written(content: &Content, role: Role, tool: &dyn Fn(&str) -> Option<String>) -> String {
    let speaker = if role == Role::Assistant { "model" } else { "user" };
    match content {
        Content::Text { text } => json!({"kind": speaker, "text": text}).to_string(),
        Content::Call { name, input: CallInput::Json(input), .. } => {
            format!(r#"{{"kind":"call","tool":{},"input":{input}}}"#, Value::from(name.as_str()))
        }
        Content::Result { id, parts, .. } => {
            let tool = id.as_deref().and_then(tool).unwrap_or_default();
            json!({"kind": "result", "tool": tool, "text": plain(parts)}).to_string()
        }
        Content::Raw { json, .. } => json.clone(),
        Content::Image { .. } | Content::Document { .. } => json!({"kind": "attachment"}).to_string(),
        Content::Reasoning { text, .. } => json!({"kind": "reasoning", "text": text}).to_string(),
    }
}

/// A result is one text.
fn plain(parts: &[Content]) -> String {
    let text = |part: &Content| match part {
        Content::Text { text } => text.clone(),
        other => written(other, Role::User, &|_| None),
    };
    parts.iter().map(text).collect::<Vec<_>>().join("\n")
}
