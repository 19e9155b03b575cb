//! Cache breakpoints: keeps the client's, replaces one that lost its block, and adds a spare one where the cache is
//! warm.

use super::around::{Around, Part};
use super::memo::known;
use super::plan::{Out, Piece, Plan, Tag, pieces, tag};
use super::{Repair, roles, spell};
use crate::json::{self, Span};
use ctx_core::key::Key;
use ctx_core::message::{Kind, Role};

/// The provider accepts no more.
const MOST: usize = 4;
/// A breakpoint finds entries written at most this many blocks before it, itself included.
const REACH: usize = 20;

/// The position of a breakpoint in the sent request, in the provider's order: tools, system, messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Spot {
    Tool(usize),
    System(usize),
    /// Message and piece.
    Block(usize, usize),
}

/// The position of a breakpoint in the client's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Tool(usize),
    System(usize),
    Block(u32, u32),
}

struct ClientMark {
    origin: Origin,
    /// The value of `cache_control`.
    value: Span,
    /// It is inside a tool result.
    nested: bool,
}

struct PlacedMark {
    spot: Spot,
    value: Span,
    nested: bool,
}

#[derive(Default)]
pub(super) struct Marks {
    /// The breakpoints that are set, with their values.
    pub edits: Vec<(Spot, Vec<u8>)>,
    pub written: Vec<Key>,
}

pub(super) fn place(plan: &mut Plan<'_>, around: &Around, after: &[Key]) -> Marks {
    let found = find(plan);
    let body = plan.input.body;
    let automatic = body.spans().member(body.bytes(), "cache_control").is_some_and(|(_, value)| value != b"null");
    let mut marks = Marks::default();
    if found.is_empty() && !automatic {
        return marks;
    }
    let mut placed: Vec<PlacedMark> = Vec::new();
    let mut set: Vec<Spot> = Vec::new();
    for mark in &found {
        let spot = kept(plan, around, mark).or_else(|| {
            // Only behind the previous breakpoint, which covers earlier positions.
            let floor = placed.iter().map(|placed| placed.spot).max();
            let spot = instead(plan, around, mark).filter(|spot| floor.is_none_or(|floor| floor < *spot))?;
            set.push(spot);
            Some(spot)
        });
        let nested = mark.nested && !spot.is_some_and(|spot| set.contains(&spot));
        placed.extend(spot.map(|spot| PlacedMark { spot, value: mark.value.clone(), nested }));
    }
    placed.sort_by_key(|placed| placed.spot);
    if placed.len() + usize::from(automatic) < MOST
        && around.digest == plan.input.around
        && let Some(spot) = free(plan, &placed, after)
    {
        let at = placed.partition_point(|placed| placed.spot < spot);
        if let Some(value) = lifetime(plan, &placed, at) {
            placed.insert(at, PlacedMark { spot, value, nested: false });
            set.push(spot);
        }
    }
    if automatic {
        like_the_automatic(plan, &mut placed, &mut set);
    }
    in_order(plan, &mut placed, &mut set);
    for placed in &placed {
        if set.contains(&placed.spot) {
            marks.edits.push((placed.spot, body.bytes()[placed.value.clone()].to_vec()));
        }
        if let Spot::Block(out, piece) = placed.spot
            && plan.out(out).is_some_and(|out| pieces(plan.input, out).count() == piece + 1)
        {
            marks.written.extend(after.get(out));
        }
    }
    if automatic {
        marks.written.extend(after.last());
    }
    marks.written.dedup();
    marks
}

const NAME: &[u8] = b"\"cache_control\"";

fn mark_of(bytes: &[u8], object: &Span) -> Option<Span> {
    memchr::memmem::find(bytes.get(object.clone())?, NAME)?;
    let value = spell::member(bytes, object.start, "cache_control")?.value;
    (bytes.get(value.start) == Some(&b'{')).then_some(value)
}

/// All breakpoints of the client, in the provider's order.
fn find(plan: &Plan<'_>) -> Vec<ClientMark> {
    let (input, bytes) = (plan.input, plan.input.body.bytes());
    let mut found = Vec::new();
    let mut add = |origin, value, nested| found.push(ClientMark { origin, value, nested });
    for (at, tool) in input.envelope.tools.iter().flatten().enumerate() {
        mark_of(bytes, &tool.at).into_iter().for_each(|value| add(Origin::Tool(at), value, false));
    }
    for (at, block) in input.envelope.system.iter().enumerate() {
        mark_of(bytes, &block.at).into_iter().for_each(|value| add(Origin::System(at), value, false));
    }
    for (at, whole) in input.body.spans().messages.iter().enumerate() {
        let message = &bytes[whole.clone()];
        if !known(input).has_mark(at, || memchr::memmem::find(message, NAME).is_some()) {
            continue;
        }
        let content = known(input).content(at, message);
        let spell::Content::List(list) = &*content else { continue };
        for (block, span) in list.blocks.iter().enumerate() {
            let (origin, span) = (Origin::Block(at as u32, block as u32), spell::behind(whole.start, span));
            if let Some(value) = mark_of(bytes, &span) {
                add(origin, value, false);
            } else if memchr::memmem::find(&bytes[span.clone()], NAME).is_some() {
                let inner = spell::member(bytes, span.start, "content");
                let inner = inner.and_then(|inner| json::elements(bytes, inner.value.start));
                let values = inner.into_iter().flatten().flatten().filter_map(|span| mark_of(bytes, &span));
                values.for_each(|value| add(origin, value, true));
            }
        }
    }
    found
}

/// The position at which a breakpoint is sent, if its block is.
fn kept(plan: &Plan<'_>, around: &Around, mark: &ClientMark) -> Option<Spot> {
    let in_parts = |parts: &Option<Vec<Part>>, at: usize| match parts {
        Some(parts) => parts.iter().position(|part| *part == Part::Own(at)),
        None => Some(at),
    };
    match mark.origin {
        Origin::Tool(at) => in_parts(&around.tools, at).map(Spot::Tool),
        Origin::System(at) => in_parts(&around.system, at).map(Spot::System),
        Origin::Block(message, block) => {
            let here = |piece: &Piece| matches!(piece, Piece::Client { message: m, block: b, text } if (*m, *b) == (message, block) && (!mark.nested || *text == 0));
            plan.all().find_map(|(o, out)| match &out.pieces {
                None => (out.source == Some(message)).then_some(Spot::Block(o, block as usize)),
                Some(pieces) => pieces.iter().position(here).map(|p| Spot::Block(o, p)),
            })
        }
    }
}

/// The nearest earlier position for a breakpoint that lost its block.
fn instead(plan: &Plan<'_>, around: &Around, mark: &ClientMark) -> Option<Spot> {
    let before = |parts: &[Part], at: usize| {
        parts.iter().position(|part| matches!(part, Part::Own(own) if *own > at)).unwrap_or(parts.len())
    };
    match mark.origin {
        Origin::Tool(at) => {
            let parts = around.tools.as_deref()?;
            let loaded = |part: &Part| match part {
                Part::Own(own) => {
                    plan.input.envelope.tools.as_ref().and_then(|tools| tools.get(*own)).is_some_and(|t| !t.deferred)
                }
                Part::Made(_) => false,
            };
            parts[..before(parts, at)].iter().rposition(loaded).map(Spot::Tool)
        }
        Origin::System(at) => {
            let parts = around.system.as_deref()?;
            let system = &plan.input.envelope.system;
            // The provider recognises the client's attribution only if it is unchanged.
            let is_attribution =
                |part: &Part| matches!(part, Part::Own(own) if system.get(*own).is_some_and(|own| own.is_attribution));
            parts[..before(parts, at)].iter().rposition(|part| !is_attribution(part)).map(Spot::System)
        }
        Origin::Block(message, block) => {
            let earlier = |out: &Out| out.anchor.is_some_and(|anchor| anchor <= message);
            plan.all().rev().filter(|(_, out)| earlier(out)).find_map(|(o, out)| {
                let all = pieces(plan.input, out).enumerate();
                let behind = |piece: Piece| matches!(piece, Piece::Client { message: m, block: b, .. } if m == message && b > block);
                let fit = all.filter(|(_, piece)| !behind(*piece) && is_eligible(plan, out, *piece));
                fit.last().map(|(p, _)| Spot::Block(o, p))
            })
        }
    }
}

fn is_eligible(plan: &Plan<'_>, out: &Out, piece: Piece) -> bool {
    match tag(plan.input, &plan.made, piece) {
        Tag::Thinking => return false,
        Tag::Text if roles::is_blank(plan.input, piece) => return false,
        _ => {}
    }
    // A message for one turn only takes no breakpoint.
    let body = plan.input.body;
    let span = out.source.and_then(|source| body.spans().messages.get(source as usize));
    let scoped = |span: &Span| spell::member(body.bytes(), span.start, "clear_at").is_some();
    !(out.role == Role::System && span.is_some_and(scoped))
}

/// The position of the spare breakpoint: the deepest one that an earlier request wrote in its current form, if no other
/// breakpoint reaches it. Else before the content that will change next, or behind the last change, so that a later
/// change behind it finds an entry there.
fn free(plan: &Plan<'_>, placed: &[PlacedMark], after: &[Key]) -> Option<Spot> {
    let changed = last(plan, |out| !out.is_whole())?;
    let is_placed = |spot: &Spot| placed.iter().any(|placed| placed.spot == *spot);
    let end = |out: usize| {
        let sent = plan.out(out)?;
        let last = pieces(plan.input, sent).enumerate().last()?;
        is_eligible(plan, sent, last.1).then_some(Spot::Block(out, last.0))
    };
    let wrote = |out: &usize| after.get(*out).is_some_and(|prefix| (plan.input.written)(prefix));
    let written = (0..plan.count()).rev().filter(wrote).find_map(end);
    if let Some(spot) = written.filter(|spot| !is_reached(plan, placed, *spot)) {
        return Some(spot);
    }
    let before = |next: u32| plan.all().find(|(_, out)| out.source >= Some(next))?.0.checked_sub(1);
    if let Some(spot) = plan.input.next.and_then(before).and_then(end) {
        return Some(spot).filter(|spot| !is_placed(spot));
    }
    // Removed thinking also changed everything behind it.
    let edited = last(plan, |out| is_edited(plan, out)).unwrap_or(changed);
    let is_last = edited + 1 == plan.count();
    end(edited).filter(|spot| !is_last && !is_placed(spot))
}

/// Whether a message differs from the client's in more than its thinking.
fn is_edited(plan: &Plan<'_>, out: &Out) -> bool {
    let Some(list) = &out.pieces else { return false };
    let own = out.source.and_then(|source| plan.input.messages.get(source as usize));
    let thinks =
        |block: usize| own.and_then(|own| own.blocks.get(block)).is_some_and(|block| block.kind == Kind::Thinking);
    // A piece from elsewhere is not one of its blocks.
    let kept = |piece: &Piece| match piece {
        Piece::Client { message, block, text: 0 } if Some(*message) == out.source => *block as usize,
        _ => usize::MAX,
    };
    let rest = (0..own.map_or(0, |own| own.blocks.len())).filter(|block| !thinks(*block));
    !list.iter().map(kept).filter(|block| !thinks(*block)).eq(rest)
}

/// The last message for which this holds, or whose predecessor differs from the client's.
fn last(plan: &Plan<'_>, is_so: impl Fn(&Out) -> bool) -> Option<usize> {
    let follows = |at: usize, out: &Out| {
        let before = at.checked_sub(1).and_then(|before| plan.out(before)?.source);
        out.source == Some(before.map_or(0, |before| before + 1)) && (at == 0 || before.is_some())
    };
    plan.all().rev().find(|(at, out)| is_so(out) || !follows(*at, out)).map(|(at, _)| at)
}

/// Whether a breakpoint behind a position finds the entry written there.
fn is_reached(plan: &Plan<'_>, placed: &[PlacedMark], spot: Spot) -> bool {
    let Spot::Block(out, piece) = spot else { return true };
    match placed.iter().map(|placed| placed.spot).find(|other| *other >= spot) {
        Some(Spot::Block(other, at)) if other == out => at - piece < REACH,
        Some(Spot::Block(other, at)) => {
            let mut between = at + 1;
            for out in out + 1..other {
                between += plan.out(out).map_or(0, |out| pieces(plan.input, out).count());
                if between >= REACH {
                    break;
                }
            }
            between < REACH
        }
        _ => false,
    }
}

fn is_long(plan: &Plan<'_>, value: &Span) -> bool {
    spell::text(plan.input.body.bytes(), value.start, "ttl").is_some_and(|ttl| ttl == "1h")
}

/// The value of a further breakpoint before `placed[at]`: the lifetime of the client's message breakpoints, as far as
/// the order allows.
fn lifetime(plan: &Plan<'_>, placed: &[PlacedMark], at: usize) -> Option<Span> {
    let (before, behind) = placed.split_at(at.min(placed.len()));
    if let Some(short) = before.iter().find(|placed| !is_long(plan, &placed.value)) {
        return Some(short.value.clone());
    }
    if let Some(long) = behind.iter().find(|placed| is_long(plan, &placed.value)) {
        return Some(long.value.clone());
    }
    let in_messages = |placed: &&PlacedMark| matches!(placed.spot, Spot::Block(..));
    let like = behind.iter().find(in_messages).or(before.iter().rfind(in_messages)).or(placed.last())?;
    Some(like.value.clone())
}

/// Gives a breakpoint at the very end the lifetime of the one that the provider sets there.
fn like_the_automatic(plan: &mut Plan<'_>, placed: &mut [PlacedMark], set: &mut Vec<Spot>) {
    let body = plan.input.body;
    let end = plan.all().next_back().map(|(o, out)| Spot::Block(o, pieces(plan.input, out).count()));
    let Some((automatic, _)) = body.spans().member(body.bytes(), "cache_control") else { return };
    let Some(last) = placed.last_mut() else { return };
    let is_end =
        matches!((last.spot, end), (Spot::Block(o, p), Some(Spot::Block(out, count))) if o == out && p + 1 == count);
    if is_end && is_long(plan, &last.value) != is_long(plan, &automatic) {
        last.value = automatic;
        set.push(last.spot);
        plan.repairs.push(Repair::new("A79", "the last cache mark lives as long as the automatic one"));
    }
}

/// Ensures that no long-lived breakpoint follows a short-lived one.
fn in_order(plan: &mut Plan<'_>, placed: &mut [PlacedMark], set: &mut Vec<Spot>) {
    let Some(short) = placed.iter().position(|placed| !is_long(plan, &placed.value)) else { return };
    let value = placed[short].value.clone();
    for placed in placed.iter_mut().skip(short + 1) {
        if is_long(plan, &placed.value) && !placed.nested {
            placed.value = value.clone();
            set.push(placed.spot);
            let what = "a cache mark lives for five minutes only: one before it does";
            plan.repairs.push(Repair::new("A77", what));
        }
    }
}
