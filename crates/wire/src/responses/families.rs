//! Calls and results by family: each type of call takes results of one type (R16), and a removed program takes its
//! calls along (R13).

use super::item::{Item, Sort};
use crate::compose::dialect::{Plan, Tag};
use crate::compose::layout::pieces;
use crate::compose::{Piece, Repair};
use ctx_core::Content;
use ctx_core::message::Kind;
use std::borrow::Cow;
use std::collections::HashSet;

/// The type of the results of a call.
fn answer_to(call: &str) -> Option<&'static str> {
    Some(match call {
        // A local shell is answered like a function.
        "function_call" | "local_shell_call" => "function_call_output",
        "custom_tool_call" => "custom_tool_call_output",
        "shell_call" => "shell_call_output",
        "apply_patch_call" => "apply_patch_call_output",
        "program" => "program_output",
        _ => return None,
    })
}

/// The type of the call that is sent with this id.
fn call_type<'p>(plan: &'p Plan<'_>, id: &str) -> Option<Cow<'p, str>> {
    let mut made = (0..plan.made.len() as u32).map(Piece::Made);
    let is_sent = |piece: &Piece| plan.outs.iter().any(|out| out.pieces.iter().flatten().any(|other| other == piece));
    let ours = made.find(|piece| plan.tag(*piece) == Tag::Call(Some(id)) && is_sent(piece));
    if let Some(Piece::Made(at)) = ours {
        return Some(match &*plan.made[at as usize].content {
            Content::Raw { json, .. } => Item::read(json.as_bytes()).kind,
            _ => "function_call".into(),
        });
    }
    Some(Item::read(plan.input.body.message(plan.message_with_call(id)? as usize)).kind)
}

/// Whether results of this type differ in nothing but their type.
fn is_plain(output: &str) -> bool {
    matches!(output, "function_call_output" | "custom_tool_call_output")
}

/// The type that a result has to have, if it is written with another.
pub(super) fn retyped(plan: &Plan<'_>, id: &str, kind: &str) -> Option<&'static str> {
    output_of(plan, id).filter(|family| *family != kind && is_plain(family) && is_plain(kind))
}

/// The type that a result of ours has, if its call takes words.
pub(super) fn output_of(plan: &Plan<'_>, id: &str) -> Option<&'static str> {
    call_type(plan, id).and_then(|call| answer_to(&call))
}

/// How a result suits the call that is sent with its id.
enum Suits {
    AsItIs,
    Retyped,
    Not,
}

fn suits(plan: &Plan<'_>, piece: Piece, id: &str) -> Suits {
    let Some(call) = call_type(plan, id) else { return Suits::AsItIs };
    let kind = match piece {
        Piece::Client { message, .. } => Item::read(plan.input.body.message(message as usize)).kind,
        Piece::Made(at) => match &*plan.made[at as usize].content {
            Content::Raw { json, .. } => Item::read(json.as_bytes()).kind,
            _ if answer_to(&call).is_some() => return Suits::AsItIs,
            _ => return Suits::Not,
        },
    };
    match answer_to(&call) {
        Some(output) if output == kind => Suits::AsItIs,
        Some(output) if is_plain(output) && is_plain(&kind) => Suits::Retyped,
        Some(_) => Suits::Not,
        None => Suits::AsItIs,
    }
}

/// Removes results that cannot be written, with their calls; results that take no text keep their own.
pub(super) fn fit(plan: &mut Plan<'_>) {
    let input = plan.input;
    let is_ours = |piece: &Piece| matches!(piece, Piece::Made(_)) && matches!(plan.tag(*piece), Tag::Call(_));
    let has_calls = plan.outs.iter().flat_map(|out| out.pieces.iter().flatten()).any(is_ours);
    let (mut unfit, mut restyled) = (HashSet::new(), HashSet::new());
    for piece in plan.outs.iter().flat_map(|out| pieces(input, out)) {
        let Tag::Result(Some(id)) = plan.tag(piece) else { continue };
        // A call of the client's has the result that it came with.
        if !has_calls && matches!(piece, Piece::Client { .. }) {
            continue;
        }
        match (suits(plan, piece, id), piece) {
            (Suits::Not, _) => drop(unfit.insert(id.to_owned())),
            (Suits::Retyped, Piece::Client { message, .. }) => drop(restyled.insert(message)),
            _ => {}
        }
    }
    plan.restyled.extend(restyled);
    if !unfit.is_empty() {
        drop_pairs(plan, &unfit);
        plan.repairs.push(Repair::new("R16", "a call goes with its result: it takes results of another type"));
    }
    let takes_text = |message: u32| {
        let kind = Item::read(input.body.message(message as usize)).kind;
        !matches!(kind.as_ref(), "computer_call_output" | "tool_search_output" | "mcp_approval_response")
    };
    let mut kept = 0;
    for piece in plan.outs.iter_mut().flat_map(|out| out.pieces.iter_mut().flatten()) {
        if let Piece::Client { message, text, .. } = piece
            && *text > 0
            && !takes_text(*message)
        {
            *text = 0;
            kept += 1;
        }
    }
    if kept > 0 {
        plan.repairs.push(Repair::new("R16", format!("{kept} results stay as they are: they are no words")));
    }
}

/// Removes the calls and the results with these ids.
fn drop_pairs(plan: &mut Plan<'_>, ids: &HashSet<String>) {
    let is_gone = |plan: &Plan<'_>, piece: Piece| match plan.tag(piece) {
        Tag::Call(Some(id)) | Tag::Result(Some(id)) => ids.contains(id),
        _ => false,
    };
    for at in 0..plan.outs.len() {
        if pieces(plan.input, &plan.outs[at]).any(|piece| is_gone(plan, piece)) {
            plan.retain(at, |plan, piece| !is_gone(plan, piece));
        }
    }
}

/// Whether a program stands before this message: its calls may follow anywhere.
pub(super) fn has_programs(plan: &Plan<'_>, message: usize) -> bool {
    (0..message).filter_map(|at| call_about_programs(plan, at)).any(|item| item.kind == "program")
}

/// The call at this index if it may be a program, or made by one.
fn call_about_programs<'a>(plan: &Plan<'a>, at: usize) -> Option<Item<'a>> {
    // Results are long: they are not searched.
    plan.input.messages.get(at)?.blocks.iter().find(|block| block.kind == Kind::ToolUse)?;
    let element = plan.input.body.message(at);
    memchr::memmem::find(element, b"\"program\"")?;
    Some(Item::read(element)).filter(|item| item.sort == Sort::Call)
}

/// The id of the program that made this call.
fn caller<'a>(plan: &Plan<'a>, at: usize, call: &Item<'_>) -> Option<Cow<'a, str>> {
    let caller = call.value("caller")?;
    crate::compose::spell::text(plan.input.body.message(at), caller.start, "caller_id")
}

/// The program that made the call at this index.
pub(super) fn program_of(plan: &Plan<'_>, at: usize) -> Option<usize> {
    let caller = caller(plan, at, &call_about_programs(plan, at)?)?;
    let is_it = |item: Item<'_>| item.kind == "program" && item.link().as_ref() == Some(&caller);
    (0..at).rev().find(|at| call_about_programs(plan, *at).is_some_and(is_it))
}

/// Removes the calls of a removed program (R13).
pub(super) fn close_programs(plan: &mut Plan<'_>) {
    let input = plan.input;
    let mut programs = HashSet::new();
    let mut made_by = Vec::new();
    for at in plan.from..input.messages.len() {
        let Some(item) = call_about_programs(plan, at) else { continue };
        let Some(id) = input.messages[at].blocks.iter().find_map(|block| block.tool_use_id.as_deref()) else {
            continue;
        };
        if item.kind == "program" {
            programs.insert(id.to_owned());
        } else {
            made_by.extend(caller(plan, at, &item).map(|caller| (caller.into_owned(), id.to_owned())));
        }
    }
    if programs.is_empty() {
        return;
    }
    let sent: HashSet<String> = plan
        .outs
        .iter()
        .flat_map(|out| pieces(input, out))
        .filter_map(|piece| match plan.tag(piece) {
            Tag::Call(Some(id)) => Some(id.to_owned()),
            _ => None,
        })
        .collect();
    let orphans = made_by.into_iter().filter(|(program, _)| programs.contains(program) && !sent.contains(program));
    let ids: HashSet<String> = orphans.map(|(_, id)| id).filter(|id| sent.contains(id)).collect();
    if !ids.is_empty() {
        drop_pairs(plan, &ids);
        plan.repairs.push(Repair::new("R13", format!("{} calls go with the program that made them", ids.len())));
    }
}
