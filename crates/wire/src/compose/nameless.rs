//! Calls without ids: only the order and the tool's name link results to them.

use super::dialect::{Plan, Tag};
use super::layout::{facts, pieces};
use super::{Out, Piece, Repair};
use ctx_core::Key;
use ctx_core::content::Content;
use ctx_core::edit::effect::NewMessage;
use ctx_core::message::{Kind, Role};
use std::collections::HashMap;
use std::sync::Arc;

/// Links the calls and results of a draft without ids by order. `json`: the draft, which makes the ids unique.
pub fn link_draft(mut made: Vec<NewMessage>, json: &str) -> Vec<NewMessage> {
    let salt = Key::of([json.as_bytes()]).to_string();
    let salt = salt.get(..8).unwrap_or(&salt);
    let (mut called, mut answered) = (0, 0);
    for content in made.iter_mut().flat_map(|made| &mut made.content) {
        let (id, count) = match content {
            Content::Call { id, .. } => (id, &mut called),
            Content::Result { id, .. } => (id, &mut answered),
            _ => continue,
        };
        if id.is_none() {
            *id = Some(format!("{salt}-{count}"));
            *count += 1;
        }
    }
    made
}

/// The tools of the calls that are sent, by id.
pub fn tools(plan: &Plan<'_>) -> HashMap<Arc<str>, Arc<str>> {
    let sent = plan.outs.iter().flat_map(|out| pieces(plan.input, out));
    let call = |piece: Piece| match piece {
        Piece::Client { message, block, .. } => {
            let block = facts(plan.input, message, block).filter(|block| block.kind == Kind::ToolUse)?;
            Some((block.tool_use_id.clone()?, block.tool.clone()?))
        }
        Piece::Made(at) => match &*plan.made.get(at as usize)?.content {
            Content::Call { id: Some(id), name, .. } => Some((id.as_str().into(), name.as_str().into())),
            _ => None,
        },
    };
    sent.filter_map(call).collect()
}

/// Marks results whose call is sent with another name: the wire rewrites them.
pub fn rename_results(plan: &mut Plan<'_>) {
    let tools = tools(plan);
    let is_other = |piece: Piece| match piece {
        Piece::Client { message, block, .. } => {
            let block = facts(plan.input, message, block).filter(|block| block.kind == Kind::ToolResult)?;
            let tool = tools.get(block.tool_use_id.as_deref()?)?;
            (block.tool.as_deref() != Some(tool)).then_some(message)
        }
        Piece::Made(_) => None,
    };
    let restyled: Vec<u32> = plan.outs.iter().flat_map(|out| pieces(plan.input, out)).filter_map(is_other).collect();
    plan.restyled.extend(restyled);
}

/// Sorts the results of every step whose results are not in the order of its calls; `rule` requires the order.
pub fn restore_order(plan: &mut Plan<'_>, rule: &'static str) {
    let mut at = 0;
    while at < plan.outs.len() {
        let end = at + run(plan, at, Role::Assistant);
        let behind = end + run(plan, end, Role::User);
        let called: Vec<String> = plan.outs[at..end].iter().flat_map(|out| calls(plan, out)).collect();
        let place: HashMap<&str, usize> = called.iter().enumerate().map(|(at, id)| (id.as_str(), at)).collect();
        let results = plan.outs[end..behind].iter().flat_map(|out| pieces(plan.input, out));
        let order: Vec<usize> = results.filter_map(|piece| place.get(answers(plan, piece)?).copied()).collect();
        let sorted_end = if order.is_sorted() { behind } else { end + sort(plan, end..behind, &place, rule) };
        at = sorted_end.max(at + 1);
    }
}

/// The id of the call that a piece answers.
fn answers<'p>(plan: &'p Plan<'_>, piece: Piece) -> Option<&'p str> {
    match plan.tag(piece) {
        Tag::Result(id) => id,
        _ => None,
    }
}

/// The ids of the calls that a message makes, in order.
fn calls(plan: &Plan<'_>, out: &Out) -> Vec<String> {
    let ids = pieces(plan.input, out).filter_map(|piece| match plan.tag(piece) {
        Tag::Call(Some(id)) => Some(id.to_owned()),
        _ => None,
    });
    ids.collect()
}

/// The length of the run of messages with a role from here on.
fn run(plan: &Plan<'_>, from: usize, role: Role) -> usize {
    plan.outs.get(from..).unwrap_or_default().iter().take_while(|out| out.role == role).count()
}

/// Puts each result of a turn into a message of its own, in order, before the rest. Returns the new number of messages.
fn sort(plan: &mut Plan<'_>, turn: std::ops::Range<usize>, place: &HashMap<&str, usize>, rule: &'static str) -> usize {
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
    plan.repairs.push(Repair::new(rule, "results are brought into the order of their calls"));
    count
}
