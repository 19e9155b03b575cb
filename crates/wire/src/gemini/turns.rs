//! Consecutive contents of one role are one turn to the provider. Joins contents that an edit made neighbours (G5), and
//! signs the calls of a checked turn (G30).

use super::part::{Contents, DUMMY, Data, Part};
use crate::compose::Input;
use crate::compose::dialect::Element;
use crate::json::Span;
use ctx_core::message::Role;

/// Joins neighbours of one role that were not neighbours in the client's request. Results stay separate (G16).
pub(super) fn join(elements: Vec<Element>, input: &Input<'_>) -> Vec<Element> {
    let mut out: Vec<Element> = Vec::with_capacity(elements.len());
    for element in elements {
        let joined = out.last().and_then(|before| joined(before, &element, input));
        match (joined, out.last_mut()) {
            (Some(joined), Some(last)) => *last = Element::Made(joined),
            _ => out.push(element),
        }
    }
    out
}

fn joined(before: &Element, next: &Element, input: &Input<'_>) -> Option<Vec<u8>> {
    if let (Element::Source(before), Element::Source(next)) = (before, next)
        && before + 1 == *next
    {
        return None;
    }
    let (first, second) = (before.bytes(input), next.bytes(input));
    let (one, other) = (Contents::read(first), Contents::read(second));
    let is_same = one.role() == other.role() && one.role() != Role::Other;
    let holds = |bytes: &[u8], content: &Contents| {
        let is_result = |span: &Span| Part::read(bytes, span).data() == Some(Data::Response);
        let results = content.parts.iter().filter(|span| is_result(span)).count();
        (results > 0, results < content.parts.len())
    };
    let (kinds, others) = (holds(first, &one), holds(second, &other));
    let (list, more) = (one.list?, other.list?);
    let is_joined = is_same && kinds == others && kinds != (true, true);
    let (begin, rest) = (first.get(..list.end - 1)?, first.get(list.end - 1..)?);
    is_joined.then(|| [begin, b",", &second[more.start + 1..more.end - 1], rest].concat())
}

/// Signs the first call of each step that the provider would otherwise refuse: synthetic ones, and those that an edit
/// moved into the current turn. The client's own calls in its own current turn stay unchanged.
pub(super) fn sign(mut elements: Vec<Element>, input: &Input<'_>) -> Vec<Element> {
    if !elements.iter().any(|element| matches!(element, Element::Made(_))) && is_whole(&elements, input) {
        return elements;
    }
    if !is_checked(input) {
        return elements;
    }
    let own: Vec<&[u8]> = (0..input.body.spans().messages.len()).map(|at| input.body.message(at)).collect();
    let own_turn = current_turn(&own);
    let sent: Vec<&[u8]> = elements.iter().map(|element| element.bytes(input)).collect();
    let turn = current_turn(&sent);
    let unsigned: Vec<(usize, usize)> = first_calls(&sent)
        .filter(|(at, call)| {
            let is_needed = match elements[*at] {
                Element::Made(_) => true,
                Element::Source(source) => *at >= turn && source < own_turn,
            };
            is_needed && Part::read(sent[*at], call).signature(sent[*at]).is_none()
        })
        .map(|(at, call)| (at, call.start))
        .collect();
    for (at, call) in unsigned {
        let signed = signed(elements[at].bytes(input), call);
        elements[at] = Element::Made(signed);
    }
    elements
}

fn is_whole(elements: &[Element], input: &Input<'_>) -> bool {
    elements.len() == input.body.spans().messages.len()
}

/// Whether the model checks signatures: the client returns some, or the model is of the third generation (G30).
fn is_checked(input: &Input<'_>) -> bool {
    let says = |words: &[u8]| memchr::memmem::find(input.body.bytes(), words).is_some();
    let generation =
        |model: &str| ctx_models::bare(model).strip_prefix("gemini-")?.split('-').next()?.parse::<u32>().ok();
    says(b"\"thoughtSignature\"")
        || says(b"\"thought_signature\"")
        || input.envelope.model.as_deref().and_then(generation).is_some_and(|generation| generation >= 3)
}

/// The start of the current turn: behind the user's last content without a result (G30, G31).
fn current_turn(contents: &[&[u8]]) -> usize {
    let is_plain = |bytes: &&[u8]| {
        let content = Contents::read(bytes);
        let is_result = |span: &Span| Part::read(bytes, span).data() == Some(Data::Response);
        content.role() == Role::User && !content.parts.iter().any(is_result)
    };
    contents.iter().rposition(is_plain).map_or(0, |at| at + 1)
}

/// The first call of each step, with its content.
fn first_calls<'c>(contents: &'c [&'c [u8]]) -> impl Iterator<Item = (usize, Span)> + 'c {
    let mut is_found = false;
    contents.iter().enumerate().filter_map(move |(at, bytes)| {
        let content = Contents::read(bytes);
        if content.role() != Role::Assistant {
            is_found = false;
            return None;
        }
        let is_call = |span: &Span| Part::read(bytes, span).data() == Some(Data::Call);
        let call = content.parts.into_iter().find(is_call).filter(|_| !is_found)?;
        is_found = true;
        Some((at, call))
    })
}

/// A content with an unchecked signature on the part at `part` (G34).
fn signed(content: &[u8], part: usize) -> Vec<u8> {
    let span = crate::json::value(content, part).unwrap_or(part..part);
    let (at, _) = crate::compose::spell::end_of_members(content, &span);
    let signature = format!(r#","thoughtSignature":"{DUMMY}""#);
    [&content[..at], signature.as_bytes(), &content[at..]].concat()
}

/// The history without the model's signatures, except those that the current turn needs.
pub(super) fn resigned(contents: &[&[u8]]) -> Vec<Vec<u8>> {
    let bare: Vec<Vec<u8>> = contents.iter().map(|bytes| unsigned(bytes)).collect();
    let parts: Vec<&[u8]> = bare.iter().map(Vec::as_slice).collect();
    let turn = current_turn(&parts);
    let calls: Vec<(usize, usize)> =
        first_calls(&parts).filter(|(at, _)| *at >= turn).map(|(at, call)| (at, call.start)).collect();
    let mut out = bare.clone();
    for (at, call) in calls {
        out[at] = signed(&bare[at], call);
    }
    out
}

/// A content without signatures.
fn unsigned(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for cut in Contents::read(bytes).parts.iter().filter_map(|span| Part::read(bytes, span).signature_cut()) {
        out.extend_from_slice(&bytes[at..cut.start]);
        at = cut.end;
    }
    out.extend_from_slice(&bytes[at..]);
    out
}
