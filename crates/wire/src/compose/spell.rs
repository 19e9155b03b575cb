//! Positions of members in objects and of elements in lists.

use crate::json::{self, Member, Span};

/// The named member of the object at `at`.
pub fn member(bytes: &[u8], at: usize, name: &str) -> Option<Member> {
    let mut members = json::members(bytes, at)?.flatten();
    members.find(|member| bytes.get(member.key.clone()).is_some_and(|key| json::key_is(key, name)))
}

/// The text of a member.
pub fn text<'b>(bytes: &'b [u8], at: usize, name: &str) -> Option<std::borrow::Cow<'b, str>> {
    json::string_value(bytes, member(bytes, at, name)?.value)
}

/// The position for a further member in an object, and whether it needs a comma.
pub fn end_of_members(bytes: &[u8], object: &Span) -> (usize, bool) {
    let last = json::members(bytes, object.start).and_then(|members| members.flatten().last());
    last.map_or((object.start + 1, false), |last| (last.value.end, true))
}

/// The bytes with each span replaced.
pub fn spliced(bytes: &[u8], mut edits: Vec<(Span, Vec<u8>)>) -> Vec<u8> {
    edits.sort_by_key(|(span, _)| (span.start, span.end));
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for (span, by) in edits {
        out.extend_from_slice(bytes.get(at..span.start).unwrap_or_default());
        out.extend_from_slice(&by);
        at = span.end.max(at);
    }
    out.extend_from_slice(bytes.get(at..).unwrap_or_default());
    out
}

/// A span relative to `base`, made absolute.
pub fn behind(base: usize, span: &Span) -> Span {
    base + span.start..base + span.end
}

/// The element `at` of a list, with its comma.
pub fn cut(elements: &[Span], at: usize) -> Span {
    let here = &elements[at];
    match (at.checked_sub(1).map(|before| &elements[before]), elements.get(at + 1)) {
        (Some(before), _) => before.end..here.end,
        (None, Some(after)) => here.start..after.start,
        (None, None) => here.clone(),
    }
}
