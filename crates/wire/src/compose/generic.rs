//! Composes requests of wires without bound reasoning.
//!
//! The pipeline, top to bottom: lay the view out, pair calls and results, end the request with something that the model
//! can answer, apply the repairs of the [`Dialect`], write. Untouched elements leave as ranges of the client's bytes.
//! [`continued`] takes the same way with the newest messages only, if the previous request settled the others.

use super::dialect::{Dialect, MadeBlock, Plan};
use super::head::{self, Head};
use super::layout::{self, Grammar, Layout};
use super::write::{self, WrittenElements};
use super::{ComposedRequest, Input, MadeSources, Out, Placement, Repair, Segment, continued, pairs};
use ctx_core::content::Content;
use ctx_core::edit::effect::{NewMessage, NewMessageId, PENDING};
use ctx_core::edit::fold::View;
use ctx_core::links;
use ctx_core::message::Role;
use std::borrow::Cow;
use std::sync::Arc;

pub(super) struct Rules<'d, D: ?Sized> {
    pub dialect: &'d D,
    pub view: &'d View<'d>,
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
        let Some(id) = content.calls().filter(|id| links::is_derived(id)) else { return Cow::Borrowed(content) };
        let slot = self.view.status(from.effect).reply;
        let Some(moved) = slot.and_then(|slot| links::moved_id(id, PENDING, slot)) else {
            return Cow::Borrowed(content);
        };
        let mut content = content.clone();
        if let Content::Call { id, .. } | Content::Raw { calls: id, .. } = &mut content {
            *id = Some(moved);
        }
        Cow::Owned(content)
    }
}

/// Composes a request. Total: the provider accepts the result for any view, provided that it accepts the client's
/// request. The same input gives the same bytes.
///
/// Leaves the reusable part for the next request with the same [`Input::under`] in the memo.
pub fn compose<D: Dialect + ?Sized>(dialect: &D, input: &Input<'_>, view: &View<'_>) -> ComposedRequest {
    let Layout { outs, made, texts, repairs, .. } = layout::lay_out(input, view, &Rules { dialect, view });
    let mut plan = Plan { made, repairs, ..Plan::new(input, outs, texts) };
    repair(dialect, &mut plan, &|| view);
    let border = continued::border(dialect, &plan);
    let reported = plan.repairs.len();
    dialect.report(&mut plan);
    let head = head::arrange(dialect, input, view, &mut plan.repairs);
    let mut written = write::elements(dialect, &plan, head.digest);
    let elements = std::mem::take(&mut written.elements);
    let array = write::array(dialect, &plan, &head, elements, border.map(|border| border.message()));
    continued::settle(&plan, &head, border.zip(array.settled), (&written, reported));
    let made = plan.made.iter().map(|made| made.from).collect();
    let segments = write::body(input, &head, array.writer);
    finished(plan, head, written, segments, (Arc::default(), made))
}

/// Repairs everything that the provider would refuse.
pub(super) fn repair<'a, D: Dialect + ?Sized>(dialect: &D, plan: &mut Plan<'a>, view: &dyn Fn() -> &'a View<'a>) {
    for is_restored in [false, true] {
        pairs::close(plan);
        dialect.close(plan);
        plan.drop_empty();
        pairs::bring_together(plan, dialect.has_flat_steps());
        // A restored message may need its partner. Once: what is taken out again would be restored for ever.
        if is_restored || !plan.end_with_a_question(dialect, view) {
            break;
        }
    }
    plan.settle();
    dialect.repair(plan);
}

/// The result. `settled`: the messages before those of the plan, and the sources of all synthetic blocks.
pub(super) fn finished(
    plan: Plan<'_>,
    head: Head,
    written: WrittenElements,
    segments: Vec<Segment>,
    (settled, made): (Arc<Vec<Out>>, MadeSources),
) -> ComposedRequest {
    ComposedRequest {
        segments,
        repairs: plan.repairs,
        thinking_dropped: plan.reasoning_dropped,
        prefix: written.after.last().copied().unwrap_or(head.digest),
        marks: written.marks.into_iter().map(|(_, prefix)| prefix).collect(),
        around: head.digest,
        after: written.after,
        kept: Placement::new(settled, plan.outs, made, head.parts),
    }
}
