//! The envelope of a request: everything but its history (system prompt, tools, settings). The model is in the address,
//! or beside a wrapped request.

use super::part::member;
use crate::body::Spans;
use crate::envelope::{Envelope, Manner, Piece, digest};
use crate::json::{self, Span};
use ctx_core::title::line;
use ctx_core::{Key, Lexicon};
use std::borrow::Cow;

pub(super) fn read(bytes: &[u8], request: &Spans, lexicon: &Lexicon) -> Envelope {
    let either = |camel: &str, snake: &str| request.member(bytes, camel).or_else(|| request.member(bytes, snake));
    let text = |name: &str| request.member(bytes, name).and_then(|(span, _)| json::string_value(bytes, span));
    let beside = |name: &str| request.wrapping(bytes, name).and_then(|(span, _)| json::string_value(bytes, span));
    let system: Vec<Piece> =
        system_parts(bytes, request).into_iter().map(|span| piece(bytes, span, "", "text", false)).collect();
    let says_subagent = system.first().is_some_and(|first| lexicon.says_subagent(&bytes[first.at.clone()]));
    let tools = request.member(bytes, "tools").map(|(span, _)| tools(bytes, &span));
    let config = either("generationConfig", "generation_config").map(|(span, _)| span);
    let asks = |name: &str| config.as_ref().and_then(|config| member(bytes, config, name)).is_some();
    let formats = ["responseSchema", "response_schema", "responseJsonSchema", "response_json_schema"];
    Envelope {
        digest: digest(&system, tools.as_deref()),
        model: text("model").or_else(|| beside("model")).map(|model| model.trim_start_matches("models/").into()),
        says_subagent,
        system,
        tools,
        session: text("session_id").map(|session| (*session).into()),
        wants_format: formats.into_iter().any(asks),
        // The provider keeps the first part of the prompt (G45).
        threaded: either("cachedContent", "cached_content").is_some(),
        continues: None,
        streams: false,
        manner: Manner::default(),
    }
}

/// The parts of the system prompt.
pub(super) fn system_parts(bytes: &[u8], request: &Spans) -> Vec<Span> {
    let system = request.member(bytes, "systemInstruction").or_else(|| request.member(bytes, "system_instruction"));
    let list = system.and_then(|(span, _)| member(bytes, &span, "parts"));
    list.into_iter().flat_map(|list| json::elements(bytes, list.start).into_iter().flatten().flatten()).collect()
}

/// The declared functions, and the provider's own tools.
fn tools(bytes: &[u8], list: &Span) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for tool in json::elements(bytes, list.start).into_iter().flatten().flatten() {
        let functions =
            member(bytes, &tool, "functionDeclarations").or_else(|| member(bytes, &tool, "function_declarations"));
        match functions {
            Some(list) => {
                let functions = json::elements(bytes, list.start).into_iter().flatten().flatten();
                pieces.extend(functions.map(|at| {
                    let name = member(bytes, &at, "name").and_then(|name| json::string_value(bytes, name));
                    piece(bytes, at, &name.unwrap_or_default(), "description", false)
                }));
            }
            None => {
                let first = json::members(bytes, tool.start).and_then(|mut members| members.next()?.ok());
                let name = first.map_or(Cow::Borrowed(""), |first| json::key(bytes, &first));
                pieces.push(piece(bytes, tool, &name, "description", true));
            }
        }
    }
    pieces
}

/// A part of the system prompt, or a tool; `says`: the member with its text.
fn piece(bytes: &[u8], at: Span, name: &str, says: &str, server: bool) -> Piece {
    let words = member(bytes, &at, says).and_then(|text| json::string_value(bytes, text)).unwrap_or_default();
    let chars = if name.is_empty() { words.chars().count() } else { at.len() };
    Piece {
        name: name.into(),
        chars: chars as u32,
        label: line(&words).into(),
        deferred: false,
        server,
        is_attribution: false,
        key: Key::of([&bytes[at.clone()]]),
        at,
    }
}
