//! Composes requests of wires without bound reasoning.
//!
//! The pipeline, top to bottom: lay the view out, pair calls and results, end the request with something that the model
//! can answer, apply the repairs of the [`Dialect`], write. Untouched elements leave as ranges of the client's bytes.

use super::dialect::{Dialect, Element, KeptBlock, MadeBlock, Plan};
use super::head::{self, Head};
use super::layout::{self, Grammar, Layout, pieces};
use super::writer::{Writer, array};
use super::{ComposedRequest, Input, Out, Piece, Placement, Repair, pairs};
use crate::json::Span;
use crate::marks::is_marked;
use ctx_core::content::Content;
use ctx_core::edit::effect::{NewMessage, NewMessageId, PENDING};
use ctx_core::edit::fold::View;
use ctx_core::key::Key;
use ctx_core::links;
use ctx_core::message::Role;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashSet;
use std::sync::Arc;

struct Rules<'d, D: ?Sized> {
    dialect: &'d D,
    view: &'d View<'d>,
}

impl<'a, D: Dialect + ?Sized> Grammar<'a> for Rules<'_, D> {
    type NewMessage = MadeBlock<'a>;

    fn made(
        &self,
        (id, made): (NewMessageId, &'a NewMessage),
        role: Role,
        repairs: &mut Vec<Repair>,
    ) -> Vec<MadeBlock<'a>> {
        let mut blocks = Vec::with_capacity(made.content.len());
        for (at, content) in (0..).zip(&made.content) {
            match self.dialect.check(content, role) {
                Ok(()) => blocks.push(MadeBlock { content: self.linked(id, content), from: Some((id, at)) }),
                Err(repair) => repairs.push(repair),
            }
        }
        blocks
    }

    fn may_stay(&self, _: u32, _: u32) -> bool {
        false
    }

    fn no_system(&self) -> Option<Repair> {
        self.dialect.no_system()
    }

    fn fixed_result(&self) -> Option<Repair> {
        None
    }
}

impl<D: ?Sized> Rules<'_, D> {
    /// Links a call of a reply that was pending when it was edited with its result, which has come since.
    fn linked<'a>(&self, from: NewMessageId, content: &'a Content) -> Cow<'a, Content> {
        let Content::Call { id: Some(id), name, input } = content else { return Cow::Borrowed(content) };
        let slot = self.view.status(from.effect).reply;
        match slot.and_then(|slot| links::moved_id(id, PENDING, slot)) {
            Some(id) => Cow::Owned(Content::Call { id: Some(id), name: name.clone(), input: input.clone() }),
            None => Cow::Borrowed(content),
        }
    }
}

/// Composes a request. Total: the provider accepts the result for any view, provided that it accepts the client's
/// request. The same input gives the same bytes.
pub(crate) fn compose<D: Dialect + ?Sized>(dialect: &D, input: &Input<'_>, view: &View<'_>) -> ComposedRequest {
    let Layout { outs, made, texts, repairs, .. } = layout::lay_out(input, view, &Rules { dialect, view });
    let (restyled, reasoning_dropped) = (HashSet::new(), 0);
    let calls = OnceCell::new();
    let mut plan = Plan { input, outs, made, texts, repairs, restyled, reasoning_dropped, calls };
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

fn write<D: Dialect + ?Sized>(dialect: &D, plan: Plan<'_>, head: Head) -> ComposedRequest {
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
    ComposedRequest {
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
