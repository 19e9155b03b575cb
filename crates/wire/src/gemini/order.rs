//! Restores the order of results: without ids, only the order links them to their calls (G13).

use super::dialect::{answers, calls};
use crate::compose::dialect::Plan;
use crate::compose::layout::pieces;
use crate::compose::{Out, Piece, Repair};
use ctx_core::message::Role;
use std::collections::HashMap;

/// Sorts the results of every step whose results are not in the order of its calls.
pub(super) fn restore(plan: &mut Plan<'_>) {
    let mut at = 0;
    while at < plan.outs.len() {
        let end = at + run(plan, at, Role::Assistant);
        let behind = end + run(plan, end, Role::User);
        let called: Vec<String> = plan.outs[at..end].iter().flat_map(|out| calls(plan, out)).collect();
        let place: HashMap<&str, usize> = called.iter().enumerate().map(|(at, id)| (id.as_str(), at)).collect();
        let results = plan.outs[end..behind].iter().flat_map(|out| pieces(plan.input, out));
        let order: Vec<usize> = results.filter_map(|piece| place.get(answers(plan, piece)?).copied()).collect();
        let sorted_end = if order.is_sorted() { behind } else { end + sort(plan, end..behind, &place) };
        at = sorted_end.max(at + 1);
    }
}

/// The length of the run of messages with a role from here on.
fn run(plan: &Plan<'_>, from: usize, role: Role) -> usize {
    plan.outs.get(from..).unwrap_or_default().iter().take_while(|out| out.role == role).count()
}

/// Puts each result of a turn into a message of its own, in order, before the rest. Returns the new number of messages.
fn sort(plan: &mut Plan<'_>, turn: std::ops::Range<usize>, place: &HashMap<&str, usize>) -> usize {
    let mut results: Vec<(usize, Out)> = Vec::new();
    let mut rest: Vec<Out> = Vec::new();
    for out in &plan.outs[turn.clone()] {
        let at = |piece: &Piece| answers(plan, *piece).and_then(|id| place.get(id)).copied();
        let (found, left): (Vec<Piece>, Vec<Piece>) = pieces(plan.input, out).partition(|piece| at(piece).is_some());
        let alone = |piece: Piece| (at(&piece).unwrap_or_default(), Out { pieces: Some(vec![piece]), ..out.clone() });
        results.extend(found.into_iter().map(alone));
        if !left.is_empty() {
            rest.push(Out { pieces: Some(left), ..out.clone() });
        }
    }
    results.sort_by_key(|(at, _)| *at);
    let outs: Vec<Out> = results.into_iter().map(|(_, out)| out).chain(rest).collect();
    let count = outs.len();
    plan.outs.splice(turn, outs);
    plan.repairs.push(Repair::new("G13", "results are brought into the order of their calls"));
    count
}
