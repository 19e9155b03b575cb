//! Composes requests of wires without bound reasoning.
//!
//! The pipeline, top to bottom: lay the view out, pair calls and results, end the request with something that the model
//! can answer, apply the repairs of the [`Dialect`], write. Untouched elements leave as ranges of the client's bytes.

use super::head::{self, Head};
use super::layout::{self, Grammar, Layout, Out, Piece, pieces};
use super::writer::{Writer, array};
use super::{Composed, Input, Placement, Repair, pairs};
use crate::json::Span;
use crate::marks::is_marked;
use ctx_core::content::Content;
use ctx_core::edit::effect::{Made, MadeId};
use ctx_core::edit::fold::View;
use ctx_core::key::Key;
use ctx_core::message::{Block, Kind, Message, Role};
use std::collections::HashSet;
use std::sync::Arc;

/// A wire's part of composing: how it writes, and what its provider refuses.
pub(crate) trait Dialect: Sync {
    /// Whether synthetic content can be sent in this role.
    fn check(&self, content: &Content, role: Role) -> Result<(), Repair>;

    /// Whether one step of the model may be several elements in a row, with the results behind all of them.
    fn has_flat_steps(&self) -> bool;

    /// The rule by which a synthetic system message becomes a user message, if the history has none.
    fn no_system(&self) -> Option<Repair> {
        None
    }

    /// Takes out calls and results that only this wire refuses.
    fn close(&self, _: &mut Plan<'_>) {}

    /// Makes the repairs that only this wire needs, once it is settled which calls are sent.
    fn repair(&self, plan: &mut Plan<'_>);

    /// Writes the rest of a client's element, as none, one or several.
    fn rewrite(&self, element: &[u8], message: &Message, kept: &[Kept<'_>], plan: &Plan<'_>) -> Vec<Vec<u8>>;

    /// Writes a synthetic message.
    fn elements(&self, role: Role, content: &[&Content], plan: &Plan<'_>) -> Vec<Vec<u8>>;

    /// Applies changes that depend on neighbouring elements, once all are written.
    fn polish(&self, elements: Vec<Element>, _: &Input<'_>) -> Vec<Element> {
        elements
    }

    /// Writes a text of the system prompt in place of a client's piece, whose bytes are `like`.
    fn system(&self, text: &str, like: &[u8]) -> Vec<u8>;

    /// The name of a cache breakpoint in quotes, on wires whose clients set them in messages.
    fn breakpoint(&self) -> Option<&'static [u8]> {
        None
    }

    /// Members that are meaningless without tools.
    fn with_tools(&self) -> &'static [&'static str];
}

/// A block of a rewritten element.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kept<'a> {
    /// A block of the client.
    Own(usize),
    /// A client's tool result with another text.
    Text(usize, &'a str),
    Made(&'a Content),
}

/// A synthetic block.
#[derive(Debug, Clone)]
pub(crate) struct MadeBlock<'a> {
    pub content: &'a Content,
    /// The message of the view and the block's index there; none if a rule required it.
    pub from: Option<(MadeId, u32)>,
}

pub(crate) struct Plan<'a> {
    pub input: &'a Input<'a>,
    pub outs: Vec<Out>,
    pub made: Vec<MadeBlock<'a>>,
    pub texts: Vec<&'a str>,
    pub repairs: Vec<Repair>,
    /// Elements to rewrite although all their blocks are sent, by index.
    pub restyled: HashSet<u32>,
    pub reasoning_dropped: usize,
}

/// The kind of a piece, for rules shared by all wires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tag<'p> {
    Call(Option<&'p str>),
    Result(Option<&'p str>),
    Reasoning,
    Other,
}

impl<'a> Plan<'a> {
    pub fn tag(&self, piece: Piece) -> Tag<'_> {
        match piece {
            Piece::Made(at) => match self.made.get(at as usize).map(|made| made.content) {
                Some(Content::Call { id, .. }) => Tag::Call(id.as_deref()),
                Some(Content::Result { id, .. }) => Tag::Result(id.as_deref()),
                Some(Content::Raw { calls: Some(id), .. }) => Tag::Call(Some(id)),
                Some(Content::Raw { answers: Some(id), .. }) => Tag::Result(Some(id)),
                _ => Tag::Other,
            },
            Piece::Client { message, block, .. } => match layout::facts(self.input, message, block) {
                Some(block) if block.kind == Kind::ToolUse => Tag::Call(block.tool_use_id.as_deref()),
                Some(block) if block.kind == Kind::ToolResult => Tag::Result(block.tool_use_id.as_deref()),
                Some(block) if block.kind == Kind::Thinking => Tag::Reasoning,
                _ => Tag::Other,
            },
        }
    }

    /// Adds a piece that a rule requires.
    pub fn add(&mut self, content: &'a Content) -> Piece {
        self.made.push(MadeBlock { content, from: None });
        Piece::Made(self.made.len() as u32 - 1)
    }

    /// Removes pieces from a message.
    pub fn retain(&mut self, out: usize, mut stays: impl FnMut(&Plan<'a>, Piece) -> bool) {
        let mut held = std::mem::replace(&mut self.outs[out], Out::ours(Role::Other, Vec::new(), None));
        let list = layout::opened(self.input, &mut held);
        let left: Vec<Piece> = list.iter().copied().filter(|piece| stays(self, *piece)).collect();
        *list = left;
        self.outs[out] = held;
    }

    /// Removes messages that are empty, or hold only reasoning (X3).
    pub fn drop_empty(&mut self) {
        let outs = std::mem::take(&mut self.outs);
        for out in outs {
            let is_gone = match &out.pieces {
                None => false,
                Some(list) => list.iter().all(|piece| self.tag(*piece) == Tag::Reasoning),
            };
            if is_gone {
                self.reasoning_dropped += out.pieces.as_ref().map_or(0, Vec::len);
            } else {
                self.outs.push(out);
            }
        }
    }

    /// Shortens each message: one with all its blocks is whole again. Of several with the same source, the first that
    /// has blocks of it keeps its object.
    pub fn settle(&mut self) {
        let has_own = |out: &Out| {
            let list = out.pieces.as_deref();
            list.is_none_or(|list| list.iter().any(|piece| matches!(piece, Piece::Client { .. })))
        };
        let with_own: HashSet<u32> = self.outs.iter().filter(|out| has_own(out)).filter_map(|out| out.source).collect();
        let mut seen = HashSet::new();
        for out in &mut self.outs {
            let Some(source) = out.source else { continue };
            out.first = (has_own(out) || !with_own.contains(&source)) && seen.insert(source);
            let Some(list) = &out.pieces else { continue };
            let count = layout::block_count(self.input, source);
            let own = (0..count).map(|block| Piece::Client { message: source, block, text: 0 });
            if count > 0 && list.iter().copied().eq(own) {
                out.pieces = None;
            }
        }
    }

    /// Ensures that the request ends with words of the user, or results, because the model answers the last message
    /// (X2). Returns whether something was restored for that.
    fn end_with_a_question(&mut self) -> bool {
        let is_said = |role: Role| !matches!(role, Role::System | Role::Other);
        let asks = |role: Option<Role>| role == Some(Role::User);
        let own = self.input.messages.iter().map(|message| message.role).rev().find(|role| is_said(*role));
        let sent = self.outs.iter().map(|out| out.role).rev().find(|role| is_said(*role));
        if asks(sent) || !asks(own) {
            return false;
        }
        let Some(last) = self.input.messages.iter().rposition(|message| message.role == Role::User) else {
            return false;
        };
        let newest = self.step_of(last)..=last as u32;
        self.outs.retain(|out| !out.source.is_some_and(|source| newest.contains(&source)));
        let roles = newest.map(|at| (at, self.input.messages[at as usize].role));
        self.outs.extend(roles.map(|(at, role)| Out::whole(at, role)));
        self.repairs.push(Repair::new("X2", "the newest message stays: the model answers it"));
        true
    }

    /// The first message of the step that a message belongs to: the one whose calls it and its predecessors answer.
    fn step_of(&self, last: usize) -> u32 {
        let messages = self.input.messages;
        let mut first = last;
        let mut at = last;
        loop {
            let ids = messages[at].blocks.iter().filter(|block| block.kind == Kind::ToolResult);
            for id in ids.filter_map(|block| block.tool_use_id.as_deref()) {
                let is_call = |block: &Block| block.kind == Kind::ToolUse && block.tool_use_id.as_deref() == Some(id);
                let call = messages[..at].iter().rposition(|message| message.blocks.iter().any(is_call));
                first = first.min(call.unwrap_or(first));
            }
            if at == first {
                return first as u32;
            }
            at -= 1;
        }
    }
}

struct Rules<'d, D: ?Sized>(&'d D);

impl<'a, D: Dialect + ?Sized> Grammar<'a> for Rules<'_, D> {
    type Made = MadeBlock<'a>;

    fn made(&self, (id, made): (MadeId, &'a Made), role: Role, repairs: &mut Vec<Repair>) -> Vec<MadeBlock<'a>> {
        let mut blocks = Vec::with_capacity(made.content.len());
        for (at, content) in (0..).zip(&made.content) {
            match self.0.check(content, role) {
                Ok(()) => blocks.push(MadeBlock { content, from: Some((id, at)) }),
                Err(repair) => repairs.push(repair),
            }
        }
        blocks
    }

    fn may_stay(&self, _: u32, _: u32) -> bool {
        false
    }

    fn no_system(&self) -> Option<Repair> {
        self.0.no_system()
    }

    fn fixed_result(&self) -> Option<Repair> {
        None
    }
}

/// Composes a request. Total: the provider accepts the result for any view, provided that it accepts the client's
/// request. The same input gives the same bytes.
pub(crate) fn compose<D: Dialect + ?Sized>(dialect: &D, input: &Input<'_>, view: &View<'_>) -> Composed {
    let Layout { outs, made, texts, repairs, .. } = layout::lay_out(input, view, &Rules(dialect));
    let (restyled, reasoning_dropped) = (HashSet::new(), 0);
    let mut plan = Plan { input, outs, made, texts, repairs, restyled, reasoning_dropped };
    loop {
        pairs::close(&mut plan);
        dialect.close(&mut plan);
        plan.drop_empty();
        pairs::bring_together(&mut plan, dialect.has_flat_steps());
        // A restored message may need its partner.
        if !plan.end_with_a_question() {
            break;
        }
    }
    plan.settle();
    dialect.repair(&mut plan);
    let head = head::arrange(dialect, input, view, &mut plan.repairs);
    write(dialect, plan, head)
}

/// One element of the array that is sent.
pub(crate) enum Element {
    /// An element of the client, by its index in the array.
    Source(usize),
    Made(Vec<u8>),
}

impl Element {
    pub fn bytes<'e>(&'e self, input: &'e Input<'_>) -> &'e [u8] {
        let spans = input.body.spans();
        match self {
            Element::Source(at) => {
                let span = spans.lead.iter().chain(&spans.messages).nth(*at);
                span.and_then(|span| input.body.bytes().get(span.clone())).unwrap_or_default()
            }
            Element::Made(bytes) => bytes,
        }
    }
}

fn write<D: Dialect + ?Sized>(dialect: &D, plan: Plan<'_>, head: Head) -> Composed {
    let input = plan.input;
    let (bytes, spans) = (input.body.bytes(), input.body.spans());
    let lead = spans.lead.len();
    let mut elements = head.lead.elements(lead);
    let mut prefix = head.digest;
    let mut after = Vec::with_capacity(plan.outs.len());
    let breakpoint = dialect.breakpoint().filter(|name| memchr::memmem::find(bytes, name).is_some());
    let mut marks = Vec::new();
    for out in &plan.outs {
        let written = written(dialect, &plan, out);
        let is_marked = breakpoint.is_some_and(|name| match (&written, out.source) {
            (None, Some(source)) => is_marked(input.body.message(source as usize), name),
            (written, _) => written.iter().flatten().any(|element| is_marked(element, name)),
        });
        let digest = match (&written, out.source) {
            (None, Some(source)) => {
                input.digests.get(source as usize).copied().unwrap_or_else(|| Key::of([[].as_slice()]))
            }
            (written, _) => Key::of(written.iter().flatten().map(Vec::as_slice)),
        };
        match (written, out.source) {
            (None, Some(source)) => elements.push(Element::Source(lead + source as usize)),
            (written, _) => elements.extend(written.into_iter().flatten().map(Element::Made)),
        }
        prefix = prefix.then(digest);
        after.push(prefix);
        marks.extend(is_marked.then_some(prefix));
    }
    let elements = dialect.polish(elements, input);
    let all: Vec<&Span> = spans.lead.iter().chain(&spans.messages).collect();
    let mut edits = head.edits;
    edits.push((spans.array.clone(), None));
    edits.sort_by_key(|(span, _)| span.start);
    let mut writer = Writer::default();
    let mut at = 0;
    for (span, by) in edits {
        writer.source(at..span.start);
        match by {
            Some(by) => writer.made(&by),
            None => array(&mut writer, &span, &all, &elements),
        }
        at = span.end;
    }
    writer.source(at..bytes.len());
    Composed {
        segments: writer.0,
        repairs: plan.repairs,
        thinking_dropped: plan.reasoning_dropped,
        prefix,
        marks,
        around: head.digest,
        after,
        kept: Placement::new(Arc::default(), plan.outs, plan.made.iter().map(|made| made.from).collect(), head.parts),
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
    let kept: Vec<Kept<'_>> = pieces(input, out)
        .filter_map(|piece| match piece {
            Piece::Client { message, block, text } if Some(message as usize) == own => {
                let text = text.checked_sub(1).and_then(|text| plan.texts.get(text as usize));
                Some(text.map_or(Kept::Own(block as usize), |text| Kept::Text(block as usize, text)))
            }
            piece => made(plan, piece).map(Kept::Made),
        })
        .collect();
    Some(dialect.rewrite(input.body.message(own.unwrap_or_default()), facts, &kept, plan))
}

fn made<'p>(plan: &'p Plan<'_>, piece: Piece) -> Option<&'p Content> {
    match piece {
        Piece::Made(at) => plan.made.get(at as usize).map(|made| made.content),
        Piece::Client { .. } => None,
    }
}

impl head::Lead {
    fn elements(self, count: usize) -> Vec<Element> {
        match self.0 {
            None => (0..count).map(Element::Source).collect(),
            Some(parts) => parts
                .into_iter()
                .map(|part| match part {
                    head::LeadPart::Own(at) => Element::Source(at),
                    head::LeadPart::Made(bytes) => Element::Made(bytes),
                })
                .collect(),
        }
    }
}
