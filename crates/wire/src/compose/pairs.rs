//! Calls and results go together (X1).

use super::dialect::{Plan, Tag};
use super::layout::pieces;
use super::{Out, Piece, Repair};
use ctx_core::message::{Kind, Role};
use std::collections::{HashMap, HashSet};

/// Removes calls without results and results without calls. A pair that the client itself sent incomplete stays.
pub(super) fn close(plan: &mut Plan<'_>) {
    once(plan);
    let torn = torn_by_the_client(plan);
    loop {
        let (mut calls, mut results) = (HashSet::new(), HashSet::new());
        for piece in plan.outs.iter().flat_map(|out| pieces(plan.input, out)) {
            match plan.tag(piece) {
                Tag::Call(Some(id)) => drop(calls.insert(id.to_owned())),
                Tag::Result(Some(id)) => drop(results.insert(id.to_owned())),
                _ => {}
            }
        }
        let lone = |tag: Tag<'_>| match tag {
            Tag::Call(Some(id)) => !results.contains(id) && !torn.contains(id),
            Tag::Result(Some(id)) => !calls.contains(id) && !torn.contains(id),
            Tag::Call(None) | Tag::Result(None) | Tag::Reasoning | Tag::Other => false,
        };
        let touched: Vec<usize> = (0..plan.outs.len())
            .filter(|at| pieces(plan.input, &plan.outs[*at]).any(|piece| lone(plan.tag(piece))))
            .collect();
        if touched.is_empty() {
            return;
        }
        for at in touched {
            let (mut lone_calls, mut lone_results) = (Vec::new(), Vec::new());
            plan.retain(at, |plan, piece| {
                let tag = plan.tag(piece);
                match tag {
                    Tag::Call(Some(id)) if lone(tag) => lone_calls.push(id.to_owned()),
                    Tag::Result(Some(id)) if lone(tag) => lone_results.push(id.to_owned()),
                    _ => {}
                }
                !lone(tag)
            });
            for id in lone_calls {
                plan.repairs.push(Repair::new("X1", format!("the call {id} goes: its result is gone")));
            }
            for id in lone_results {
                plan.repairs.push(Repair::new("X1", format!("the result of {id} goes: its call is gone")));
            }
        }
        plan.drop_empty();
    }
}

/// Makes ids unique among calls and among results. The client's block stays, else the first.
fn once(plan: &mut Plan<'_>) {
    let mut chosen: HashMap<(bool, String), Piece> = HashMap::new();
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
    for at in 0..plan.outs.len() {
        let is_other = |plan: &Plan<'_>, piece: Piece| {
            named(plan, piece).is_some_and(|name| chosen.get(&name).is_some_and(|chosen| *chosen != piece))
        };
        if pieces(plan.input, &plan.outs[at]).any(|piece| is_other(plan, piece)) {
            plan.retain(at, |plan, piece| !is_other(plan, piece));
            plan.repairs.push(Repair::new("X1", "a call or a result goes: another one has its id"));
        }
    }
    plan.drop_empty();
}

/// Whether a piece is a call, and its id.
fn named(plan: &Plan<'_>, piece: Piece) -> Option<(bool, String)> {
    match plan.tag(piece) {
        Tag::Call(Some(id)) => Some((true, id.to_owned())),
        Tag::Result(Some(id)) => Some((false, id.to_owned())),
        _ => None,
    }
}

/// The ids of pairs that the client itself sent incomplete.
fn torn_by_the_client(plan: &Plan<'_>) -> HashSet<String> {
    let mut sides: HashMap<&str, (bool, bool)> = HashMap::new();
    for block in plan.input.messages.iter().flat_map(|message| &message.blocks) {
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
    let mut at = 0;
    while at < plan.outs.len() {
        let end = if is_flat { run_end(plan, at) } else { at + 1 };
        if plan.outs[at].role == Role::Assistant {
            let calls: HashSet<String> = plan.outs[at..end]
                .iter()
                .flat_map(|out| pieces(plan.input, out))
                .filter_map(|piece| match plan.tag(piece) {
                    Tag::Call(Some(id)) => Some(id.to_owned()),
                    _ => None,
                })
                .collect();
            if !calls.is_empty() && !is_answered(plan, end, &calls) {
                bring(plan, end, &calls);
                // All other positions have changed.
                at = 0;
                continue;
            }
        }
        at = end;
    }
}

/// The end of the run of assistant messages that begins here; for any other message, the next index.
fn run_end(plan: &Plan<'_>, at: usize) -> usize {
    if plan.outs[at].role != Role::Assistant {
        return at + 1;
    }
    plan.outs[at..].iter().position(|out| out.role != Role::Assistant).map_or(plan.outs.len(), |run| at + run)
}

fn answers(plan: &Plan<'_>, out: &Out, calls: &HashSet<String>) -> bool {
    pieces(plan.input, out).any(|piece| matches!(plan.tag(piece), Tag::Result(Some(id)) if calls.contains(id)))
}

/// Whether all results stand directly behind, or where the client put them.
fn is_answered(plan: &Plan<'_>, next: usize, calls: &HashSet<String>) -> bool {
    let Some(last) = plan.outs.iter().rposition(|out| answers(plan, out, calls)) else { return true };
    if plan.outs[..next].iter().any(|out| answers(plan, out, calls)) {
        return false;
    }
    let behind = &plan.outs[next..=last];
    let is_pure = |out: &Out| pieces(plan.input, out).all(|piece| matches!(plan.tag(piece), Tag::Result(_)));
    let is_direct = behind.iter().all(|out| answers(plan, out, calls))
        && behind.split_last().is_none_or(|(_, before)| before.iter().all(is_pure));
    let mut sources = plan.outs[next - 1..=last].iter().map(|out| out.source.filter(|_| out.is_whole()));
    let first = sources.next().flatten();
    let is_clients =
        first.is_some_and(|first| sources.zip(first + 1..).all(|(source, expected)| source == Some(expected)));
    is_direct || is_clients
}

fn bring(plan: &mut Plan<'_>, next: usize, calls: &HashSet<String>) {
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
