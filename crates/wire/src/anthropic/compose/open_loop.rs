//! Manual thinking: models with a thinking budget require the thinking of an open tool loop. As long as the request
//! ends with results, the first and the last answer of the loop must begin with thinking.

use super::plan::{Out, Piece, Plan, Tag, facts, opened, pieces, tag};
use super::{Input, Repair, roles, spell, waits};
use crate::body::Body;
use ctx_core::message::{Kind, Role};
use std::ops::Range;

const RESULTS_ARE_IN: &str = "[The results are in.]";

/// Sends the thinking of an open loop, even if an operation removed it, until the loop closes. Without any thinking, a
/// short exchange closes the loop.
pub(super) fn repair(plan: &mut Plan<'_>) {
    if !is_manual(plan.input.body) {
        return;
    }
    let Some(answers) = answers(plan, &plan.outs) else { return };
    // The client's own loop is not repaired.
    let whole = |(at, role)| Out { role, source: Some(at), pieces: None, first: true, anchor: Some(at) };
    let own: Vec<Out> = (0..).zip(plan.input.messages.iter().map(|message| message.role)).map(whole).collect();
    if self::answers(plan, &own).is_some_and(|answers| !holds(plan, &own, &answers)) {
        return;
    }
    restore(plan, &answers);
    if !holds(plan, &plan.outs, &answers) && !part(plan, &answers) {
        close(plan, &answers);
    }
}

/// The answers of the open loop, each as its run of assistant messages; none if the loop is closed.
fn answers(plan: &Plan<'_>, outs: &[Out]) -> Option<Vec<Range<usize>>> {
    let has = |out: &Out, result: bool| {
        pieces(plan.input, out).any(|piece| (tag(plan.input, &plan.made, piece) == Tag::Result) == result)
    };
    let last = outs.iter().rfind(|out| out.role != Role::System)?;
    if last.role != Role::User || !has(last, true) {
        return None;
    }
    let mut answers = Vec::new();
    let mut at = outs.len();
    loop {
        let behind = outs[..at].iter().rposition(|out| out.role == Role::Assistant).map_or(0, |answer| answer + 1);
        let speaks = outs[behind..at].iter().any(|out| out.role == Role::User && has(out, false));
        if behind == 0 || (speaks && !answers.is_empty()) {
            break;
        }
        let row = outs[..behind].iter().rev().take_while(|out| matches!(out.role, Role::Assistant | Role::System));
        let start = behind - row.count();
        let first = outs[start..behind].iter().position(|out| out.role == Role::Assistant);
        at = start + first.unwrap_or(0);
        answers.push(at..behind);
    }
    answers.reverse();
    Some(answers)
}

/// Whether the provider accepts a loop of these answers.
fn holds(plan: &Plan<'_>, outs: &[Out], answers: &[Range<usize>]) -> bool {
    let ends = [answers.first(), answers.last()];
    ends.into_iter().flatten().all(|answer| outs.get(answer.start).is_some_and(|out| begins(plan, out)))
}

/// Whether a message begins with thinking that will be sent completely. Results of the provider's own tools may come
/// first.
fn begins(plan: &Plan<'_>, out: &Out) -> bool {
    let mut tags = pieces(plan.input, out).map(|piece| tag(plan.input, &plan.made, piece));
    let first = tags.find(|tag| *tag != Tag::ServerResult);
    let count = tags.filter(|tag| *tag == Tag::Thinking).count();
    first == Some(Tag::Thinking) && has_all(plan.input, out, count + 1)
}

fn restore(plan: &mut Plan<'_>, answers: &[Range<usize>]) {
    let Plan { input, outs, repairs, .. } = plan;
    let mut count = 0;
    for answer in answers {
        let Some(row) = outs.get_mut(answer.clone()) else { continue };
        let mut sources: Vec<u32> = row.iter().filter(|out| !out.is_whole()).filter_map(|out| out.source).collect();
        sources.dedup();
        for source in sources {
            for piece in lost(input, row, source) {
                count += usize::from(put_back(input, row, source, piece));
            }
        }
    }
    if count > 0 {
        let what = "the thinking of an open tool loop stays: the provider wants it until the loop is closed";
        repairs.push(Repair::new("A55", what));
    }
}

/// The thinking of a client's message that is not sent.
fn lost(input: &Input<'_>, row: &[Out], source: u32) -> Vec<Piece> {
    let is_sent = |block: u32| {
        let mine = row.iter().filter(|out| out.source == Some(source));
        let is_it =
            |piece: Piece| matches!(piece, Piece::Client { message, block: b, .. } if (message, b) == (source, block));
        mine.into_iter().any(|out| pieces(input, out).any(is_it))
    };
    let is_thinking = |block: &u32| facts(input, source, *block).is_some_and(|block| block.kind == Kind::Thinking);
    let blocks = 0..super::plan::block_count(input, source);
    let lost = blocks.filter(is_thinking).filter(|block| !is_sent(*block));
    lost.map(|block| Piece::Client { message: source, block, text: 0 }).collect()
}

/// Inserts a piece before its original successor; false if there is no place.
fn put_back(input: &Input<'_>, row: &mut [Out], source: u32, piece: Piece) -> bool {
    let Piece::Client { block: lost, .. } = piece else { return false };
    let follows =
        |piece: &Piece| matches!(piece, Piece::Client { message, block, .. } if *message == source && *block > lost);
    let mut last = None;
    for out in row.iter_mut().filter(|out| out.source == Some(source)) {
        let list = opened(input, out);
        if let Some(at) = list.iter().position(follows) {
            // Replacements of content in between are behind it too.
            let ours = list[..at].iter().rev().take_while(|piece| matches!(piece, Piece::Made(_))).count();
            list.insert(at - ours, piece);
            return true;
        }
        last = Some(list);
    }
    let Some(list) = last else { return false };
    let ours = list.iter().rev().take_while(|piece| matches!(piece, Piece::Made(_))).count();
    list.insert(list.len() - ours, piece);
    true
}

/// Separates answers that became neighbours if a later one begins with thinking.
fn part(plan: &mut Plan<'_>, answers: &[Range<usize>]) -> bool {
    let is_call = |piece: Piece| tag(plan.input, &plan.made, piece) == Tag::Call;
    let is_found = |piece: Piece| tag(plan.input, &plan.made, piece) == Tag::ServerResult;
    let border = |answer: &Range<usize>| {
        let at = answer.clone().find(|at| plan.outs.get(*at).is_some_and(|out| begins(plan, out)))?;
        let before = plan.outs.get(answer.start..at)?;
        let calls = before.iter().any(|out| pieces(plan.input, out).any(is_call));
        // Results of the provider's tools that waited for the earlier results follow them.
        let waited = plan.outs.get(at).is_some_and(|out| pieces(plan.input, out).next().is_some_and(is_found));
        (at > answer.start && !calls && !waited).then_some(at)
    };
    // A loop begins behind the inserted border.
    let Some((count, at)) = answers.iter().enumerate().find_map(|(count, answer)| Some((count, border(answer)?)))
    else {
        return false;
    };
    let ends = [at, answers.last().filter(|_| count + 1 < answers.len()).map_or(at, |answer| answer.start)];
    if !ends.into_iter().all(|at| plan.outs.get(at).is_some_and(|out| begins(plan, out))) {
        return false;
    }
    let words = roles::said(plan, Role::User, roles::CLOSING);
    plan.outs.insert(at, words);
    let what = "a short user message parts two answers: the one in the open tool loop begins with thinking";
    plan.repairs.push(Repair::new("A55", what));
    true
}

/// Inserts a short exchange behind as few first answers as must leave the loop, where it was inserted already when they
/// were the last.
fn close(plan: &mut Plan<'_>, answers: &[Range<usize>]) {
    let out_of_it = (1..=answers.len()).find(|&count| holds(plan, &plan.outs, &answers[count..]));
    let Some(count) = out_of_it else { return };
    let at = answers.get(count).map_or(plan.outs.len(), |answer| answer.start);
    let words = [(Role::Assistant, RESULTS_ARE_IN), (Role::User, roles::CLOSING)];
    let exchange = words.map(|(role, text)| roles::said(plan, role, text));
    plan.outs.splice(at..at, exchange);
    let what = "a short exchange closes the tool loop: the thinking that it would need is not there";
    plan.repairs.push(Repair::new("A55", what));
    let row = plan.outs.get(answers[count - 1].clone()).unwrap_or_default();
    let waiting: Vec<String> = row.iter().flat_map(|out| waits::calls(plan, out)).map(str::to_owned).collect();
    waits::forget(plan, &waiting);
}

/// Whether the request uses manual thinking: nothing is bound then, and an open tool loop needs its thinking.
pub(super) fn is_manual(body: &Body) -> bool {
    let thinking = body.spans().member(body.bytes(), "thinking");
    thinking
        .is_some_and(|(span, _)| spell::text(body.bytes(), span.start, "type").is_some_and(|kind| kind == "enabled"))
}

/// Whether `count` is all thinking of its answer.
pub(super) fn has_all(input: &Input<'_>, out: &Out, count: usize) -> bool {
    let source = out.source.and_then(|source| input.messages.get(source as usize));
    let thought = source.map(|source| source.blocks.iter().filter(|block| block.kind == Kind::Thinking).count());
    thought.unwrap_or(0) == count
}
