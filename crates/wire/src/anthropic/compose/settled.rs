//! Composing from the previous request: the conditions of this wire, and what it settles beside the messages.

use super::around::Around;
use super::lay_out::Rules;
use super::made::MadeBlock;
use super::marks::{self, Marks, Spot};
use super::open_loop::is_manual;
use super::plan::{Out, Plan, Tag, id, pieces, tag};
use super::thinking::{report_dropped, sift};
use super::{ComposedRequest, Input, Repair, Segment, pairs, paused, splice, stays};
use crate::compose::settled::{self, Border, Finished, OpenMessages, Settled};
use ctx_core::edit::fold::View;
use ctx_core::fast_map::NameSet;
use ctx_core::key::Key;
use ctx_core::message::{Kind, Role};
use std::borrow::Cow;

/// The part of a composed request that the next one repeats, beside its messages.
#[derive(Debug)]
struct OwnPart {
    head: Head,
    made: Vec<MadeBlock<'static>>,
    /// The breakpoints set in the settled messages.
    marks: Vec<(Spot, Vec<u8>)>,
    dropped: usize,
    thoughts: usize,
    around: Around,
    /// The ids of calls and results, if some are synthetic: the open ones must differ from them.
    ids: Option<NameSet<String>>,
}

/// The head of the request, as far as composing depends on it.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    digest: Key,
    attributions: Vec<bool>,
    /// All tools, deferred ones too, and the one that the request demands.
    tools: Option<Key>,
    chosen: Option<Key>,
}

impl Head {
    fn of(input: &Input<'_>) -> Head {
        Head {
            digest: input.around,
            attributions: input.envelope.system.iter().map(|piece| piece.is_attribution).collect(),
            tools: input.envelope.tools.as_ref().map(|tools| Key::of(tools.iter().map(|tool| tool.key.0.as_slice()))),
            chosen: input.body.spans().member(input.body.bytes(), "tool_choice").map(|(_, value)| Key::of([value])),
        }
    }
}

/// The border of a request that rules do not reach across.
pub(super) fn border(plan: &Plan<'_>) -> Option<Border> {
    let input = plan.input;
    input.under?;
    let is_plain = plan.unfinished.is_empty()
        && plan.waiting.is_empty()
        && !plan.made.iter().any(|made| made.kind == "document")
        && can_go_on(input)
        && !stays::has_changes(input);
    settled::border(input, &plan.outs).filter(|_| is_plain)
}

/// Whether the request allows it: the rules for an open tool loop and a paused answer look far back.
fn can_go_on(input: &Input<'_>) -> bool {
    input.paused.is_none() && paused::message(input).is_none() && !is_manual(input.body)
}

/// A finished composition, for [`settle`].
pub(super) struct FinishedComposition<'f> {
    pub around: &'f Around,
    pub after: &'f [Key],
    pub marks: &'f Marks,
    /// The segments of the messages before the border.
    pub segments: Vec<Segment>,
    /// The repairs before the breakpoints were placed.
    pub repairs: &'f [Repair],
    pub dropped: usize,
}

/// Stores the part before the border for the next request.
pub(super) fn settle(plan: &Plan<'_>, border: Border, finished: FinishedComposition<'_>) {
    let input = plan.input;
    let FinishedComposition { around, after, marks, segments, repairs, dropped } = finished;
    if around.needs_messages {
        return forget(input);
    }
    let (settled, open) = plan.outs.split_at(border.out);
    let missing: usize = open.iter().map(|out| missing_thinking(input, out)).sum();
    let has_ids = plan.made.iter().any(|made| made.id.is_some());
    let own = OwnPart {
        head: Head::of(input),
        made: plan.made.iter().map(owned).collect(),
        marks: before(marks, border.out),
        dropped: dropped - missing,
        thoughts: plan.thoughts,
        around: around.clone(),
        ids: has_ids.then(|| settled.iter().flat_map(|out| ids(plan, out)).map(str::to_owned).collect()),
    };
    let finished = Finished { outs: &plan.outs, texts: plan.texts.len(), after, segments, repairs };
    settled::keep(input, border, finished, own);
}

/// Forgets the settled part: operations may have been added that it does not have.
pub(super) fn forget(input: &Input<'_>) {
    settled::forget::<OwnPart>(input);
}

/// The breakpoints set before the border.
fn before(marks: &Marks, border: usize) -> Vec<(Spot, Vec<u8>)> {
    let is_before = |spot: &Spot| matches!(spot, Spot::Block(out, _) if *out < border);
    marks.edits.iter().filter(|(spot, _)| is_before(spot)).cloned().collect()
}

fn missing_thinking(input: &Input<'_>, out: &Out) -> usize {
    let source = out.source.and_then(|source| input.messages.get(source as usize));
    let thinking = |kind: Kind| kind == Kind::Thinking;
    let all = source.map_or(0, |source| source.blocks.iter().filter(|block| thinking(block.kind)).count());
    let sent = pieces(input, out).filter(|piece| tag(input, &[], *piece) == Tag::Thinking).count();
    all - sent
}

fn ids<'p>(plan: &'p Plan<'_>, out: &'p Out) -> impl Iterator<Item = &'p str> {
    pieces(plan.input, out).filter_map(|piece| id(plan.input, &plan.made, piece))
}

fn owned(made: &MadeBlock<'_>) -> MadeBlock<'static> {
    let MadeBlock { json, tag, id, kind, references, from } = made;
    MadeBlock {
        json: Cow::Owned(json.as_ref().to_owned()),
        tag: *tag,
        id: id.clone(),
        kind: kind.clone(),
        references: references.clone(),
        from: *from,
    }
}

/// Composes a request from the settled part of an earlier one; `None` if the whole request must be composed. The result
/// equals that of composing the whole.
pub fn go_on<'v>(input: &'v Input<'v>, view: &dyn Fn() -> &'v View<'v>) -> Option<ComposedRequest> {
    let settled = settled::last::<OwnPart>(input)?;
    let own = &settled.own;
    if !own.fits(input, settled.messages) {
        return None;
    }
    let mut plan = plan(&settled, input, settled.open(input, view, |_| Rules(input))?);
    if !pairs::are_regular(&plan) || !own.has_other_ids(&plan) {
        return None;
    }
    let around = own.around.clone();
    let thought = sift(&mut plan, &around, &settled.after);
    if thought.emptied {
        return None;
    }
    let dropped = own.dropped + thought.dropped;
    report_dropped(&mut plan, dropped, &thought.loaded);
    let marks = marks::place(&mut plan, &around, &thought.after);
    if before(&marks, settled.outs.len()) != own.marks {
        return None;
    }
    let segments = splice::write(&plan, &around, &marks, Some(&settled.segments), None).segments;
    Some(ComposedRequest {
        segments,
        repairs: plan.repairs,
        thinking_dropped: dropped + own.thoughts,
        prefix: thought.after.last().copied().unwrap_or(around.digest),
        marks: marks.written,
        around: around.digest,
        after: thought.after,
        kept: around.placement(plan.settled, plan.outs, &plan.made),
    })
}

fn plan<'a>(settled: &'a Settled<OwnPart>, input: &'a Input<'a>, open: OpenMessages<'a>) -> Plan<'a> {
    Plan {
        input,
        settled: settled.outs.clone(),
        outs: open.outs,
        made: Cow::Borrowed(&settled.own.made),
        texts: open.texts,
        repairs: settled.repairs.clone(),
        unfinished: Vec::new(),
        waiting: Vec::new(),
        thoughts: 0,
        covered: Vec::new(),
    }
}

impl OwnPart {
    /// Whether a request with this many settled messages may continue.
    fn fits(&self, input: &Input<'_>, messages: usize) -> bool {
        let open = input.messages.get(messages..).unwrap_or_default();
        self.head == Head::of(input)
            && can_go_on(input)
            && open.iter().all(|message| matches!(message.role, Role::User | Role::Assistant))
            && !stays::have_changes(open)
    }

    /// Whether all open ids are unique and differ from the settled ones. Calls and results share theirs.
    fn has_other_ids(&self, plan: &Plan<'_>) -> bool {
        let Some(settled) = &self.ids else { return true };
        let mut known: NameSet<(&str, bool)> = NameSet::default();
        let open = plan.outs.iter().flat_map(|out| ids(plan, out).map(|id| (id, out.role == Role::Assistant)));
        open.into_iter().all(|(id, is_call)| !settled.contains(id) && known.insert((id, is_call)))
    }
}
