//! System prompt and tools of wires that keep them at the beginning of the history or in members of the body.

use super::dialect::{Dialect, Element};
use super::{HeadParts, Input, Part, Repair};
use crate::envelope::Piece;
use crate::json::{self, Span};
use ctx_core::content::Content;
use ctx_core::edit::effect::NewMessageId;
use ctx_core::edit::fold::{Around, View};
use ctx_core::key::{Key, KeyBuilder};
use std::collections::BTreeSet;

/// System prompt and tools as they are sent.
pub(super) struct Head {
    pub parts: HeadParts,
    pub lead: Lead,
    /// Replacements of bytes outside the history.
    pub edits: Vec<(Span, Vec<u8>)>,
    /// The members of the body that go, by index.
    gone: BTreeSet<usize>,
    /// The synthetic pieces, as [`HeadParts::made`] names them.
    made: Vec<Vec<u8>>,
    pub digest: Key,
}

impl Head {
    /// As the client sent it.
    pub fn untouched(input: &Input<'_>) -> Head {
        Head {
            parts: HeadParts::default(),
            lead: Lead(None),
            edits: Vec::new(),
            gone: BTreeSet::new(),
            made: Vec::new(),
            digest: input.around,
        }
    }

    /// Whether operations change it.
    pub fn is_edited(&self) -> bool {
        self.parts.system.is_some() || self.parts.tools.is_some()
    }

    /// Adds a synthetic piece.
    fn add(&mut self, from: (NewMessageId, u32), made: &str) -> Part {
        self.parts.made.push(from);
        self.made.push(made.as_bytes().to_vec());
        Part::Made(self.made.len() - 1)
    }
}

/// The leading elements of the history; `None`: unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lead(Option<Vec<LeadPart>>);

impl Lead {
    /// The elements that are sent, of this many.
    pub fn elements(&self, count: usize) -> Vec<Element> {
        let Some(parts) = &self.0 else { return (0..count).map(Element::Source).collect() };
        let element = |part: &LeadPart| match part {
            LeadPart::Own(at) => Element::Source(*at),
            LeadPart::Made(bytes) => Element::Made(bytes.clone()),
        };
        parts.iter().map(element).collect()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum LeadPart {
    Own(usize),
    Made(Vec<u8>),
}

/// A synthetic piece, and its source.
type NewPiece<'v> = ((NewMessageId, u32), &'v Content);

pub(super) fn arrange<D: Dialect + ?Sized>(
    dialect: &D,
    input: &Input<'_>,
    view: &View<'_>,
    repairs: &mut Vec<Repair>,
) -> Head {
    let mut head = Head::untouched(input);
    let is_touched = |list: &[Around]| list.iter().any(|each| each.covered.is_some() || !each.by.is_empty());
    if is_touched(&view.system) {
        system(dialect, input, view, &mut head, repairs);
    }
    if is_touched(&view.tools) {
        tools(dialect, input, view, &mut head, repairs);
    }
    cut_members(input, &mut head);
    head.digest = digest(input, &head);
    head
}

/// Cuts members out, adjacent ones together.
fn cut_members(input: &Input<'_>, head: &mut Head) {
    let members = &input.body.spans().members;
    let mut at = 0;
    while at < members.len() {
        let run = (at..members.len()).take_while(|at| head.gone.contains(at)).count();
        if run > 0 {
            let (first, last) = (members[at].whole(), members[at + run - 1].whole());
            let span = match (at.checked_sub(1), members.get(at + run)) {
                (Some(before), _) => members[before].value.end..last.end,
                (None, Some(behind)) => first.start..behind.whole().start,
                (None, None) => first.start..last.end,
            };
            head.edits.push((span, Vec::new()));
        }
        at += run.max(1);
    }
}

/// Identifies everything that the model reads before the first message, independent of its position in the body.
fn digest(input: &Input<'_>, head: &Head) -> Key {
    if !head.is_edited() {
        return input.around;
    }
    let mut key = KeyBuilder::default();
    let mut feed = |name: &[u8], own: &[Piece], parts: &Option<Vec<Part>>| {
        key.feed(name);
        let whole: Vec<Part> = (0..own.len()).map(Part::Own).collect();
        for part in parts.as_ref().unwrap_or(&whole) {
            match part {
                Part::Own(at) => own.get(*at).into_iter().for_each(|piece| key.feed(&piece.key.0)),
                Part::Made(at) => head.made.get(*at).into_iter().for_each(|made| key.feed(made)),
            }
        }
    };
    feed(b"system", &input.envelope.system, &head.parts.system);
    feed(b"tools", input.envelope.tools.as_deref().unwrap_or_default(), &head.parts.tools);
    key.finish()
}

fn given<'v>(view: &'v View<'_>, fate: &Around) -> Vec<NewPiece<'v>> {
    let made = fate.by.iter().filter_map(|id| Some((*id, view.made(*id)?)));
    made.flat_map(|(id, made)| (0..).zip(&made.content).map(move |(at, content)| ((id, at), content))).collect()
}

fn system<D: Dialect + ?Sized>(
    dialect: &D,
    input: &Input<'_>,
    view: &View<'_>,
    head: &mut Head,
    repairs: &mut Vec<Repair>,
) {
    let (bytes, spans) = (input.body.bytes(), input.body.spans());
    let mut lead: Vec<(usize, Vec<LeadPart>)> = (0..spans.lead.len()).map(|at| (at, vec![LeadPart::Own(at)])).collect();
    let mut parts = Vec::new();
    let mut listed: Vec<(Span, Vec<u8>)> = Vec::new();
    for (at, piece) in input.envelope.system.iter().enumerate() {
        let fate = view.system.get(at).cloned().unwrap_or_default();
        let mut texts = Vec::new();
        for (from, content) in given(view, &fate) {
            match content {
                Content::Text { text } if !text.trim().is_empty() => {
                    parts.push(head.add(from, text));
                    texts.push(text.as_str());
                }
                _ => repairs.push(Repair::new(
                    "X3",
                    "a piece of ours in the system prompt is left out: it is no text, or empty",
                )),
            }
        }
        let is_own = fate.covered.is_none();
        if is_own {
            parts.push(Part::Own(at));
        }
        if holder(input, &piece.at).is_some() {
            let own = bytes.get(piece.at.clone()).unwrap_or_default();
            let made = texts.iter().map(|text| dialect.system(text, own));
            let all: Vec<Vec<u8>> = made.chain(is_own.then(|| own.to_vec())).collect();
            listed.push((piece.at.clone(), all.join(b",".as_slice())));
            continue;
        }
        if is_own && texts.is_empty() {
            continue;
        }
        match spans.lead.iter().position(|span| *span == piece.at) {
            Some(place) => {
                let like = bytes.get(piece.at.clone()).unwrap_or_default();
                let made = texts.iter().map(|text| LeadPart::Made(dialect.system(text, like)));
                lead[place].1 = made.chain(is_own.then_some(LeadPart::Own(place))).collect();
            }
            None => member(input, piece, &texts, is_own, head),
        }
    }
    head.parts.system = Some(parts);
    list(input, &listed, head);
    head.lead = Lead(Some(lead.into_iter().flat_map(|(_, parts)| parts).collect()));
}

/// The member whose value has a piece as a list element.
fn holder(input: &Input<'_>, piece: &Span) -> Option<usize> {
    let spans = input.body.spans();
    let holds = |member: &json::Member| member.value.start < piece.start && piece.end < member.value.end;
    spans.members.iter().position(|member| holds(member) && member.value != spans.array)
}

/// Writes the pieces of a system prompt that is a list. Without any, the member is removed.
fn list(input: &Input<'_>, pieces: &[(Span, Vec<u8>)], head: &mut Head) {
    let (Some((first, _)), Some((last, _))) = (pieces.first(), pieces.last()) else { return };
    let written: Vec<&[u8]> = pieces.iter().map(|(_, sent)| sent.as_slice()).filter(|sent| !sent.is_empty()).collect();
    if written.is_empty() {
        return head.gone.extend(holder(input, first));
    }
    head.edits.push((first.start..last.end, written.join(b",".as_slice())));
}

/// Writes a piece of the system prompt that is the text of a member: synthetic texts precede or replace it.
fn member(input: &Input<'_>, piece: &Piece, texts: &[&str], is_own: bool, head: &mut Head) {
    if !texts.is_empty() {
        let own = json::string_value(input.body.bytes(), piece.at.clone()).filter(|_| is_own);
        let all: Vec<&str> = texts.iter().copied().chain(own.as_deref()).collect();
        let text = serde_json::Value::from(all.join("\n\n")).to_string();
        return head.edits.push((piece.at.clone(), text.into_bytes()));
    }
    let members = &input.body.spans().members;
    head.gone.extend(members.iter().position(|member| member.value == piece.at));
}

fn tools<D: Dialect + ?Sized>(
    dialect: &D,
    input: &Input<'_>,
    view: &View<'_>,
    head: &mut Head,
    repairs: &mut Vec<Repair>,
) {
    let bytes = input.body.bytes();
    let all = input.envelope.tools.as_deref().unwrap_or_default();
    let mut parts = Vec::new();
    let mut sent: Vec<Option<Vec<u8>>> = Vec::new();
    let list = input.body.spans().member(bytes, "tools").map(|(list, _)| list);
    let is_inside = |at: &Span| list.as_ref().is_some_and(|list| list.start < at.start && at.end < list.end);
    for (at, tool) in all.iter().enumerate() {
        let mut fate = view.tools.get(at).cloned().unwrap_or_default();
        if !is_inside(&tool.at) && (fate.covered.is_some() || !fate.by.is_empty()) {
            repairs.push(Repair::new("R11", "a tool that an item of the history declares stays as it is"));
            fate = Around::default();
        }
        let mut here = Vec::new();
        for (from, content) in given(view, &fate) {
            match content {
                Content::Raw { wire, json, .. } if *wire == input.body.wire().id() => {
                    parts.push(head.add(from, json));
                    here.push(json.clone().into_bytes());
                }
                _ => repairs.push(Repair::new("X5", "a tool of ours is left out: it is not a definition of this wire")),
            }
        }
        if fate.covered.is_none() {
            parts.push(Part::Own(at));
            here.push(bytes.get(tool.at.clone()).unwrap_or_default().to_vec());
        }
        sent.push((!here.is_empty()).then(|| here.join(b",".as_slice())));
    }
    head.parts.tools = Some(parts);
    let inside: Vec<usize> = (0..all.len()).filter(|at| is_inside(&all[*at].at)).collect();
    if list.is_none() {
        return;
    }
    if inside.iter().all(|at| sent[*at].is_none()) {
        return without_tools(dialect, input, head);
    }
    let elements: Vec<Span> =
        list.into_iter().flat_map(|list| json::elements(bytes, list.start).into_iter().flatten().flatten()).collect();
    let pieces: Vec<(Span, Option<&[u8]>)> =
        inside.iter().map(|at| (all[*at].at.clone(), sent[*at].as_deref())).collect();
    let written: Vec<Vec<u8>> =
        elements.iter().filter_map(|element| element_of_tools(bytes, element, &pieces)).collect();
    if let (Some(first), Some(last)) = (elements.first(), elements.last()) {
        head.edits.push((first.start..last.end, written.join(b",".as_slice())));
    }
}

/// Writes an element of the list of tools: a definition, or an object with a list of them. `None` if nothing is left.
fn element_of_tools(bytes: &[u8], element: &Span, pieces: &[(Span, Option<&[u8]>)]) -> Option<Vec<u8>> {
    let held: Vec<_> = pieces.iter().filter(|(at, _)| element.start <= at.start && at.end <= element.end).collect();
    let (Some((first, _)), Some((last, _))) = (held.first(), held.last()) else {
        return Some(bytes[element.clone()].to_vec());
    };
    let sent: Vec<&[u8]> = held.iter().filter_map(|(_, sent)| *sent).collect();
    let written = [&bytes[element.start..first.start], &sent.join(b",".as_slice()), &bytes[last.end..element.end]];
    (!sent.is_empty()).then(|| written.concat())
}

/// Removes the list of tools and related members: an empty list is refused (C3).
fn without_tools<D: Dialect + ?Sized>(dialect: &D, input: &Input<'_>, head: &mut Head) {
    let (bytes, spans) = (input.body.bytes(), input.body.spans());
    let is_gone = |member: &json::Member| {
        let names = std::iter::once(&"tools").chain(dialect.with_tools());
        names.into_iter().any(|name| bytes.get(member.key.clone()).is_some_and(|key| json::key_is(key, name)))
    };
    head.gone.extend((0..spans.members.len()).filter(|at| is_gone(&spans.members[*at])));
}
