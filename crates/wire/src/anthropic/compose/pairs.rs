//! Pairs calls and results: neither without the other, each once, and results directly behind their calls.

use super::made::MadeBlock;
use super::plan::{Out, Piece, Plan, Tag, id, is_directive, opened, pieces, tag};
use super::{Input, Repair, spell, waits};
use crate::json::Span;
use ctx_core::links::shown_id;
use ctx_core::message::{Kind, Role};
use std::collections::HashMap;

/// The position of a piece: message and index.
type At = (usize, usize);

pub(super) fn repair(plan: &mut Plan<'_>) {
    let loose = loose(plan);
    if !loose.contains(&true) {
        return;
    }
    plan.unfinished.clear();
    plan.waiting.clear();
    let Plan { input, outs, made, repairs, unfinished, waiting, .. } = plan;
    let mut pairing = Pairing { input, made, repairs, unfinished, waiting };
    let gone = pairing.without_partner(outs, &loose);
    let mut loose = remove(input, outs, gone, loose);
    pairing.join(outs, &mut loose);
    if !plan.waiting.is_empty() {
        waits::only_results(plan);
    }
}

/// Whether each call of the open messages is answered directly behind it, in order.
pub(super) fn are_regular(plan: &Plan<'_>) -> bool {
    !unpaired(plan).contains(&true)
}

/// Which messages need a closer check.
fn loose(plan: &Plan<'_>) -> Vec<bool> {
    // A synthetic id may equal any other.
    if plan.made.iter().any(|block| block.id.is_some()) {
        return vec![true; plan.outs.len()];
    }
    unpaired(plan)
}

/// Recognises the usual case without a map: each call is answered directly behind it, in order.
fn unpaired(plan: &Plan<'_>) -> Vec<bool> {
    let input = plan.input;
    let mut loose = vec![false; plan.outs.len()];
    let mut open: Vec<&str> = Vec::new();
    let mut run: Vec<usize> = Vec::new();
    let mut odd = false;
    for (at, out) in plan.outs.iter().enumerate() {
        match out.role {
            Role::Assistant => {
                let before = open.len();
                for piece in pieces(input, out) {
                    match tag(input, &plan.made, piece) {
                        Tag::Call => match id(input, &plan.made, piece) {
                            Some(id) => open.push(id),
                            None => odd = true,
                        },
                        Tag::Result | Tag::ServerResult => odd = true,
                        _ => {}
                    }
                }
                if odd || open.len() > before {
                    run.push(at);
                }
            }
            Role::User => {
                let mut results = 0;
                for (n, piece) in pieces(input, out).enumerate() {
                    let answers = tag(input, &plan.made, piece) == Tag::Result;
                    results += usize::from(answers);
                    odd |= answers && (results != n + 1 || id(input, &plan.made, piece) != open.get(n).copied());
                }
                if odd || results != open.len() {
                    run.iter().for_each(|&at| loose[at] = true);
                    loose[at] = results > 0;
                }
                open.clear();
                run.clear();
                odd = false;
            }
            _ => odd |= !open.is_empty() && !is_directive(input, out),
        }
    }
    run.iter().for_each(|&at| loose[at] = true);
    loose
}

#[derive(Default)]
struct Pair {
    call: Option<At>,
    result: Option<At>,
    server: Option<At>,
}

struct Pairing<'p, 'a> {
    input: &'a Input<'a>,
    made: &'p [MadeBlock<'a>],
    repairs: &'p mut Vec<Repair>,
    unfinished: &'p mut Vec<String>,
    waiting: &'p mut Vec<String>,
}

impl<'p> Pairing<'p, '_> {
    fn tag(&self, piece: Piece) -> Tag {
        tag(self.input, self.made, piece)
    }

    fn id(&self, piece: Piece) -> Option<&'p str>
    where
        Self: 'p,
    {
        id(self.input, self.made, piece)
    }

    fn report(&mut self, rule: &'static str, what: String) {
        self.repairs.push(Repair::new(rule, what));
    }

    /// The pieces to remove.
    fn without_partner(&mut self, outs: &[Out], loose: &[bool]) -> Vec<At> {
        let mut gone: Vec<At> = Vec::new();
        let mut index: HashMap<&str, usize> = HashMap::new();
        let mut pairs: Vec<(&str, Pair)> = Vec::new();
        for (o, out) in outs.iter().enumerate().filter(|(o, _)| loose[*o]) {
            for (p, piece) in pieces(self.input, out).enumerate() {
                let tag = self.tag(piece);
                if !matches!(tag, Tag::Call | Tag::Result | Tag::ServerResult) {
                    continue;
                }
                let Some(id) = self.id(piece) else { continue };
                let at = *index.entry(id).or_insert_with(|| {
                    pairs.push((id, Pair::default()));
                    pairs.len() - 1
                });
                let pair = &mut pairs[at].1;
                let (seat, rule) = match tag {
                    Tag::Call => (&mut pair.call, "A32"),
                    Tag::Result => (&mut pair.result, "A33"),
                    _ => (&mut pair.server, "A40"),
                };
                if seat.is_some() {
                    gone.push((o, p));
                    self.report(rule, format!("{} is there twice: the later one is left out", shown_id(id)));
                } else {
                    *seat = Some((o, p));
                }
            }
        }
        let turns = turns(self.input, outs);
        for (id, pair) in &pairs {
            self.judge(id, pair, outs, &turns, &mut gone);
        }
        gone.sort_unstable();
        gone
    }

    fn judge(&mut self, id: &str, pair: &Pair, outs: &[Out], turns: &[usize], gone: &mut Vec<At>) {
        let Some(call) = pair.call else {
            gone.extend(pair.result);
            gone.extend(pair.server);
            let rule = if pair.result.is_some() { "A31" } else { "A40" };
            return self.report(rule, format!("the result of {} goes too: its call is not sent", shown_id(id)));
        };
        // The position of the client's result shows who runs the call. If it is synthetic, look at the block.
        let is_ours = |at: At| matches!(pieces(self.input, &outs[at.0]).nth(at.1), Some(Piece::Made(_)));
        let look = [pair.call, pair.result, pair.server].into_iter().flatten().any(is_ours);
        let kind = if look { self.kind(call, outs) } else { String::new() };
        let by_provider = if look { kind != "tool_use" } else { pair.server.is_some() };
        let fits = |server: &At| !look || (kind == "mcp_tool_use") == (self.kind(*server, outs) == "mcp_tool_result");
        match (by_provider, pair.result, pair.server.filter(fits)) {
            (true, result, Some(server)) => {
                if let Some(result) = result {
                    gone.push(result);
                    self.report(
                        "A41",
                        format!("the second result of {} is left out: the provider ran it", shown_id(id)),
                    );
                }
                if turns[call.0] == turns[server.0] && call < server {
                    return;
                }
                // The client's tools of that turn come first; the result opens the next turn.
                if turns.get(server.0) == next_turn(outs, turns, call.0).as_ref() {
                    return self.waiting.push(id.to_owned());
                }
                gone.extend([call, server]);
                self.report("A40", format!("{} and its result go: they no longer stand in one turn", shown_id(id)));
            }
            (false, Some(_), _) => {
                if let Some(server) = pair.server {
                    gone.push(server);
                    self.report("A40", format!("a result of {} is left out: the client ran it", shown_id(id)));
                }
            }
            _ => {
                let lonely = pair.result.is_none() && pair.server.is_none() && next_turn(outs, turns, call.0).is_none();
                if let Some(name) = self.unfinished(id, call, outs).filter(|_| lonely) {
                    self.unfinished.push(name);
                    self.waiting.push(id.to_owned());
                    return;
                }
                gone.push(call);
                gone.extend(pair.result);
                gone.extend(pair.server);
                self.report("A30", format!("the call {} goes too: its result is not sent", shown_id(id)));
            }
        }
    }

    /// The span of a client's block in the body.
    fn span(&self, piece: Piece) -> Option<Span> {
        let Piece::Client { message, block, .. } = piece else { return None };
        let at = self.input.body.spans().messages.get(message as usize)?.start;
        match spell::content(self.input.body.bytes(), at, block as usize + 1) {
            spell::Content::List(mut list) if list.blocks.len() > block as usize => {
                Some(list.blocks.swap_remove(block as usize))
            }
            _ => None,
        }
    }

    /// The `type` of a block.
    fn kind(&self, at: At, outs: &[Out]) -> String {
        let Some(piece) = pieces(self.input, &outs[at.0]).nth(at.1) else { return String::new() };
        if let Piece::Made(at) = piece {
            return self.made.get(at as usize).map(|made| made.kind.clone()).unwrap_or_default();
        }
        let kind = self.span(piece).and_then(|span| spell::text(self.input.body.bytes(), span.start, "type"));
        kind.unwrap_or_default().into_owned()
    }

    /// The tool of a call that the provider had not finished when the client sent it.
    fn unfinished(&self, id: &str, call: At, outs: &[Out]) -> Option<String> {
        let span = self.span(pieces(self.input, &outs[call.0]).nth(call.1)?)?;
        if self.kind(call, outs) == "tool_use" {
            return None;
        }
        let mut blocks = self.input.messages.iter().flat_map(|message| &message.blocks);
        let answered = blocks.any(|block| block.kind == Kind::ToolResult && block.tool_use_id.as_deref() == Some(id));
        let name = spell::text(self.input.body.bytes(), span.start, "name").unwrap_or_default();
        (!answered).then(|| name.into_owned())
    }

    /// Moves results to their calls.
    fn join(&mut self, outs: &mut Vec<Out>, loose: &mut [bool]) {
        let turns = turns(self.input, outs);
        let end_of = |start: usize| turns[start..].iter().take_while(|turn| **turn == turns[start]).count() + start;
        // Neighbours of loose messages are loose too.
        let mut start = 0;
        while start < outs.len() {
            let end = end_of(start);
            if outs[start].role == Role::Assistant && loose[start..end].contains(&true) {
                loose[start..end].fill(true);
                let next = (end..outs.len()).find(|&o| !is_directive(self.input, &outs[o]));
                next.into_iter().for_each(|o| loose[o] = true);
            }
            start = end;
        }
        let mut results: HashMap<&str, At> = HashMap::new();
        for (o, out) in outs.iter().enumerate().filter(|(o, out)| loose[*o] && out.role == Role::User) {
            for (p, piece) in pieces(self.input, out).enumerate().filter(|(_, piece)| self.tag(*piece) == Tag::Result) {
                results.extend(self.id(piece).map(|id| (id, (o, p))));
            }
        }
        // Pieces to move, and the message behind which they go.
        let mut taken: Vec<At> = Vec::new();
        let mut brought: HashMap<usize, Vec<Piece>> = HashMap::new();
        let mut start = 0;
        while start < outs.len() {
            let end = end_of(start);
            if outs[start].role == Role::Assistant && loose[start..end].contains(&true) {
                let run = outs[start..end].iter().flat_map(|out| pieces(self.input, out));
                let calls = run.filter(|piece| self.tag(*piece) == Tag::Call).filter_map(|piece| self.id(piece));
                let mut wanted: Vec<At> = calls.filter_map(|id| results.get(id).copied()).collect();
                wanted.sort_unstable();
                if !self.is_answered(outs, end, &wanted) {
                    let found = wanted.iter().filter_map(|&(o, p)| pieces(self.input, &outs[o]).nth(p)).collect();
                    brought.insert(end - 1, found);
                    taken.extend(wanted);
                    self.report("A34", "results are brought to the place directly behind their calls".into());
                }
            }
            start = end;
        }
        if taken.is_empty() {
            return;
        }
        taken.sort_unstable();
        self.rebuild(outs, &taken, brought);
    }

    /// Whether the following messages begin with the results. A client may spread them over several messages; if these
    /// are its own, in a row, they stay.
    fn is_answered(&self, outs: &[Out], next: usize, wanted: &[At]) -> bool {
        let mut left = wanted;
        let mut last = &outs[next - 1];
        for (o, out) in outs.iter().enumerate().skip(next) {
            if left.is_empty() {
                break;
            }
            if is_directive(self.input, out) {
                continue;
            }
            let count = pieces(self.input, out).count();
            let here = left.iter().take(count).enumerate().take_while(|(n, at)| **at == (o, *n)).count();
            left = &left[here..];
            let spread = last.is_whole() && out.is_whole() && out.source == last.source.map(|source| source + 1);
            // Behind the first one, all results must be spread by the client itself.
            let torn = last.role == Role::User && !spread;
            if out.role != Role::User || here == 0 || torn || (!left.is_empty() && (here < count || !spread)) {
                return false;
            }
            last = out;
        }
        left.is_empty()
    }

    fn rebuild(&self, outs: &mut Vec<Out>, taken: &[At], mut brought: HashMap<usize, Vec<Piece>>) {
        let old = std::mem::take(outs);
        let mut waiting: Vec<Piece> = Vec::new();
        for (o, mut out) in old.into_iter().enumerate() {
            let from = taken.partition_point(|at| at.0 < o);
            let mine = taken[from..].iter().take_while(|at| at.0 == o).map(|at| at.1);
            let mine: Vec<usize> = mine.collect();
            let hosts = !waiting.is_empty() && !mine.is_empty() && out.role == Role::User && {
                let own: Vec<Piece> = pieces(self.input, &out).collect();
                mine.iter().any(|&p| own.get(p).is_some_and(|piece| waiting.contains(piece)))
            };
            if !mine.is_empty() {
                let mut n = 0;
                opened(self.input, &mut out).retain(|_| {
                    n += 1;
                    mine.binary_search(&(n - 1)).is_err()
                });
            }
            if hosts {
                opened(self.input, &mut out).splice(0..0, std::mem::take(&mut waiting));
            } else if !waiting.is_empty() && !is_directive(self.input, &out) {
                outs.push(answer(std::mem::take(&mut waiting)));
            }
            let is_empty = out.pieces.as_ref().is_some_and(Vec::is_empty);
            if !is_empty {
                outs.push(out);
            }
            waiting.extend(brought.remove(&o).unwrap_or_default());
        }
        if !waiting.is_empty() {
            outs.push(answer(waiting));
        }
    }
}

/// The assistant's next turn after that of a message.
fn next_turn(outs: &[Out], turns: &[usize], message: usize) -> Option<usize> {
    let later = outs.iter().zip(turns).skip(message);
    later.filter(|(out, _)| out.role == Role::Assistant).map(|(_, turn)| *turn).find(|turn| *turn != turns[message])
}

/// A message of results, in the object of the first one.
fn answer(pieces: Vec<Piece>) -> Out {
    let source = pieces.iter().find_map(|piece| match piece {
        Piece::Client { message, .. } => Some(*message),
        Piece::Made(_) => None,
    });
    Out { role: Role::User, source, pieces: Some(pieces), first: true, anchor: source }
}

/// Numbers the turns; consecutive assistant messages are one turn.
fn turns(input: &Input<'_>, outs: &[Out]) -> Vec<usize> {
    let mut turns: Vec<usize> = Vec::with_capacity(outs.len());
    let mut turn = 0;
    let mut last = None;
    for (at, out) in outs.iter().enumerate() {
        let is_assistant = out.role == Role::Assistant;
        if is_assistant && let Some(last) = last {
            // Settings between two assistant messages do not separate them.
            turn = turns[last];
            turns[last..].fill(turn);
        } else {
            turn += 1;
        }
        turns.push(turn);
        if is_assistant {
            last = Some(at);
        } else if !is_directive(input, out) {
            last = None;
        }
    }
    turns
}

/// Removes the pieces in `gone`, which is sorted. Returns which of the remaining messages are loose.
fn remove(input: &Input<'_>, outs: &mut Vec<Out>, gone: Vec<At>, loose: Vec<bool>) -> Vec<bool> {
    for group in gone.chunk_by(|a, b| a.0 == b.0) {
        let Some(out) = group.first().and_then(|at| outs.get_mut(at.0)) else { continue };
        let mut n = 0;
        opened(input, out).retain(|_| {
            n += 1;
            group.binary_search_by_key(&(n - 1), |at| at.1).is_err()
        });
    }
    let stays = |out: &Out| out.pieces.as_ref().is_none_or(|pieces| !pieces.is_empty());
    let loose = outs.iter().zip(loose).filter(|(out, _)| stays(out)).map(|(_, loose)| loose).collect();
    outs.retain(stays);
    loose
}
