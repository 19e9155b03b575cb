//! One content of the history: each of its parts is a block.

use super::part::{Contents, Data, Part, member};
use crate::facts::{Bare, Facts, Reading, signature, visible_chars};
use crate::json::{self, Span};
use ctx_core::Lexicon;
use ctx_core::message::{Kind, Role};

/// Tokens of an image or a page; its size is not parsed (T2).
const TILE: u32 = 258;

/// Members with an image or a document inside a response, and the member that holds it.
const SHOWN: [(&str, &str); 4] =
    [("inlineData", "data"), ("inline_data", "data"), ("fileData", "fileUri"), ("file_data", "file_uri")];

/// The role of a content. None has a cache breakpoint.
pub(super) fn glance(bytes: &[u8]) -> (Role, bool) {
    (Contents::read(bytes).role(), false)
}

/// Parses a content.
pub(super) fn read(bytes: &[u8], lexicon: &Lexicon) -> Reading {
    let content = Contents::read(bytes);
    let mut facts = Facts::new(bytes, content.role(), lexicon);
    for (at, span) in content.parts.iter().enumerate() {
        let is_copy = content.parts[..at].iter().any(|before| bytes[before.clone()] == bytes[span.clone()]);
        part(bytes, span, is_copy, &mut facts);
    }
    facts.finish()
}

/// Adds a part. `is_copy`: an equal one stands before it.
fn part(bytes: &[u8], span: &Span, is_copy: bool, facts: &mut Facts<'_>) {
    let part = Part::read(bytes, span);
    let bare = Bare { at: span, cut: part.signature_cut() };
    match part.data() {
        Some(Data::Text) => {
            let text = json::string_value(bytes, part.value()).unwrap_or_default();
            match part.is_thought {
                true => facts.reasoning(span.clone(), (text.chars().count() as u32, 0), None),
                false => facts.text(span.clone(), &text),
            }
        }
        Some(Data::Call) => {
            let name = part.text(bytes, "name").unwrap_or_default();
            let input = part.member(bytes, "args").map_or(&b"{}"[..], |args| &bytes[args]);
            match part.text(bytes, "id") {
                Some(id) => facts.call(bare, Some(id), name, input),
                None => facts.nameless_call(span, &name, input),
            }
        }
        Some(Data::Response) => {
            let (chars, tokens) = part.member(bytes, "response").map_or((0, 0), |response| size(bytes, response));
            // Only the images beside the response: their other members are not read.
            let shown = part.member(bytes, "parts").map_or(0, |parts| size(bytes, parts).1);
            let size = (chars, tokens + shown);
            // Gemini CLI sends results twice when it resumes a session.
            match is_copy {
                true => facts.repeated_result(span, part.text(bytes, "id"), size),
                false => facts.result(bare, part.text(bytes, "id"), size),
            }
            facts.answers_tool(part.text(bytes, "name"));
        }
        Some(Data::Inline | Data::File) => {
            let media = part.text(bytes, "mimeType").or_else(|| part.text(bytes, "mime_type"));
            let is_image = media.is_some_and(|media| media.starts_with("image/"));
            let kind = if is_image { Kind::Image } else { Kind::Document };
            facts.other(bare, kind, &part.name(bytes), (0, TILE));
        }
        Some(Data::Hosted) => {
            facts.other(bare, Kind::Other, &part.name(bytes), size(bytes, part.value()));
            facts.belongs_together(part.text(bytes, "id"));
        }
        Some(Data::Code) | None => facts.other(bare, Kind::Other, &part.name(bytes), size(bytes, span.clone())),
    }
    if let Some(text) = part.checked_signature(bytes) {
        facts.anchor(signature(&text));
    }
}

/// The characters and image tokens of a value that the model reads.
fn size(bytes: &[u8], span: Span) -> (u32, u32) {
    visible_chars(bytes, span, &|bytes, members| {
        let held = |(name, value): &(&str, &str)| {
            let object = members.iter().find(|each| json::key(bytes, each) == *name)?;
            member(bytes, &object.value, value).map(|_| (object.value.clone(), TILE))
        };
        SHOWN.iter().find_map(held)
    })
}
