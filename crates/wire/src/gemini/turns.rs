//! Consecutive contents of one role are one turn to the provider. Joins contents that an edit made neighbours (G5), and
//! signs the calls of a checked turn (G30).

use super::part::{Contents, DUMMY, Data, Part};
use crate::compose::dialect::{Element, Plan, Tag};
use crate::compose::layout::pieces;
use crate::compose::{Input, Out, Piece};
use crate::json::Span;
use ctx_core::message::{Kind, Message, Role};

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
    if !is_checked(input, 0) {
        return elements;
    }
    let own_turn = current_turn(input.messages.iter().map(|message| Glance::of(message)));
    let sent: Vec<Glance> = elements.iter().map(|element| Glance::read(element, input)).collect();
    let turn = current_turn(sent.iter().copied());
    let is_checked = |at: &usize| match elements[*at] {
        Element::Made(_) => true,
        Element::Source(source) => *at >= turn && source < own_turn,
    };
    let calls: Vec<usize> = first_calls(&sent).filter(is_checked).collect();
    for at in calls {
        if let Some(signed) = signed(elements[at].bytes(input)) {
            elements[at] = Element::Made(signed);
        }
    }
    elements
}

/// A content in short.
#[derive(Debug, Clone, Copy)]
struct Glance {
    role: Role,
    has_calls: bool,
    has_results: bool,
}

impl Glance {
    fn of(message: &Message) -> Glance {
        let has = |kind: Kind| message.blocks.iter().any(|block| block.kind == kind);
        Glance { role: message.role, has_calls: has(Kind::ToolUse), has_results: has(Kind::ToolResult) }
    }

    fn read(element: &Element, input: &Input<'_>) -> Glance {
        let source = match element {
            Element::Source(at) => input.messages.get(*at),
            Element::Made(_) => None,
        };
        source.map_or_else(|| Glance::parse(element.bytes(input)), |message| Glance::of(message))
    }

    fn parse(bytes: &[u8]) -> Glance {
        let content = Contents::read(bytes);
        let has = |data: Data| content.parts.iter().any(|span| Part::read(bytes, span).data() == Some(data));
        Glance { role: content.role(), has_calls: has(Data::Call), has_results: has(Data::Response) }
    }
}

fn is_whole(elements: &[Element], input: &Input<'_>) -> bool {
    elements.len() == input.body.spans().messages.len()
}

/// Whether [`sign`] may sign a call of the client that an operation left in the current turn.
pub(super) fn has_moved_calls(plan: &Plan<'_>) -> bool {
    let messages = plan.input.messages;
    let own_turn = current_turn(messages.iter().map(|message| Glance::of(message))) as u32;
    let is_said = |out: &Out| {
        let is_result = |piece: Piece| matches!(plan.tag(piece), Tag::Result(_));
        out.role == Role::User && !pieces(plan.input, out).any(is_result)
    };
    let turn = plan.outs.iter().rposition(is_said).map_or(0, |at| at + 1);
    plan.outs[turn..].iter().any(|out| out.source.is_some_and(|source| source < own_turn))
}

/// Whether the model checks signatures: the client returns some in the messages from this one on, or the model is of the
/// third generation (G30).
pub(super) fn is_checked(input: &Input<'_>, from: usize) -> bool {
    let first = input.body.spans().messages.get(from).filter(|_| from > 0).map_or(0, |first| first.start);
    let bytes = input.body.bytes().get(first..).unwrap_or_default();
    let says = |words: &[u8]| memchr::memmem::find(bytes, words).is_some();
    let generation =
        |model: &str| ctx_models::bare(model).strip_prefix("gemini-")?.split('-').next()?.parse::<u32>().ok();
    input.envelope.model.as_deref().and_then(generation).is_some_and(|generation| generation >= 3)
        || says(b"\"thoughtSignature\"")
        || says(b"\"thought_signature\"")
}

/// The start of the current turn: behind the user's last content without a result (G30).
fn current_turn(mut contents: impl DoubleEndedIterator<Item = Glance> + ExactSizeIterator) -> usize {
    contents.rposition(|content| content.role == Role::User && !content.has_results).map_or(0, |at| at + 1)
}

/// The contents with the first call of each step.
fn first_calls(contents: &[Glance]) -> impl Iterator<Item = usize> {
    let mut is_found = false;
    contents.iter().enumerate().filter_map(move |(at, content)| {
        if content.role != Role::Assistant {
            is_found = false;
            return None;
        }
        let is_first = content.has_calls && !is_found;
        is_found |= content.has_calls;
        is_first.then_some(at)
    })
}

/// A content with an unchecked signature on its first call (G34); `None` if it has one.
fn signed(content: &[u8]) -> Option<Vec<u8>> {
    let is_call = |span: &Span| Part::read(content, span).data() == Some(Data::Call);
    let call = Contents::read(content).parts.into_iter().find(is_call)?;
    if Part::read(content, &call).signature(content).is_some() {
        return None;
    }
    let (at, _) = crate::compose::spell::end_of_members(content, &call);
    let signature = format!(r#","thoughtSignature":"{DUMMY}""#);
    Some([&content[..at], signature.as_bytes(), &content[at..]].concat())
}

/// The history without the model's signatures, except those that the current turn needs.
pub(super) fn resigned(contents: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut bare: Vec<Vec<u8>> = contents.iter().map(|bytes| unsigned(bytes)).collect();
    let glances: Vec<Glance> = bare.iter().map(|content| Glance::parse(content)).collect();
    let turn = current_turn(glances.iter().copied());
    for at in first_calls(&glances).filter(|at| *at >= turn) {
        if let Some(signed) = signed(&bare[at]) {
            bare[at] = signed;
        }
    }
    bare
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
