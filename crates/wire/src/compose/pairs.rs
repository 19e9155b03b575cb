//! Calls and results go together (X1).

use super::dialect::{Plan, Tag};
use super::layout::pieces;
use super::{Out, Piece, Repair};
use ctx_core::fast_map::{NameMap, NameSet};
use ctx_core::links::shown_id;
use ctx_core::message::{Kind, Role};

/// Removes calls without results and results without calls. A pair that the client itself sent incomplete stays.
pub(super) fn close(plan: &mut Plan<'_>) {
    once(plan);
    let torn = torn_by_the_client(plan);
    loop {
        let lone = lone(plan, &torn);
        if lone.is_empty() {
            return;
        }
        let is_lone = |plan: &Plan<'_>, piece: Piece| {
            named(plan, piece).is_some_and(|(is_call, id)| lone.contains(&(is_call, id.to_owned())))
        };
        for at in 0..plan.outs.len() {
            let gone: Vec<(bool, String)> = pieces(plan.input, &plan.outs[at])
                .filter(|piece| is_lone(plan, *piece))
                .filter_map(|piece| named(plan, piece).map(|(is_call, id)| (is_call, id.to_owned())))
                .collect();
            if gone.is_empty() {
                continue;
            }
            plan.retain(at, |plan, piece| !is_lone(plan, piece));
            let (calls, results): (Vec<_>, Vec<_>) = gone.into_iter().partition(|(is_call, _)| *is_call);
            for (_, id) in calls {
                plan.repairs.push(Repair::new("X1", format!("the call {} goes: its result is gone", shown_id(&id))));
            }
            for (_, id) in results {
                plan.repairs.push(Repair::new("X1", format!("the result of {} goes: its call is gone", shown_id(&id))));
            }
        }
        plan.drop_empty();
    }
}

/// The calls without a result and the results without a call, except those `torn` by the client.
fn lone(plan: &Plan<'_>, torn: &NameSet<String>) -> NameSet<(bool, String)> {
    let sent: NameSet<(bool, &str)> =
        plan.outs.iter().flat_map(|out| pieces(plan.input, out)).filter_map(|piece| named(plan, piece)).collect();
    let is_lone = |(is_call, id): &&(bool, &str)| !sent.contains(&(!is_call, id)) && !torn.contains(*id);
    sent.iter().filter(is_lone).map(|(is_call, id)| (*is_call, (*id).to_owned())).collect()
}

/// Makes ids unique among calls and among results. The client's block stays, else the first.
fn once(plan: &mut Plan<'_>) {
    let mut chosen: NameMap<(bool, &str), Piece> = NameMap::default();
    let mut is_twice = false;
    for piece in plan.outs.iter().flat_map(|out| pieces(plan.input, out)) {
        let Some(name) = named(plan, piece) else { continue };
        let known = chosen.entry(name).or_insert(piece);
        is_twice |= *known != piece;
        if matches!((*known, piece), (Piece::Made(_), Piece::Client { .. })) {
            *known = piece;
        }
    }
    if !is_twice {
        return;
    }
    let owned = |((is_call, id), piece): ((bool, &str), Piece)| ((is_call, id.to_owned()), piece);
    let chosen: NameMap<(bool, String), Piece> = chosen.into_iter().map(owned).collect();
    for at in 0..plan.outs.len() {
        let is_other = |plan: &Plan<'_>, piece: Piece| {
            let name = named(plan, piece).map(|(is_call, id)| (is_call, id.to_owned()));
            name.is_some_and(|name| chosen.get(&name).is_some_and(|chosen| *chosen != piece))
        };
        if pieces(plan.input, &plan.outs[at]).any(|piece| is_other(plan, piece)) {
            plan.retain(at, |plan, piece| !is_other(plan, piece));
            plan.repairs.push(Repair::new("X1", "a call or a result goes: another one has its id"));
        }
    }
    plan.drop_empty();
}

/// Whether a piece is a call, and its id.
fn named<'p>(plan: &'p Plan<'_>, piece: Piece) -> Option<(bool, &'p str)> {
    match plan.tag(piece) {
        Tag::Call(Some(id)) => Some((true, id)),
        Tag::Result(Some(id)) => Some((false, id)),
        _ => None,
    }
}

/// The ids of pairs that the client itself sent incomplete.
fn torn_by_the_client(plan: &Plan<'_>) -> NameSet<String> {
    let mut sides: NameMap<&str, (bool, bool)> = NameMap::default();
    for block in plan.messages().flat_map(|(_, message)| &message.blocks) {
        let Some(id) = block.tool_use_id.as_deref() else { continue };
        let sides = sides.entry(id).or_default();
        sides.0 |= block.kind == Kind::ToolUse;
        sides.1 |= block.kind == Kind::ToolResult;
    }
    sides.into_iter().filter(|(_, (call, result))| call != result).map(|(id, _)| id.to_owned()).collect()
}

/// Moves results directly behind the message with the calls (C1), or behind the run of messages if steps are flat
/// (R19). The client's own order stays where nothing between was touched.
pub(super) fn bring_together(plan: &mut Plan<'_>, is_flat: bool) {
    while let Some((next, calls)) = first_unanswered(plan, is_flat) {
        bring(plan, next, &calls);
    }
}

/// The calls of the first step whose results stand elsewhere, and the index behind it.
fn first_unanswered(plan: &Plan<'_>, is_flat: bool) -> Option<(usize, NameSet<String>)> {
    let mut places: NameMap<&str, (usize, usize)> = NameMap::default();
    for (at, out) in plan.outs.iter().enumerate() {
        for (_, id) in named_in(plan, out).filter(|(is_call, _)| !is_call) {
            places.entry(id).or_insert((at, at)).1 = at;
        }
    }
    let mut at = 0;
    while at < plan.outs.len() {
        let end = if is_flat { run_end(plan, at) } else { at + 1 };
        if plan.outs[at].role == Role::Assistant {
            let named = plan.outs[at..end].iter().flat_map(|out| named_in(plan, out));
            let calls: Vec<&str> = named.filter(|(is_call, _)| *is_call).map(|(_, id)| id).collect();
            if !is_answered(plan, end, &calls, &places) {
                return Some((end, calls.into_iter().map(str::to_owned).collect()));
            }
        }
        at = end;
    }
    None
}

fn named_in<'p>(plan: &'p Plan<'_>, out: &'p Out) -> impl Iterator<Item = (bool, &'p str)> {
    pieces(plan.input, out).filter_map(|piece| named(plan, piece))
}

/// The end of the run of assistant messages that begins here; for any other message, the next index.
fn run_end(plan: &Plan<'_>, at: usize) -> usize {
    if plan.outs[at].role != Role::Assistant {
        return at + 1;
    }
    plan.outs[at..].iter().position(|out| out.role != Role::Assistant).map_or(plan.outs.len(), |run| at + run)
}

fn answers(plan: &Plan<'_>, out: &Out, calls: &NameSet<String>) -> bool {
    pieces(plan.input, out).any(|piece| matches!(plan.tag(piece), Tag::Result(Some(id)) if calls.contains(id)))
}

/// Whether all results stand directly behind, or where the client put them. `places`: of the first and the last message
/// with a result.
fn is_answered(plan: &Plan<'_>, next: usize, calls: &[&str], places: &NameMap<&str, (usize, usize)>) -> bool {
    let found = || calls.iter().filter_map(|call| places.get(call));
    let Some(last) = found().map(|(_, last)| *last).max() else { return true };
    if found().any(|(first, _)| *first < next) {
        return false;
    }
    let answers = |plan, out| named_in(plan, out).any(|(is_call, id)| !is_call && calls.contains(&id));
    let behind = &plan.outs[next..=last];
    let is_pure = |out: &Out| pieces(plan.input, out).all(|piece| matches!(plan.tag(piece), Tag::Result(_)));
    let is_direct = behind.iter().all(|out| answers(plan, out))
        && behind.split_last().is_none_or(|(_, before)| before.iter().all(is_pure));
    let mut sources = plan.outs[next - 1..=last].iter().map(|out| out.source.filter(|_| out.is_whole()));
    let first = sources.next().flatten();
    let is_clients =
        first.is_some_and(|first| sources.zip(first + 1..).all(|(source, expected)| source == Some(expected)));
    is_direct || is_clients
}

fn bring(plan: &mut Plan<'_>, next: usize, calls: &NameSet<String>) {
    let mut brought = Vec::new();
    let mut rest = Vec::new();
    let mut place = 0;
    for (at, out) in std::mem::take(&mut plan.outs).into_iter().enumerate() {
        // Behind the calls, even if the content before them has moved.
        let is_before = at < next;
        if !answers(plan, &out, calls) {
            rest.push(out);
            place = if is_before { rest.len() } else { place };
            continue;
        }
        let is_brought = |piece: &Piece| matches!(plan.tag(*piece), Tag::Result(Some(id)) if calls.contains(id));
        let (found, left): (Vec<Piece>, Vec<Piece>) = pieces(plan.input, &out).partition(is_brought);
        if left.is_empty() {
            brought.push(out);
        } else {
            brought.push(Out { pieces: Some(found), ..out.clone() });
            rest.push(Out { pieces: Some(left), ..out });
            place = if is_before { rest.len() } else { place };
        }
    }
    rest.splice(place..place, brought);
    plan.outs = rest;
    plan.repairs.push(Repair::new("X1", "results are brought to the place directly behind their calls"));
}
