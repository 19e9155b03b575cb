//! Composing from the previous request.
//!
//! A conversation grows at its end. While operations only replace results of its newest tool calls, everything before
//! composes to the same bytes. A composition therefore leaves that part in the [`Memo`](crate::compose::Memo), and the
//! next one composes only the rest. Wherever a rule could reach from the new messages into the settled ones, nothing is
//! settled, and the request is composed as a whole.

use super::around::Around;
use super::lay_out::{OpenMessages, is_own, lay_out_from};
use super::made::MadeBlock;
use super::marks::{self, Marks, Spot};
use super::open_loop::is_manual;
use super::plan::{Out, Piece, Plan, Tag, id, pieces, tag};
use super::thinking::{report_dropped, sift};
use super::{ComposedRequest, Input, Repair, Segment, pairs, paused, splice, stays};
use crate::compose::Memory;
use ctx_core::edit::fold::View;
use ctx_core::fast_map::FastSet;
use ctx_core::key::Key;
use ctx_core::message::{Kind, Role};
use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

/// The minimum number of settled messages; fewer are not worth it.
const FEWEST: usize = if cfg!(debug_assertions) { 1 } else { 64 };
/// The number of newest messages that stay open: most breakpoints move among them. Small in debug builds, so that the
/// short conversations of tests continue too.
const OPEN: usize = if cfg!(debug_assertions) { 3 } else { 16 };
/// The maximum number of open messages; beyond it the whole request is composed, which settles them.
const MOST_OPEN: usize = if cfg!(debug_assertions) { 24 } else { 160 };

/// The part of a composed request that the next one repeats.
#[derive(Debug)]
struct SettledPart {
    /// Only requests with this number may continue from it.
    under: u64,
    head: Head,
    /// The start of the messages in the body, and the end of the last settled one.
    span: (usize, usize),
    /// The number of settled messages of the client.
    messages: usize,
    /// The number of replacement texts in them.
    texts: usize,
    /// Whether operations replaced tool results behind them.
    edited: bool,
    outs: Arc<Vec<Out>>,
    made: Vec<MadeBlock<'static>>,
    after: Vec<Key>,
    segments: Vec<Segment>,
    /// The breakpoints set in them.
    marks: Vec<(Spot, Vec<u8>)>,
    repairs: Vec<Repair>,
    dropped: usize,
    thoughts: usize,
    around: Around,
    /// The ids of calls and results, if some are synthetic: the open ones must differ from them.
    ids: Option<FastSet<String>>,
}

/// The composed beginning of the last request.
#[derive(Debug, Default)]
struct LastSettled(RefCell<Option<Arc<SettledPart>>>);

impl Memory for LastSettled {
    fn keep(&mut self, messages: usize) {
        self.0.get_mut().take_if(|settled| messages < settled.messages);
    }
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

/// The border between settled and open messages: the client's first open message, and its index among the sent ones.
#[derive(Debug, Clone, Copy)]
pub(super) struct Border {
    message: usize,
    pub out: usize,
}

/// The latest border behind which operations only replace tool results of the client's messages.
pub(super) fn border(plan: &Plan<'_>) -> Option<Border> {
    let input = plan.input;
    input.under?;
    let is_plain = plan.unfinished.is_empty()
        && plan.waiting.is_empty()
        && !plan.made.iter().any(|made| made.kind == "document")
        && can_go_on(input)
        && !stays::has_changes(input);
    if !is_plain {
        return None;
    }
    let (count, outs) = (input.messages.len(), plan.outs.len());
    let is_own = |back: &usize| plan.outs.get(outs - back).is_some_and(|out| is_own(input, out, count - back));
    let own = (1..=count.min(outs).min(MOST_OPEN)).take_while(is_own).count();
    let role = |at: usize| input.messages.get(at).map(|message| message.role);
    let is_border = |at: &usize| role(*at) == Some(Role::Assistant) && role(*at - 1) == Some(Role::User);
    let message = (count - own + 1..=count.checked_sub(OPEN)?).rev().find(is_border)?;
    (message >= FEWEST).then_some(Border { message, out: outs - (count - message) })
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
    let (input, request) = (plan.input, plan.input.body.spans());
    let FinishedComposition { around, after, marks, segments, repairs, dropped } = finished;
    let last = request.messages.get(border.message - 1);
    let parts = (input.under, last, plan.outs.get(..border.out), plan.outs.get(border.out..), after.get(..border.out));
    let (Some(under), Some(last), Some(outs), Some(open), Some(after)) = parts else { return };
    if around.needs_messages {
        return forget(input);
    }
    let replaced = open.iter().flat_map(|out| out.pieces.iter().flatten()).filter(is_replaced).count();
    let open: usize = open.iter().map(|out| missing_thinking(input, out)).sum();
    let has_ids = plan.made.iter().any(|made| made.id.is_some());
    *input.memo.get::<LastSettled>().0.borrow_mut() = Some(Arc::new(SettledPart {
        under: under.number,
        head: Head::of(input),
        span: (request.array.start, last.end),
        messages: border.message,
        texts: plan.texts.len() - replaced,
        edited: replaced > 0,
        outs: Arc::new(outs.to_vec()),
        made: plan.made.iter().map(owned).collect(),
        after: after.to_vec(),
        segments,
        marks: before(marks, border.out),
        repairs: repairs.to_vec(),
        dropped: dropped - open,
        thoughts: plan.thoughts,
        around: around.clone(),
        ids: has_ids.then(|| outs.iter().flat_map(|out| ids(plan, out)).map(str::to_owned).collect()),
    }));
}

/// Forgets the settled part: operations may have been added that it does not have.
pub(super) fn forget(input: &Input<'_>) {
    if input.under.is_some() {
        input.memo.get::<LastSettled>().0.borrow_mut().take();
    }
}

fn is_replaced(piece: &&Piece) -> bool {
    matches!(piece, Piece::Client { text: 1.., .. })
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
    let settled = input.memo.get::<LastSettled>().0.borrow().clone()?;
    if !settled.fits(input) {
        return None;
    }
    let mut plan = settled.plan(input, &|| view())?;
    if !pairs::are_regular(&plan) || !settled.has_other_ids(&plan) {
        return None;
    }
    let around = settled.around.clone();
    let thought = sift(&mut plan, &around, &settled.after);
    if thought.emptied {
        return None;
    }
    let dropped = settled.dropped + thought.dropped;
    report_dropped(&mut plan, dropped, &thought.loaded);
    let marks = marks::place(&mut plan, &around, &thought.after);
    if before(&marks, settled.outs.len()) != settled.marks {
        return None;
    }
    let segments = splice::write(&plan, &around, &marks, Some(&settled.segments), None).segments;
    Some(ComposedRequest {
        segments,
        repairs: plan.repairs,
        thinking_dropped: dropped + settled.thoughts,
        prefix: thought.after.last().copied().unwrap_or(around.digest),
        marks: marks.written,
        around: around.digest,
        after: thought.after,
        kept: around.placement(plan.settled, plan.outs, &plan.made),
    })
}

impl SettledPart {
    fn fits(&self, input: &Input<'_>) -> bool {
        let request = input.body.spans();
        let open = input.messages.get(self.messages..).unwrap_or_default();
        let end = self.messages.checked_sub(1).and_then(|last| request.messages.get(last)).map(|last| last.end);
        input.under.is_some_and(|under| under.number == self.under && under.edited_from >= self.messages)
            && (OPEN..=MOST_OPEN).contains(&open.len())
            && self.span.0 == request.array.start
            && Some(self.span.1) == end
            && self.head == Head::of(input)
            && can_go_on(input)
            && open.iter().all(|message| matches!(message.role, Role::User | Role::Assistant))
            && !stays::have_changes(open)
    }

    /// The open messages; `None` if operations do more to them than replace tool results.
    fn open<'a>(&self, input: &'a Input<'a>, view: &dyn Fn() -> &'a View<'a>) -> Option<OpenMessages<'a>> {
        // The settled texts are written already; only their number counts.
        let texts = vec![""; self.texts];
        if self.edited || input.under.is_some_and(|under| under.edited_from < input.messages.len()) {
            return lay_out_from(self.messages, texts, input, view());
        }
        let roles = input.messages.iter().map(|message| message.role).enumerate().skip(self.messages);
        let outs = roles.map(|(at, role)| Out::whole(at as u32, role)).collect();
        Some(OpenMessages { outs, texts })
    }

    fn plan<'a>(&'a self, input: &'a Input<'a>, view: &dyn Fn() -> &'a View<'a>) -> Option<Plan<'a>> {
        let OpenMessages { outs, texts } = self.open(input, view)?;
        Some(Plan {
            input,
            settled: self.outs.clone(),
            outs,
            made: Cow::Borrowed(&self.made),
            texts,
            repairs: self.repairs.clone(),
            unfinished: Vec::new(),
            waiting: Vec::new(),
            thoughts: 0,
            covered: Vec::new(),
        })
    }

    /// Whether all open ids are unique and differ from the settled ones. Calls and results share theirs.
    fn has_other_ids(&self, plan: &Plan<'_>) -> bool {
        let Some(settled) = &self.ids else { return true };
        let mut known: FastSet<(&str, bool)> = FastSet::default();
        let open = plan.outs.iter().flat_map(|out| ids(plan, out).map(|id| (id, out.role == Role::Assistant)));
        open.into_iter().all(|(id, is_call)| !settled.contains(id) && known.insert((id, is_call)))
    }
}
