//! Composing from the previous request, on wires without bound reasoning.

use super::dialect::{Dialect, Plan, Tag};
use super::generic::{Rules, finished, repair};
use super::head::{self, Head, Lead};
use super::settled::{self, Border, Finished, replaced};
use super::write::{self, SettledArray, WrittenElements};
use super::{ComposedRequest, Input, MadeSources, Out, Piece};
use crate::json::Span;
use ctx_core::edit::fold::View;
use ctx_core::fast_map::NameSet;
use ctx_core::key::Key;
use ctx_core::message::Role;
use std::sync::Arc;

/// The part of a composed request that the next one repeats, beside its messages.
#[derive(Debug)]
struct OwnPart {
    model: Option<Box<str>>,
    /// The digest of system prompt and tools as they are sent, and whether operations change them.
    head: Key,
    is_head_edited: bool,
    /// The elements before the messages, in the client's request and as they are sent.
    lead: (Vec<Span>, Lead),
    /// The client's index of the last settled element.
    last: Option<usize>,
    marks: Vec<(usize, Key)>,
    made: MadeSources,
    reasoning_dropped: usize,
    loosened: usize,
    carried: bool,
    /// The ids of the settled messages and of synthetic blocks: the open ones must differ from them.
    ids: NameSet<Arc<str>>,
}

/// A border that rules do not reach across, and what the wire has to know behind it.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenBorder {
    border: Border,
    carried: bool,
}

impl OpenBorder {
    /// The first open message.
    pub fn message(&self) -> usize {
        self.border.message
    }
}

/// The latest border that no rule reaches across.
pub(super) fn border<D: Dialect + ?Sized>(dialect: &D, plan: &Plan<'_>) -> Option<OpenBorder> {
    let border = settled::border(plan.input, &plan.outs)?;
    let (settled, open) = plan.outs.split_at(border.out);
    let is_call = |at: u32| matches!(plan.tag(Piece::Made(at)), Tag::Call(_));
    let is_divided = settled.iter().all(|out| is_before(out, border.message as u32))
        && open.iter().all(|out| out.is_whole() || out.role == Role::User)
        && are_texts_in_order(plan, border.out)
        // The next request has another newest message.
        && !plan.repairs.iter().any(|repair| repair.rule == "X2")
        // How they are written depends on the client's calls.
        && !(0..plan.made.len() as u32).any(is_call);
    let carried = dialect.divide(plan, border.message).filter(|_| is_divided)?;
    Some(OpenBorder { border, carried })
}

/// Whether a message has nothing of the client's messages from this one on.
fn is_before(out: &Out, border: u32) -> bool {
    let is_before = |piece: &Piece| match piece {
        Piece::Client { message, .. } => *message < border,
        Piece::Made(_) => true,
    };
    out.source.is_none_or(|source| source < border) && out.pieces.iter().flatten().all(is_before)
}

/// Whether all replacement texts are sent, and those of the open messages are the last ones.
fn are_texts_in_order(plan: &Plan<'_>, border: usize) -> bool {
    let all: usize = plan.outs.iter().map(replaced).sum();
    let open: usize = plan.outs[border..].iter().map(replaced).sum();
    let texts =
        plan.outs[border..].iter().flat_map(|out| out.pieces.iter().flatten()).filter_map(|piece| match piece {
            Piece::Client { text, .. } => Some(*text as usize).filter(|text| *text > 0),
            Piece::Made(_) => None,
        });
    all == plan.texts.len() && texts.eq(all - open + 1..=all)
}

/// Stores the part before the border for the next request; without a border, forgets the one before.
pub(super) fn settle(
    plan: &Plan<'_>,
    head: &Head,
    divided: Option<(OpenBorder, SettledArray)>,
    (written, reported): (&WrittenElements, usize),
) {
    let input = plan.input;
    let Some((OpenBorder { border, carried }, SettledArray { segments, last })) = divided else {
        return settled::forget::<OwnPart>(input);
    };
    let ids = input.messages[..border.message].iter().flat_map(|message| &message.blocks);
    let made = (0..plan.made.len() as u32).filter_map(|at| match plan.tag(Piece::Made(at)) {
        Tag::Call(id) | Tag::Result(id) => id.map(Arc::from),
        _ => None,
    });
    let own = OwnPart {
        model: input.envelope.model.clone(),
        head: head.digest,
        is_head_edited: head.is_edited(),
        lead: (input.body.spans().lead.clone(), head.lead.clone()),
        last,
        marks: written.marks.iter().copied().filter(|(at, _)| *at < border.out).collect(),
        made: plan.made.iter().map(|made| made.from).collect(),
        reasoning_dropped: plan.reasoning_dropped,
        loosened: plan.restyled.iter().filter(|at| (**at as usize) < border.message).count(),
        carried,
        ids: ids.filter_map(|block| block.tool_use_id.clone()).chain(made).collect(),
    };
    let (outs, texts, after) = (&plan.outs, plan.texts.len(), &written.after);
    let repairs = &plan.repairs[..reported];
    settled::keep(input, border, Finished { outs, texts, after, segments, repairs }, own);
}

/// Composes a request from the settled part of an earlier one; `None` if the whole request must be composed. The result
/// equals that of composing the whole.
pub fn go_on<'v, D: Dialect + ?Sized>(
    dialect: &D,
    input: &'v Input<'v>,
    view: &dyn Fn() -> &'v View<'v>,
) -> Option<ComposedRequest> {
    let settled = settled::last::<OwnPart>(input)?;
    let own = &settled.own;
    if !own.fits(dialect, input, settled.messages) {
        return None;
    }
    let open = settled.open(input, view, |view| Rules { dialect, view })?;
    let (from, carried, loosened) = (settled.messages, own.carried, own.loosened);
    let mut plan = Plan { from, carried, loosened, ..Plan::new(input, open.outs, open.texts) };
    repair(dialect, &mut plan, view);
    if !is_plain(&plan) {
        return None;
    }
    plan.repairs.clone_from(&settled.repairs);
    plan.reasoning_dropped = own.reasoning_dropped;
    dialect.report(&mut plan);
    let head = match own.is_head_edited {
        true => head::arrange(dialect, input, view(), &mut plan.repairs),
        false => Head::untouched(input),
    };
    if head.digest != own.head || head.lead != own.lead.1 {
        return None;
    }
    let mut written = write::elements(dialect, &plan, settled.after.last().copied()?);
    let elements = std::mem::take(&mut written.elements);
    let array = write::array_behind(dialect, &plan, (&settled.segments, own.last), elements);
    let count = settled.outs.len();
    let marks = written.marks.into_iter().map(|(at, prefix)| (count + at, prefix));
    let written = WrittenElements {
        elements: Vec::new(),
        after: [settled.after.as_slice(), &written.after].concat(),
        marks: own.marks.iter().copied().chain(marks).collect(),
    };
    let segments = write::body(input, &head, array);
    Some(finished(plan, head, written, segments, (settled.outs.clone(), own.made.clone())))
}

/// Whether the open messages needed no repair.
fn is_plain(plan: &Plan<'_>) -> bool {
    plan.repairs.is_empty()
        && plan.reasoning_dropped == 0
        && !plan.reaches_back
        && settled::are_own(plan.input, &plan.outs, plan.from)
        && plan.outs.iter().all(|out| out.is_whole() || out.role == Role::User)
}

impl OwnPart {
    /// Whether a request with this many settled messages may continue.
    fn fits<D: Dialect + ?Sized>(&self, dialect: &D, input: &Input<'_>, messages: usize) -> bool {
        let open = input.messages.get(messages..).unwrap_or_default();
        let mut ids = open.iter().flat_map(|message| &message.blocks).filter_map(|block| block.tool_use_id.as_ref());
        self.model == input.envelope.model
            && self.lead.0 == input.body.spans().lead
            && (self.is_head_edited || self.head == input.around)
            && !ids.any(|id| self.ids.contains(id))
            && (dialect.no_system().is_none() || !open.iter().any(|message| message.role == Role::System))
    }
}
