//! Pairs of blocks that are carried without being interpreted but share an id: calls of the provider's own tools with
//! their results, and items of unknown types. One half does not stay without the other.

use super::dialect::Plan;
use super::layout::{facts, pieces};
use super::{Piece, Repair};
use ctx_core::message::Kind;
use std::collections::HashMap;
use std::sync::Arc;

/// Removes the rest of a pair that an operation broke.
pub(crate) fn close(plan: &mut Plan<'_>, rule: &'static str, what: &str) {
    let mut sent: HashMap<Arc<str>, usize> = HashMap::new();
    let mut own: HashMap<Arc<str>, usize> = HashMap::new();
    for (at, message) in plan.messages() {
        for id in (0..message.blocks.len() as u32).filter_map(|block| pair(plan, at, block)) {
            *own.entry(id).or_default() += 1;
        }
    }
    if own.is_empty() {
        return;
    }
    for id in plan.outs.iter().flat_map(|out| pieces(plan.input, out)).filter_map(|piece| id_of(plan, piece)) {
        *sent.entry(id).or_default() += 1;
    }
    let is_torn = |id: &str| sent.get(id).is_some_and(|count| Some(count) != own.get(id));
    for at in 0..plan.outs.len() {
        let torn = |plan: &Plan<'_>, piece: Piece| id_of(plan, piece).is_some_and(|id| is_torn(&id));
        if pieces(plan.input, &plan.outs[at]).any(|piece| torn(plan, piece)) {
            plan.retain(at, |plan, piece| !torn(plan, piece));
            plan.repairs.push(Repair::new(rule, what));
        }
    }
}

fn id_of(plan: &Plan<'_>, piece: Piece) -> Option<Arc<str>> {
    match piece {
        Piece::Client { message, block, .. } => pair(plan, message, block),
        Piece::Made(_) => None,
    }
}

/// The id that a client's block shares with its other half.
fn pair(plan: &Plan<'_>, message: u32, block: u32) -> Option<Arc<str>> {
    facts(plan.input, message, block).filter(|block| block.kind == Kind::Other)?.tool_use_id.clone()
}
