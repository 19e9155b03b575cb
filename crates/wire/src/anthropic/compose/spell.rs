//! Where things stand in a message, read as far as somebody needs it.

use crate::json::{self, Member, Span};

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
    /// Where the first block begins; in an empty list, its bracket.
    pub first: usize,
    /// Where reading ended: at the bracket that closes the list, or at a block that nobody asked for.
    pub close: usize,
}

fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

/// The content of the message that begins at `at`, with its first `count` blocks. What follows them is not read.
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

/// The member of that name of the object that begins at `at`.
pub(super) fn member(bytes: &[u8], at: usize, name: &str) -> Option<Member> {
    let mut members = json::members(bytes, at)?.flatten();
    members.find(|member| bytes.get(member.key.clone()).is_some_and(|key| json::key_is(key, name)))
}

/// The text of a member.
pub(super) fn text<'b>(bytes: &'b [u8], at: usize, name: &str) -> Option<std::borrow::Cow<'b, str>> {
    json::string_value(bytes, member(bytes, at, name)?.value)
}

/// Where a further member goes in an object, and whether it needs a comma.
pub(super) fn end_of_members(bytes: &[u8], object: &Span) -> (usize, bool) {
    let last = json::members(bytes, object.start).and_then(|members| members.flatten().last());
    last.map_or((object.start + 1, false), |last| (last.value.end, true))
}

/// A place that is counted from `base`.
pub(super) fn behind(base: usize, span: &Span) -> Span {
    base + span.start..base + span.end
}

/// The element `at` of a list with the comma that goes with it.
pub(in crate::anthropic) fn cut(elements: &[Span], at: usize) -> Span {
    let here = &elements[at];
    match (at.checked_sub(1).map(|before| &elements[before]), elements.get(at + 1)) {
        (Some(before), _) => before.end..here.end,
        (None, Some(after)) => here.start..after.start,
        (None, None) => here.clone(),
    }
}
