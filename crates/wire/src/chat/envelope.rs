//! The envelope of a request: everything but its history (model, system prompt, tools, settings).

use super::message::{Parts, member};
use crate::body::Spans;
use crate::envelope::{Envelope, Manner, Piece, digest};
use crate::json::{self, Span};
use ctx_core::title::line;
use ctx_core::{Key, Lexicon};

pub(super) fn read(bytes: &[u8], request: &Spans, lexicon: &Lexicon) -> Envelope {
    let text = |name: &str| request.member(bytes, name).and_then(|(span, _)| json::string_value(bytes, span));
    let system: Vec<Piece> = request.lead.iter().map(|span| system(bytes, span)).collect();
    let says_subagent = system.first().is_some_and(|first| lexicon.says_subagent(&bytes[first.at.clone()]));
    let tools = request.member(bytes, "tools").map(|(span, _)| tools(bytes, &span));
    Envelope {
        digest: digest(&system, tools.as_deref()),
        model: text("model").map(|model| model.as_ref().into()),
        says_subagent,
        system,
        tools,
        session: None,
        wants_format: request.member(bytes, "response_format").is_some_and(|(span, _)| {
            let kind = member(bytes, &span, "type").and_then(|kind| json::string_value(bytes, kind));
            kind.is_some_and(|kind| kind != "text")
        }),
        threaded: false,
        continues: None,
        streams: request.member(bytes, "stream").is_some_and(|(_, value)| value == b"true"),
        manner: Manner::default(),
    }
}

/// A message at the beginning, as a piece of the system prompt.
fn system(bytes: &[u8], span: &Span) -> Piece {
    let message = &bytes[span.clone()];
    let parts = Parts::read(message);
    let text = match (&parts.elements, parts.content) {
        (Some(elements), _) => {
            let texts = elements.iter().filter_map(|part| json::string_value(message, member(message, part, "text")?));
            texts.map(|text| text.into_owned()).collect::<Vec<_>>().join("\n")
        }
        (None, Some(content)) => json::string_value(message, parts.value(content)).unwrap_or_default().into_owned(),
        (None, None) => String::new(),
    };
    Piece {
        name: "".into(),
        key: Key::of([message]),
        at: span.clone(),
        chars: text.chars().count() as u32,
        label: line(&text).into(),
        deferred: false,
        server: false,
        is_attribution: false,
    }
}

fn tools(bytes: &[u8], list: &Span) -> Vec<Piece> {
    let tool = |at: Span| {
        let function = member(bytes, &at, "function").or_else(|| member(bytes, &at, "custom"));
        let within = |name: &str| {
            let from = function.clone().unwrap_or_else(|| at.clone());
            json::string_value(bytes, member(bytes, &from, name)?)
        };
        Piece {
            name: within("name").unwrap_or_default().as_ref().into(),
            chars: at.len() as u32,
            label: line(&within("description").unwrap_or_default()).into(),
            deferred: false,
            server: function.is_none(),
            is_attribution: false,
            key: Key::of([&bytes[at.clone()]]),
            at,
        }
    };
    json::elements(bytes, list.start).into_iter().flatten().flatten().map(tool).collect()
}
