//! Everything but the items: model, system prompt and tools.

use ctx_core::title::line;
use ctx_core::{Key, Lexicon};
use ctx_wire::body::Spans;
use ctx_wire::compose::spell;
use ctx_wire::envelope::{Envelope, Piece, digest};
use ctx_wire::json::{self, Span};

pub(crate) fn read(bytes: &[u8], request: &Spans, lexicon: &Lexicon) -> Envelope {
    let at = |name: &str| request.member(bytes, name).map(|(at, _)| at);
    let text = |name: &str| json::string_value(bytes, at(name)?);
    let system: Vec<Piece> =
        text("system").and_then(|text| Some(piece(bytes, at("system")?, "", &text))).into_iter().collect();
    let tool = |at: Span| {
        let text = |name: &str| spell::text(bytes, at.start, name).unwrap_or_default();
        piece(bytes, at.clone(), &text("name"), &text("about"))
    };
    let tools = at("tools").and_then(|list| json::elements(bytes, list.start));
    let tools: Option<Vec<Piece>> = tools.map(|tools| tools.flatten().map(tool).collect());
    Envelope {
        digest: digest(&system, tools.as_deref()),
        model: text("model").map(|model| model.as_ref().into()),
        says_subagent: system.first().is_some_and(|first| lexicon.says_subagent(&bytes[first.at.clone()])),
        system,
        tools,
        ..Envelope::default()
    }
}

fn piece(bytes: &[u8], at: Span, name: &str, words: &str) -> Piece {
    Piece {
        name: name.into(),
        chars: at.len() as u32,
        label: line(words).into(),
        deferred: false,
        server: false,
        is_attribution: false,
        key: Key::of([&bytes[at.clone()]]),
        at,
    }
}
