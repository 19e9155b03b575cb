//! The summary that the provider writes when it compacts a conversation: a block at the beginning of its
//! answer, expected back in the same place.

use super::member;
use crate::json::{self, Span};
use crate::provider_edits::Splice;

/// The summary block of an assistant message, as the provider spelled it. One without content is a failed summary and
/// counts as none.
pub fn summary(message: &[u8]) -> Option<&[u8]> {
    message.get(find(message, 0)?)
}

/// The message without that block, as an unaware client sends it back.
pub fn without_summary(message: &[u8]) -> Vec<u8> {
    let mut rest = message.to_vec();
    if let Some(cut) = cut(message, 0) {
        rest.drain(cut);
    }
    rest
}

/// Removes the summary from a message in a body. `None` if there is none.
pub fn remove_summary(body: &[u8], message: Span) -> Option<Splice> {
    cut(body, message.start).map(|at| Splice { at, bytes: Vec::new() })
}

/// The block, with its comma.
fn cut(bytes: &[u8], message: usize) -> Option<Span> {
    let block = find(bytes, message)?;
    let blocks = blocks(bytes, message)?;
    let next = blocks.iter().find(|other| other.start > block.start);
    let before = blocks.iter().rev().find(|other| other.start < block.start);
    Some(match (next, before) {
        (Some(next), _) => block.start..next.start,
        (None, Some(before)) => before.end..block.end,
        (None, None) => block,
    })
}

fn find(bytes: &[u8], message: usize) -> Option<Span> {
    let is_whole = |block: &Span| {
        let content = member(bytes, block.start, "content").and_then(|span| json::string_value(bytes, span));
        content.is_some_and(|content| !content.is_empty())
    };
    blocks(bytes, message)?.into_iter().rfind(|block| is_summary(bytes, block) && is_whole(block))
}

/// Inserts a summary at the beginning of an assistant message in a body. `None` if it has one, or if it is no such
/// message.
pub fn insert_summary(body: &[u8], message: Span, block: &[u8]) -> Option<Vec<Splice>> {
    let role = member(body, message.start, "role").and_then(|span| json::string_value(body, span))?;
    if role != "assistant" {
        return None;
    }
    let content = member(body, message.start, "content")?;
    if json::string_value(body, content.clone()).is_some() {
        let before = [b"[", block, br#",{"type":"text","text":"#].concat();
        let behind = Splice { at: content.end..content.end, bytes: b"}]".to_vec() };
        return Some(vec![Splice { at: content.start..content.start, bytes: before }, behind]);
    }
    let mut any = false;
    for element in json::elements(body, content.start)? {
        any = true;
        if is_summary(body, &element.ok()?) {
            return None;
        }
    }
    let comma: &[u8] = if any { b"," } else { b"" };
    let at = content.start + 1;
    Some(vec![Splice { at: at..at, bytes: [block, comma].concat() }])
}

fn blocks(bytes: &[u8], message: usize) -> Option<Vec<Span>> {
    let content = member(bytes, message, "content")?;
    Some(json::elements(bytes, content.start)?.flatten().collect())
}

fn is_summary(bytes: &[u8], block: &Span) -> bool {
    let kind = member(bytes, block.start, "type").and_then(|span| json::string_value(bytes, span));
    kind.as_deref() == Some("compaction")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: &str = r#"{"type":"compaction","content":"so far","encrypted_content":"xyz"}"#;

    fn with(body: &str) -> Option<String> {
        let mut whole = body.as_bytes().to_vec();
        for splice in insert_summary(body.as_bytes(), 0..body.len(), BLOCK.as_bytes())?.into_iter().rev() {
            whole.splice(splice.at, splice.bytes);
        }
        String::from_utf8(whole).ok()
    }

    #[test]
    fn a_summary_is_found_unless_it_failed() {
        let message =
            |block: &str| format!(r#"{{"role":"assistant","content":[{block},{{"type":"text","text":"on"}}]}}"#);
        assert_eq!(summary(message(BLOCK).as_bytes()), Some(BLOCK.as_bytes()));
        let without = |text: &str| String::from_utf8(without_summary(text.as_bytes())).expect("text");
        let plain = r#"{"role":"assistant","content":[{"type":"text","text":"on"}]}"#;
        assert_eq!(without(&message(BLOCK)), plain);
        assert_eq!(without(&plain.replace("}]", &format!("}}, {BLOCK}]"))), plain);
        assert_eq!(without(&format!(r#"{{"content":[ {BLOCK} ]}}"#)), r#"{"content":[  ]}"#);
        assert_eq!(without(plain), plain);
        for failed in
            [r#"{"type":"compaction","content":null}"#, r#"{"type":"compaction","content":""}"#, r#"{"type":"x"}"#]
        {
            assert_eq!(summary(message(failed).as_bytes()), None);
        }
        assert_eq!(summary(b"{}"), None);
    }

    #[test]
    fn it_comes_back_at_the_beginning_of_its_message_and_once() {
        assert_eq!(
            with(r#"{"role":"assistant","content":[ {"type":"text","text":"on"}]}"#),
            Some(format!(r#"{{"role":"assistant","content":[{BLOCK}, {{"type":"text","text":"on"}}]}}"#))
        );
        assert_eq!(
            with(r#"{"role":"assistant","content":"on"}"#),
            Some(format!(r#"{{"role":"assistant","content":[{BLOCK},{{"type":"text","text":"on"}}]}}"#))
        );
        assert_eq!(
            with(r#"{"role":"assistant","content":[]}"#),
            Some(format!(r#"{{"role":"assistant","content":[{BLOCK}]}}"#))
        );
        assert_eq!(with(&format!(r#"{{"role":"assistant","content":[{BLOCK}]}}"#)), None);
        let body = format!(r#"{{"messages":[ {{"role":"assistant","content":[{BLOCK},{{"type":"text"}}]}} ]}}"#);
        let cut = remove_summary(body.as_bytes(), 14..body.len()).expect("it is there");
        assert_eq!(&body[cut.at], format!("{BLOCK},"));
        assert!(remove_summary(br#"{"role":"assistant","content":"on"}"#, 0..35).is_none());
        assert_eq!(with(r#"{"role":"user","content":"on"}"#), None);
    }
}
