//! Roles: no empty messages, a user first and last, system messages between a user and the assistant.

use super::plan::{Out, Piece, Plan, Tag, facts, is_directive, label, pieces, tag};
use super::{Input, Repair, made, spell, waits};
use crate::json;
use ctx_core::message::Role;

const OPENING: &str = "[What was said before is not part of this conversation any more.]";
pub(super) const CLOSING: &str = "[Please go on.]";

pub(super) fn repair(plan: &mut Plan<'_>) {
    empties(plan);
    first_and_last(plan);
    systems(plan);
}

/// Removes empty messages. Messages that the client sent empty stay.
fn empties(plan: &mut Plan<'_>) {
    let Plan { input, outs, made, repairs, thoughts, .. } = plan;
    outs.retain(|out| {
        let Some(pieces) = &out.pieces else { return true };
        let tags = || pieces.iter().map(|piece| (tag(input, made, *piece), *piece));
        if tags().any(|(tag, _)| !matches!(tag, Tag::Text | Tag::Thinking | Tag::Fallback)) {
            return true;
        }
        if tags().any(|(tag, piece)| tag == Tag::Text && !is_blank(input, piece)) {
            return true;
        }
        let thought = tags().filter(|(tag, _)| *tag == Tag::Thinking).count();
        *thoughts += thought;
        if tags().any(|(tag, _)| tag == Tag::Text) {
            repairs.push(Repair::new("A26", "a message of nothing but white space is left out"));
        } else if thought > 0 {
            repairs.push(Repair::new("A39", "a message of nothing but thinking is left out"));
        } else if !pieces.is_empty() {
            let what = "a message of nothing but the mark where another model took over is left out";
            repairs.push(Repair::new("A48", what));
        }
        false
    });
}

/// Whether a text is only white space. Synthetic texts never are.
pub(super) fn is_blank(input: &Input<'_>, piece: Piece) -> bool {
    let Piece::Client { message, block, .. } = piece else { return false };
    let Some(known) = facts(input, message, block) else { return true };
    if known.label.is_some() {
        return false;
    }
    let bytes = input.body.bytes();
    let Some(span) = input.body.spans().messages.get(message as usize) else { return true };
    let text = match spell::content(bytes, span.start, block as usize + 1) {
        spell::Content::Text(span) => json::string_value(bytes, span),
        spell::Content::List(list) => {
            list.blocks.get(block as usize).and_then(|block| spell::text(bytes, block.start, "text"))
        }
        spell::Content::Nothing => None,
    };
    text.is_none_or(|text| text.trim().is_empty())
}

fn ours(plan: &mut Plan<'_>, text: &str) -> Out {
    said(plan, Role::User, text)
}

/// A short synthetic message that a rule requires.
pub(super) fn said(plan: &mut Plan<'_>, role: Role, text: &str) -> Out {
    plan.made.to_mut().push(made::text(text));
    Out::ours(role, vec![Piece::Made(plan.made.len() as u32 - 1)], None)
}

fn first_and_last(plan: &mut Plan<'_>) {
    let input = plan.input;
    summary_first(plan);
    let spoken = |out: &Out| out.role != Role::System;
    let first = plan.outs.iter().find(|out| spoken(out));
    let may_open = |out: &Out| {
        out.role != Role::Assistant || (out.source == Some(0) && out.is_whole()) || is_compaction(plan.input, out)
    };
    if !first.is_some_and(may_open) {
        let rule = if first.is_some() { "A3" } else { "A1" };
        let out = ours(plan, OPENING);
        plan.outs.insert(0, out);
        plan.repairs.push(Repair::new(rule, "a short user message comes first"));
    }
    // The client may end with an assistant message, to have it continued.
    let own_last = input.messages.iter().rposition(|message| message.role != Role::System);
    let last = plan.outs.iter().rposition(spoken);
    if let Some(at) = last
        && plan.outs[at].role == Role::Assistant
        && plan.outs[at].source != own_last.map(|last| last as u32)
    {
        let out = ours(plan, CLOSING);
        plan.outs.insert(at + 1, out);
        plan.repairs.push(Repair::new("A6", "a short user message comes last"));
    }
}

/// A summary that the client's request opens with replaces all that was before it, so nothing of ours may precede it.
fn summary_first(plan: &mut Plan<'_>) {
    let input = plan.input;
    if !facts(input, 0, 0).is_some_and(|block| block.sums_up) {
        return;
    }
    let is_it = |out: &Out| out.source == Some(0) && is_compaction(input, out);
    if let Some(at @ 1..) = plan.outs.iter().position(is_it) {
        let out = plan.outs.remove(at);
        plan.outs.insert(0, out);
        plan.repairs.push(Repair::new("A3", "the provider's summary stays first"));
    }
}

fn is_compaction(input: &Input<'_>, out: &Out) -> bool {
    let Some(Piece::Client { message, block, .. }) = pieces(input, out).next() else { return false };
    facts(input, message, block).is_some_and(|block| block.label.as_deref() == Some("compaction"))
}

/// Moves system messages with content to a valid position: behind a user message, or an assistant message that ends in
/// a result of the provider's tools, and before an assistant message or at the end.
fn systems(plan: &mut Plan<'_>) {
    let input = plan.input;
    let is_content = |out: &Out| out.role == Role::System && !is_directive(input, out);
    if !plan.outs.iter().any(is_content) {
        return;
    }
    let old = std::mem::take(&mut plan.outs);
    let count = old.len();
    let mut new: Vec<Out> = Vec::with_capacity(count);
    // Messages waiting for a place, and the number of messages passed since.
    let mut held: Vec<Out> = Vec::new();
    let mut passed = false;
    let mut before = Before::NOTHING;
    let mut moved = 0;
    for out in old {
        if out.role == Role::System {
            if is_content(&out) || !held.is_empty() {
                held.push(out);
            } else {
                new.push(out);
            }
            continue;
        }
        if !held.is_empty() && out.role == Role::Assistant {
            if !before.takes(input, &held) && held.iter().any(|held| brings_tools(input, held)) && !before.waits {
                new.push(ours(plan, CLOSING));
                let what = "a short user message comes before a change of tools, which follows one only";
                plan.repairs.push(Repair::new("A23", what));
                new.append(&mut held);
            } else if before.takes(input, &held) {
                moved += if passed { held.len() } else { 0 };
                new.append(&mut held);
            }
        }
        passed = !held.is_empty();
        before = before.then(plan, &out);
        new.push(out);
    }
    if !held.is_empty() {
        if before.takes(input, &held) {
            moved += if passed { held.len() } else { 0 };
            new.append(&mut held);
        } else {
            moved += held.len();
            let at = last_place(plan, &new, &held);
            match at {
                Some(at) => drop(new.splice(at..at, held)),
                None => plan.repairs.push(Repair::new("A13", "system messages that may stand nowhere are left out")),
            }
        }
    }
    if moved > 0 {
        let what = match moved {
            1 => "1 system message is moved to where it is allowed".to_owned(),
            _ => format!("{moved} system messages are moved to where they are allowed"),
        };
        plan.repairs.push(Repair::new("A14", what));
    }
    plan.outs = new;
}

/// The state before a system message.
struct Before {
    role: Role,
    source: Option<u32>,
    fits: bool,
    /// The previous turn waits for the provider's tools: only results may follow.
    waits: bool,
}

impl Before {
    const NOTHING: Before = Before { role: Role::Other, source: None, fits: false, waits: false };

    fn then(&self, plan: &Plan<'_>, out: &Out) -> Before {
        let goes_on = self.role == Role::Assistant || out.role == Role::User;
        // Their results end it.
        let found = pieces(plan.input, out).any(|piece| tag(plan.input, &plan.made, piece) == Tag::ServerResult);
        let waits = (goes_on && self.waits && !found) || (out.role == Role::Assistant && waits::waits(plan, out));
        Before { role: out.role, source: out.source, fits: may_precede(plan, out), waits }
    }

    /// Whether these may follow. The client's own order always may.
    fn takes(&self, input: &Input<'_>, held: &[Out]) -> bool {
        let own = |held: &Out| held.is_whole() && held.source == self.source.map(|source| source + 1);
        let after_user = self.role == Role::User || !held.iter().any(|held| brings_tools(input, held));
        self.fits && (!self.waits || held.first().is_some_and(own)) && after_user
    }
}

/// Whether a system message changes the tools.
fn brings_tools(input: &Input<'_>, out: &Out) -> bool {
    let is_change = |piece: Piece| match piece {
        Piece::Client { message, block, .. } => {
            matches!(label(input, message, block), Some("tool_addition" | "tool_removal"))
        }
        Piece::Made(_) => false,
    };
    pieces(input, out).any(is_change)
}

/// Whether a system message may follow.
fn may_precede(plan: &Plan<'_>, out: &Out) -> bool {
    match out.role {
        Role::User => true,
        Role::Assistant => {
            let last = pieces(plan.input, out).next_back();
            last.is_some_and(|last| tag(plan.input, &plan.made, last) == Tag::ServerResult)
        }
        _ => false,
    }
}

/// The last valid position for these system messages among `outs`, if their end is none.
fn last_place(plan: &Plan<'_>, outs: &[Out], held: &[Out]) -> Option<usize> {
    let (mut before, mut last) = (Before::NOTHING, None);
    for (at, out) in outs.iter().enumerate().filter(|(_, out)| out.role != Role::System) {
        if out.role == Role::Assistant && before.takes(plan.input, held) {
            last = Some(at);
        }
        before = before.then(plan, out);
    }
    last
}
