//! Turns that call tools of the client and of the provider at once. The provider's tools run once the client's have
//! results. Until then the user may say nothing else, and the results of the provider's tools open the next answer.

use super::Repair;
use super::plan::{Out, Piece, Plan, Tag, id, is_directive, opened, pieces, tag};
use ctx_core::links::shown_id;
use ctx_core::message::Role;

/// The waiting calls of the provider's tools in an assistant message.
pub(super) fn calls<'p>(plan: &'p Plan<'_>, out: &'p Out) -> impl Iterator<Item = &'p str> {
    let calls = pieces(plan.input, out).filter(|piece| tag(plan.input, &plan.made, *piece) == Tag::Call);
    let ids = calls.filter_map(|piece| id(plan.input, &plan.made, piece));
    ids.filter(|id| plan.waiting.iter().any(|waiting| waiting == id))
}

pub(super) fn waits(plan: &Plan<'_>, out: &Out) -> bool {
    !plan.waiting.is_empty() && calls(plan, out).next().is_some()
}

/// Consecutive assistant messages, and the messages behind them.
#[derive(Default)]
struct Turn {
    says: Vec<Out>,
    behind: Vec<Out>,
}

/// Moves everything beside the results of a waiting turn before that turn.
pub(super) fn only_results(plan: &mut Plan<'_>) {
    let mut turns = vec![Turn::default()];
    for out in std::mem::take(&mut plan.outs) {
        let Some(last) = turns.last_mut() else { break };
        match out.role {
            Role::Assistant if last.behind.iter().all(|out| is_directive(plan.input, out)) && !last.says.is_empty() => {
                last.says.append(&mut last.behind);
                last.says.push(out);
            }
            Role::Assistant => turns.push(Turn { says: vec![out], behind: Vec::new() }),
            _ => last.behind.push(out),
        }
    }
    // From the end: the content before one turn may be behind another.
    for at in (1..turns.len()).rev() {
        if !turns[at].says.iter().any(|out| waits(plan, out)) {
            continue;
        }
        let behind = std::mem::take(&mut turns[at].behind);
        let (results, rest) = parted(plan, &turns[at].says, behind);
        turns[at].behind = results;
        if rest.is_empty() {
            continue;
        }
        let before = &mut turns[at - 1].behind;
        let place = before.iter().rposition(|out| out.role != Role::System).map_or(0, |at| at + 1);
        // System messages keep their order: one may remove a tool that another one brings.
        let (systems, said): (Vec<Out>, Vec<Out>) = rest.into_iter().partition(|out| out.role == Role::System);
        before.splice(place..place, said);
        before.extend(systems);
        let what = "what was said beside results comes before their calls: tools of the provider wait for them";
        plan.repairs.push(Repair::new("A46", what));
    }
    let given_up = turns.last().is_some_and(|last| is_given_up(plan, last));
    let in_vain: Vec<String> = match turns.last().filter(|_| given_up) {
        Some(last) => last.says.iter().flat_map(|out| calls(plan, out)).map(str::to_owned).collect(),
        None => Vec::new(),
    };
    plan.outs = turns.into_iter().flat_map(|turn| turn.says.into_iter().chain(turn.behind)).collect();
    forget(plan, &in_vain);
}

/// Whether the last turn no longer waits: no results follow, and the client does not ask to continue it.
fn is_given_up(plan: &Plan<'_>, last: &Turn) -> bool {
    let own = plan.input.messages.iter().rposition(|message| message.role != Role::System);
    let goes_on = last.says.last().is_some_and(|out| out.source.is_some() && out.source == own.map(|own| own as u32));
    let is_result = |piece: Piece| tag(plan.input, &plan.made, piece) == Tag::Result;
    !goes_on && !last.behind.iter().any(|out| pieces(plan.input, out).any(is_result))
}

/// Removes these calls and their results.
pub(super) fn forget(plan: &mut Plan<'_>, ids: &[String]) {
    let Plan { input, outs, made, repairs, unfinished, waiting, .. } = plan;
    let is_one = |piece: &Piece| {
        let is_half = matches!(tag(input, made, *piece), Tag::Call | Tag::ServerResult);
        is_half && id(input, made, *piece).is_some_and(|id| ids.iter().any(|other| other == id))
    };
    for out in outs.iter_mut() {
        if pieces(input, out).any(|piece| is_one(&piece)) {
            opened(input, out).retain(|piece| !is_one(piece));
        }
    }
    outs.retain(|out| out.pieces.as_ref().is_none_or(|pieces| !pieces.is_empty()));
    for id in ids {
        unfinished.clear();
        waiting.retain(|waiting| waiting != id);
        repairs.push(Repair::new("A46", format!("the call {} goes: what it waits for is not sent", shown_id(id))));
    }
}

/// Separates the results from the rest. A system message that the client itself placed behind the results of a waiting
/// call stays.
fn parted(plan: &Plan<'_>, says: &[Out], behind: Vec<Out>) -> (Vec<Out>, Vec<Out>) {
    let (mut results, mut rest): (Vec<Out>, Vec<Out>) = (Vec::new(), Vec::new());
    let asked: Vec<u32> = says.iter().filter(|out| waits(plan, out)).filter_map(|out| out.source).collect();
    let answers = |results: u32| asked.iter().any(|call| call + 1 == results);
    let is_result = |piece: &Piece| tag(plan.input, &plan.made, *piece) == Tag::Result;
    for mut out in behind {
        match out.role {
            Role::User if !pieces(plan.input, &out).all(|piece| is_result(&piece)) => {
                let anchor = out.anchor;
                let list = opened(plan.input, &mut out);
                let said: Vec<Piece> = list.iter().copied().filter(|piece| !is_result(piece)).collect();
                list.retain(is_result);
                let is_empty = list.is_empty();
                rest.push(Out::ours(Role::User, said, anchor));
                if !is_empty {
                    results.push(out);
                }
            }
            Role::System if !is_directive(plan.input, &out) => {
                let after = results.last().and_then(|last| last.source).filter(|source| answers(*source));
                let follows = after.is_some_and(|after| out.source == Some(after + 1));
                if out.is_whole() && follows { results.push(out) } else { rest.push(out) }
            }
            _ => results.push(out),
        }
    }
    (results, rest)
}
