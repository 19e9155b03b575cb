//! The envelope of a request: everything but its history (model, system prompt, tools, settings).

use super::item::Item;
use crate::body::Spans;
use crate::compose::spell;
use crate::envelope::{Envelope, Manner, Piece, digest};
use crate::json::{self, Span};
use ctx_core::title::line;
use ctx_core::{Key, Lexicon};

pub(super) fn read(bytes: &[u8], request: &Spans, lexicon: &Lexicon) -> Envelope {
    let text = |name: &str| request.member(bytes, name).and_then(|(span, _)| json::string_value(bytes, span));
    let is_set = |name: &str| request.member(bytes, name).is_some_and(|(_, value)| value != b"null");
    let system = system(bytes, request);
    let says_subagent = system.first().is_some_and(|first| lexicon.says_subagent(&bytes[first.at.clone()]));
    let lists = tool_lists(bytes, request);
    let tools = (!lists.is_empty()).then(|| lists.iter().flat_map(|list| tools(bytes, list)).collect::<Vec<_>>());
    Envelope {
        digest: digest(&system, tools.as_deref()),
        model: text("model").map(|model| model.as_ref().into()),
        says_subagent,
        system,
        tools,
        session: None,
        wants_format: format_of(bytes, request).is_some(),
        threaded: is_set("previous_response_id") || is_set("conversation"),
        continues: text("previous_response_id").map(|id| id.as_ref().into()),
        streams: request.member(bytes, "stream").is_some_and(|(_, value)| value == b"true"),
        manner: manner(bytes, request),
    }
}

/// The instructions and the messages at the beginning, in this order.
fn system(bytes: &[u8], request: &Spans) -> Vec<Piece> {
    let instructions = request.member(bytes, "instructions").and_then(|(at, raw)| {
        let text = json::string_value(bytes, at.clone())?;
        Some(piece(at, Key::of([raw]), &text))
    });
    let messages = request.lead.iter().filter_map(|span| {
        let message = bytes.get(span.clone())?;
        let item = Item::read(message);
        if item.kind == "additional_tools" {
            return None;
        }
        let text = match item.elements("content") {
            Some(parts) => {
                let texts = parts.iter().filter_map(|part| spell::text(message, part.start, "text"));
                texts.map(|text| text.into_owned()).collect::<Vec<_>>().join("\n")
            }
            None => item.text("content").unwrap_or_default().into_owned(),
        };
        Some(piece(span.clone(), Key::of([message]), &text))
    });
    instructions.into_iter().chain(messages).collect()
}

fn piece(at: Span, key: Key, text: &str) -> Piece {
    Piece {
        name: "".into(),
        key,
        at,
        chars: text.chars().count() as u32,
        label: line(text).into(),
        deferred: false,
        server: false,
        is_attribution: false,
    }
}

/// The lists of tools: the member, and those in items at the beginning (R11).
fn tool_lists(bytes: &[u8], request: &Spans) -> Vec<Span> {
    let member = request.member(bytes, "tools").map(|(span, _)| span);
    let declared = request.lead.iter().filter_map(|span| {
        let item = Item::at(bytes, span);
        (item.kind == "additional_tools").then(|| item.value("tools")).flatten()
    });
    member.into_iter().chain(declared).collect()
}

fn tools(bytes: &[u8], list: &Span) -> Vec<Piece> {
    let tool = |at: Span| {
        let text = |name: &str| spell::text(bytes, at.start, name);
        let kind = text("type").unwrap_or_default();
        let is_own = matches!(kind.as_ref(), "function" | "custom" | "namespace");
        Piece {
            name: text("name").or_else(|| text("server_label")).unwrap_or_else(|| kind.clone()).as_ref().into(),
            chars: at.len() as u32,
            label: line(&text("description").unwrap_or_default()).into(),
            deferred: spell::member(bytes, at.start, "defer_loading").is_some_and(|m| &bytes[m.value] == b"true"),
            server: !is_own,
            is_attribution: false,
            key: Key::of([&bytes[at.clone()]]),
            at,
        }
    };
    json::elements(bytes, list.start).into_iter().flatten().flatten().map(tool).collect()
}

/// The required format of the answer, unless it is free text.
fn format_of(bytes: &[u8], request: &Spans) -> Option<Span> {
    let (text, _) = request.member(bytes, "text")?;
    let format = spell::member(bytes, text.start, "format")?.value;
    let is_text = spell::text(bytes, format.start, "type").is_none_or(|kind| kind == "text");
    (!is_text).then_some(format)
}

/// The settings on which cache hits depend (P6).
fn manner(bytes: &[u8], request: &Spans) -> Manner {
    let of = |span: &Span| Key::of([&bytes[span.clone()]]);
    let within = |member: &str, name: &str| {
        let (span, _) = request.member(bytes, member)?;
        let value = spell::member(bytes, span.start, name)?.value;
        (&bytes[value.clone()] != b"null").then(|| of(&value))
    };
    let choice = request.member(bytes, "tool_choice").filter(|(_, value)| !matches!(*value, b"\"auto\"" | b"null"));
    let said = [
        ("tool_choice", choice.map(|(span, _)| of(&span))),
        ("reasoning.effort", within("reasoning", "effort")),
        ("reasoning.context", within("reasoning", "context")),
        ("text.format", format_of(bytes, request).map(|span| of(&span))),
    ];
    Manner(said.into_iter().filter_map(|(member, key)| Some((member, key?))).collect())
}

/// The credentials for servers that the provider calls.
pub(super) fn secrets(bytes: &[u8], request: &Spans) -> Vec<Span> {
    let mut secrets = Vec::new();
    for list in tool_lists(bytes, request) {
        for tool in json::elements(bytes, list.start).into_iter().flatten().flatten() {
            let tool = Item::at(bytes, &tool);
            if tool.kind != "mcp" {
                continue;
            }
            secrets.extend(tool.value("authorization"));
            let headers = tool.value("headers").and_then(|headers| json::members(bytes, headers.start));
            secrets.extend(headers.into_iter().flatten().flatten().map(|header| header.value));
        }
    }
    secrets.sort_by_key(|span| span.start);
    secrets
}
