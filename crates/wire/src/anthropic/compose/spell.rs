//! Positions in a message, parsed on demand.

pub(super) use crate::compose::spell::{behind, cut, end_of_members, member, text};
use crate::json::{self, Span};

/// The content of a message.
#[derive(Debug, Clone)]
pub(super) enum Content {
    /// A string, quotes included.
    Text(Span),
    List(List),
    Nothing,
}

/// The first blocks of a list.
#[derive(Debug, Clone)]
pub(super) struct List {
    pub blocks: Vec<Span>,
    /// The start of the first block; in an empty list, its bracket.
    pub first: usize,
    /// The end of parsing: the closing bracket, or an unneeded block.
    pub close: usize,
}

fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

/// The content of the message at `at`, with its first `count` blocks. The rest is not parsed.
pub(super) fn content(bytes: &[u8], at: usize, count: usize) -> Content {
    let Some(mut walk) = json::members(bytes, at) else { return Content::Nothing };
    while let Some(Ok((key, value))) = walk.next_key() {
        if bytes.get(key).is_some_and(|key| json::key_is(key, "content")) {
            return match bytes.get(value) {
                Some(b'[') => list(bytes, value, count).map_or(Content::Nothing, Content::List),
                Some(b'"') => json::value(bytes, value).map_or(Content::Nothing, Content::Text),
                _ => Content::Nothing,
            };
        }
        let Ok(span) = json::value(bytes, value) else { return Content::Nothing };
        walk.past(span.end);
    }
    Content::Nothing
}

fn list(bytes: &[u8], open: usize, count: usize) -> Option<List> {
    let first = skip_space(bytes, open + 1);
    let mut list = List { blocks: Vec::new(), first, close: first };
    let mut at = first;
    while bytes.get(at) != Some(&b']') && list.blocks.len() < count {
        let end = json::value(bytes, at).ok()?.end;
        list.blocks.push(at..end);
        at = skip_space(bytes, end);
        if bytes.get(at) == Some(&b',') {
            at = skip_space(bytes, at + 1);
        }
    }
    list.close = at;
    Some(list)
}
