//! The content of a message for people and policies. It is lenient, because it is displayed and never sent.

use super::content::{displayed_result, read};
use super::part::Contents;
use ctx_core::content::{Content, WireId};

/// One content per block of the parsed message, in the same order.
pub(super) fn contents(message: &[u8]) -> Vec<Content> {
    let parts = Contents::read(message).parts;
    parts.into_iter().map(|span| part(message.get(span).unwrap_or_default())).collect()
}

fn part(bytes: &[u8]) -> Content {
    let json = || String::from_utf8_lossy(bytes).into_owned();
    let unread = || Content::Raw { wire: WireId::Gemini, json: json(), calls: None, answers: None };
    match displayed_result(bytes).or_else(|| read(bytes)).unwrap_or_else(unread) {
        // An object with other members is displayed as JSON.
        Content::Result { id, parts, error } => {
            let shown = |part: Content| match part {
                Content::Raw { json, .. } => Content::text(json),
                other => other,
            };
            Content::Result { id, parts: parts.into_iter().map(shown).collect(), error }
        }
        other => other,
    }
}
