//! The arguments of a tool call: the main one, and the file that the call touches.

use crate::json::{self, Member, Span, key};
use ctx_core::message::{How, Touch};
use ctx_core::{Key, Lexicon, ToolRole};
use std::borrow::Cow;

/// The main argument of a call: the best-known one, else the first text. For a list, that of its first member.
pub(crate) fn main_argument<'b>(input: &'b [u8], lexicon: &Lexicon) -> Option<Cow<'b, str>> {
    let mut best: Option<(usize, Cow<'_, str>)> = None;
    for member in json::members(input, 0).into_iter().flatten().flatten() {
        let name = key(input, &member);
        let rank = lexicon.rank(&name);
        if best.as_ref().is_none_or(|(other, _)| rank < *other)
            && let Some(text) = argument(input, member.value, lexicon.is_list(&name), lexicon)
        {
            best = Some((rank, text));
        }
    }
    best.map(|(_, text)| text)
}

/// The text of an argument. `is_list`: a list counts too, by its first text or the best argument of its first object.
fn argument<'b>(bytes: &'b [u8], value: Span, is_list: bool, lexicon: &Lexicon) -> Option<Cow<'b, str>> {
    if let Some(text) = json::string_value(bytes, value.clone()) {
        return Some(text);
    }
    let first = json::elements(bytes, value.start).filter(|_| is_list)?.flatten().next()?;
    json::string_value(bytes, first.clone()).or_else(|| {
        let members = json::members(bytes, first.start)?.flatten();
        let texts = members
            .filter_map(|member| Some((lexicon.rank(&key(bytes, &member)), json::string_value(bytes, member.value)?)));
        texts.min_by_key(|(rank, _)| *rank).map(|(_, text)| text)
    })
}

/// The file that a call reads or changes.
pub(crate) fn touch(input: &[u8], role: ToolRole, lexicon: &Lexicon) -> Option<Touch> {
    let reads = role == ToolRole::Read;
    if !reads && !role.changes() {
        return None;
    }
    let (mut file, mut part) = (None, Vec::new());
    for member in arguments(input, lexicon)? {
        let name = key(input, &member);
        match lexicon.is_path(&name) {
            true => file = json::string_value(input, member.value).map(|path| Key::of([path.as_bytes()])),
            false if reads => part.extend([name.into_owned().into_bytes(), input[member.value].to_vec()]),
            false => {}
        }
    }
    let part = (!part.is_empty()).then(|| Key::of(part.iter().map(Vec::as_slice)));
    Some(Touch { file: file?, how: if reads { How::Read(part) } else { How::Change } })
}

/// The arguments of a call, including those of the only object of a list. A list of several files touches none of them
/// alone.
fn arguments(input: &[u8], lexicon: &Lexicon) -> Option<Vec<Member>> {
    let mut all = Vec::new();
    for member in json::members(input, 0)?.flatten() {
        let objects = json::elements(input, member.value.start).filter(|_| lexicon.is_list(&key(input, &member)));
        let objects: Vec<Span> = objects.into_iter().flatten().flatten().collect();
        match objects.as_slice() {
            [one] if input.get(one.start) == Some(&b'{') => all.extend(json::members(input, one.start)?.flatten()),
            _ => all.push(member),
        }
    }
    Some(all)
}
