//! Writes the messages of a plan as elements, and the elements as segments.

use super::dialect::{Dialect, Element, KeptBlock, Plan};
use super::head::Head;
use super::layout::pieces;
use super::writer::{ArrayWriter, Writer};
use super::{Input, Out, Piece, Segment};
use crate::json::Span;
use crate::marks::{self, is_marked};
use ctx_core::content::Content;
use ctx_core::key::Key;

/// The messages of a plan as elements of the history.
#[derive(Default)]
pub(super) struct WrittenElements {
    pub elements: Vec<Element>,
    /// The prefix digest after each message.
    pub after: Vec<Key>,
    /// The messages with a cache breakpoint, by index, and the prefixes after them.
    pub marks: Vec<(usize, Key)>,
}

/// Writes the messages behind this prefix.
pub(super) fn elements<D: Dialect + ?Sized>(dialect: &D, plan: &Plan<'_>, mut prefix: Key) -> WrittenElements {
    let input = plan.input;
    let lead = input.body.spans().lead.len();
    let mut all = WrittenElements { after: Vec::with_capacity(plan.outs.len()), ..WrittenElements::default() };
    let first = input.body.spans().messages.get(plan.from).filter(|_| plan.from > 0);
    let from = first.map_or(0, |first| first.start);
    let bytes = input.body.bytes().get(from..).unwrap_or_default();
    let breakpoint = dialect.breakpoint().filter(|name| memchr::memmem::find(bytes, name).is_some());
    let mut ends = Vec::with_capacity(plan.outs.len());
    for (at, out) in plan.outs.iter().enumerate() {
        let mut written = written(dialect, plan, out);
        let digest = match (&written, out.source) {
            (None, Some(source)) => {
                input.digests.get(source as usize).copied().unwrap_or_else(|| Key::of([[].as_slice()]))
            }
            (written, _) => {
                let bare: Vec<_> = written.iter().flatten().map(|element| dialect.bare(element)).collect();
                Key::of(bare.iter().map(AsRef::as_ref))
            }
        };
        if let (Some(name), Some(written), Some(source)) = (breakpoint, &mut written, out.source)
            && !written.iter().any(|element| is_marked(element, name))
            && let Some(mark) = marks::value(input.body.message(source as usize), name)
            && let Some(last) = written.last_mut()
            && let Some(marked) = dialect.marked(last, mark, plan)
        {
            *last = marked;
        }
        let is_marked = breakpoint.is_some_and(|name| match (&written, out.source) {
            (None, Some(source)) => is_marked(input.body.message(source as usize), name),
            (written, _) => written.iter().flatten().any(|element| is_marked(element, name)),
        });
        match (written, out.source) {
            (None, Some(source)) => all.elements.push(Element::Source(lead + source as usize)),
            (written, _) => all.elements.extend(written.into_iter().flatten().map(Element::Made)),
        }
        prefix = prefix.then(digest);
        all.after.push(prefix);
        all.marks.extend(is_marked.then_some((at, prefix)));
        ends.push(all.elements.len());
    }
    if let Some(name) = breakpoint {
        put_back(dialect, plan, name, &mut all, &ends);
    }
    all
}

/// Sets the breakpoints of removed messages at the nearest message before each. `ends`: behind the elements of each
/// message.
fn put_back<D: Dialect + ?Sized>(dialect: &D, plan: &Plan<'_>, name: &[u8], all: &mut WrittenElements, ends: &[usize]) {
    let input = plan.input;
    let lead = input.body.spans().lead.len();
    for (source, _) in plan.messages() {
        let message = input.body.message(source as usize);
        let Some(mark) = marks::value(message, name) else { continue };
        if plan.outs.iter().any(|out| out.source == Some(source)) {
            continue;
        }
        let is_before = |out: &Out| out.anchor.or(out.source).is_some_and(|at| at < source);
        let Some(last) = plan.outs.iter().rposition(is_before) else { continue };
        for at in (0..=last).rev() {
            let is_set = all.marks.iter().any(|(marked, _)| *marked == at);
            let Some(end) = ends.get(at).copied().filter(|end| !is_set && *end > 0) else { break };
            let Some(element) = all.elements.get_mut(end - 1) else { break };
            let bytes = match element {
                Element::Source(own) => input.body.message(*own - lead),
                Element::Made(bytes) => bytes.as_slice(),
            };
            let Some(marked) = dialect.marked(bytes, mark, plan) else { continue };
            *element = Element::Made(marked);
            all.marks.extend(all.after.get(at).map(|prefix| (at, *prefix)));
            all.marks.sort_by_key(|(at, _)| *at);
            break;
        }
    }
}

/// The elements that an outgoing message is written as; none if its source is unchanged.
fn written<D: Dialect + ?Sized>(dialect: &D, plan: &Plan<'_>, out: &Out) -> Option<Vec<Vec<u8>>> {
    let input = plan.input;
    let own = out.source.map(|source| source as usize);
    if out.is_whole() && out.source.is_some_and(|source| !plan.restyled.contains(&source)) {
        return None;
    }
    let facts = own.and_then(|own| input.messages.get(own));
    let Some(facts) = facts else {
        let content: Vec<&Content> = pieces(input, out).filter_map(|piece| made(plan, piece)).collect();
        return Some(dialect.elements(out.role, &content, plan));
    };
    let kept: Vec<KeptBlock<'_>> = pieces(input, out)
        .filter_map(|piece| match piece {
            Piece::Client { message, block, text } if Some(message as usize) == own => {
                let text = text.checked_sub(1).and_then(|text| plan.texts.get(text as usize));
                Some(text.map_or(KeptBlock::Own(block as usize), |text| KeptBlock::Text(block as usize, text)))
            }
            piece => made(plan, piece).map(KeptBlock::Made),
        })
        .collect();
    Some(dialect.rewrite(input.body.message(own.unwrap_or_default()), facts, &kept, plan))
}

fn made<'p>(plan: &'p Plan<'_>, piece: Piece) -> Option<&'p Content> {
    match piece {
        Piece::Made(at) => plan.made.get(at as usize).map(|made| &*made.content),
        Piece::Client { .. } => None,
    }
}

/// The written history.
pub(super) struct WrittenArray {
    pub writer: Writer,
    pub settled: Option<SettledArray>,
}

/// The history before the border.
pub(super) struct SettledArray {
    pub segments: Vec<Segment>,
    /// The client's index of the last element.
    pub last: Option<usize>,
}

/// Writes the history of a whole request; `border`: the message before which it may be divided.
pub(super) fn array<D: Dialect + ?Sized>(
    dialect: &D,
    plan: &Plan<'_>,
    head: &Head,
    messages: Vec<Element>,
    border: Option<usize>,
) -> WrittenArray {
    let spans = plan.input.body.spans();
    let mut elements = head.lead.elements(spans.lead.len());
    elements.extend(messages);
    let elements = dialect.polish(elements, plan);
    let is_border = |element: &Element| border.is_some_and(|at| element.own() == Some(spans.lead.len() + at));
    let border = elements.iter().position(is_border);
    let (before, open) = elements.split_at(border.unwrap_or(0));
    let mut array = ArrayWriter::begin(spans);
    array.elements(before);
    let settled = border.map(|_| SettledArray { segments: array.writer.0.clone(), last: array.before.flatten() });
    array.elements(open);
    // A text in the place of the list has no brackets; another list needs them.
    let is_text = spans.messages.first().or(spans.lead.first()).is_some_and(|first| *first == spans.array);
    let mut writer = array.end();
    if is_text && !matches!(elements.as_slice(), [Element::Source(0)]) {
        let mut list = Writer::default();
        list.made(b"[");
        list.append(writer);
        list.made(b"]");
        writer = list;
    }
    WrittenArray { writer, settled }
}

/// Writes the open messages behind the settled part of the history.
pub(super) fn array_behind<D: Dialect + ?Sized>(
    dialect: &D,
    plan: &Plan<'_>,
    (segments, last): (&[Segment], Option<usize>),
    messages: Vec<Element>,
) -> Writer {
    let mut array = ArrayWriter::behind(plan.input.body.spans(), segments, last);
    array.elements(&dialect.polish(messages, plan));
    array.end()
}

/// Writes the body around the history.
pub(super) fn body(input: &Input<'_>, head: &Head, history: Writer) -> Vec<Segment> {
    let mut edits: Vec<(&Span, Option<&[u8]>)> =
        head.edits.iter().map(|(span, by)| (span, Some(by.as_slice()))).collect();
    edits.push((&input.body.spans().array, None));
    edits.sort_by_key(|(span, _)| span.start);
    let (mut writer, mut history) = (Writer::default(), Some(history));
    let mut at = 0;
    for (span, by) in edits {
        writer.source(at..span.start);
        match by {
            Some(by) => writer.made(by),
            None => history.take().into_iter().for_each(|history| writer.append(history)),
        }
        at = span.end;
    }
    writer.source(at..input.body.bytes().len());
    writer.0
}
