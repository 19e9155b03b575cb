//! The first words of a request, found without parsing it: they distinguish requests without a session.
//!
//! Conversations with the same opening share a lane, as do those whose opening is not found. That costs time, never
//! correctness: attribution parses the request.

use ctx_wire::rope::Pieces;
use memchr::memmem;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Messages that begin behind this offset are ignored.
const LOOK: usize = 64 * 1024;
/// The largest distance of the first text from the start of the messages.
const NEAR: usize = 512;
/// The number of compared bytes.
const WORDS: usize = 256;

/// The first words of the history, which is in the member `list`.
pub fn opening(body: &Pieces, list: &str) -> Option<u64> {
    let first = body.first()?.as_ref();
    let mut joined = Vec::new();
    let head = if body.len() == 1 || first.len() >= LOOK {
        first.get(..LOOK.min(first.len()))?
    } else {
        for piece in body.iter().map(AsRef::as_ref) {
            let room = LOOK - joined.len();
            joined.extend_from_slice(piece.get(..room.min(piece.len()))?);
        }
        &joined
    };
    words(head, list).map(|words| {
        let mut hasher = DefaultHasher::new();
        words.hash(&mut hasher);
        hasher.finish()
    })
}

/// Only the text counts: a client may send it as a string or as a block, with or without a breakpoint behind it.
fn words<'h>(head: &'h [u8], list: &str) -> Option<&'h [u8]> {
    let messages = head.get(memmem::find(head, format!("\"{list}\"").as_bytes())?..)?;
    let near = messages.get(..NEAR.min(messages.len()))?;
    let text = [br#""text":"#.as_slice(), br#""text": "#, br#""content":"#, br#""content": "#];
    let begins = |name: &&[u8]| {
        let behind = memmem::find(near, name)? + name.len();
        (near.get(behind) == Some(&b'"')).then_some(behind + 1)
    };
    let start = text.iter().filter_map(begins).min()?;
    let text = messages.get(start..)?;
    let end = text.iter().take(WORDS).position(|byte| *byte == b'"').unwrap_or(WORDS.min(text.len()));
    text.get(..end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn of(body: &str) -> Option<u64> {
        opening(&Arc::new(body.as_bytes().to_vec().into()), "messages")
    }

    #[test]
    fn the_same_words_are_found_in_any_spelling_and_others_are_not() {
        let bare = of(r#"{"model":"m","messages":[{"role":"user","content":"hi there"}]}"#);
        let block = r#"{"system":"x","messages": [{"role": "user", "content": [{"type": "text", "text": "hi there", "cache_control": {}}]}]}"#;
        assert!(bare.is_some());
        assert_eq!(of(block), bare);
        assert_ne!(of(r#"{"messages":[{"role":"user","content":"hi again"}]}"#), bare);
        assert_eq!(of(r#"{"model":"m"}"#), None);
        assert_eq!(of(r#"{"messages":[{"role":"user","content":[{"type":"image"}]}]}"#), None);
    }

    #[test]
    fn the_history_is_looked_for_under_its_own_name() {
        let opening = |body: &str| opening(&Arc::new(body.as_bytes().to_vec().into()), "contents");
        let hi = opening(r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#);
        let again = opening(r#"{"contents":[{"role":"user","parts":[{"text":"hi again"}]}]}"#);
        assert!(hi.is_some() && again.is_some() && hi != again);
        assert_eq!(opening(r#"{"messages":[{"role":"user","content":"hi"}]}"#), None);
    }

    #[test]
    fn what_stands_far_behind_is_not_looked_for() {
        let far = format!(r#"{{"system":"{}","messages":[{{"content":"hi"}}]}}"#, "x".repeat(LOOK));
        assert_eq!(of(&far), None);
    }
}
