//! Content that must stay although an operation covers it: tools added in mid-conversation, as long as later content
//! needs them, and the mark where another model took over.

use super::plan::{Out, Piece, Plan, Tag, label, opened, pieces, tag};
use super::{Input, Repair, made, spell};
use ctx_core::message::{Block, Kind, Message, Role};

/// Whether a covered block may be required.
pub(super) fn may(input: &Input<'_>, message: u32, block: u32) -> bool {
    matches!(label(input, message, block), Some("tool_addition" | "mcp_tool_listing" | "fallback"))
}

/// Removes covered pieces that are not required.
pub(super) fn settle(plan: &mut Plan<'_>) {
    if has_changes(plan.input) {
        additions(plan);
        in_order(plan);
    }
    fallbacks(plan);
    plan.outs.retain(|out| out.pieces.as_ref().is_none_or(|pieces| !pieces.is_empty()));
}

/// The statement of a block about tools.
enum Says {
    Adds(String),
    /// Removes a tool, or lists those of a server: it must be defined.
    Needs(String),
}

/// The tool that a block changes. A server counts as one tool.
fn says(input: &Input<'_>, piece: Piece) -> Option<Says> {
    let Piece::Client { message, block, .. } = piece else { return None };
    let kind = label(input, message, block)?;
    let bytes = input.body.bytes();
    let at = start(input, message, block)?;
    let server = |at: usize, name: &str| spell::text(bytes, at, name).map(|name| format!("mcp:{name}"));
    if kind == "mcp_tool_listing" {
        return server(at, "mcp_server_name").map(Says::Needs);
    }
    if !matches!(kind, "tool_addition" | "tool_removal") {
        return None;
    }
    let tool = spell::member(bytes, at, "tool")?.value.start;
    let tool = spell::member(bytes, tool, "definition").map_or(tool, |definition| definition.value.start);
    let server = server(tool, "server_name").or_else(|| server(tool, "mcp_server_name"));
    let name = server.or_else(|| spell::text(bytes, tool, "name").map(|name| name.into_owned()))?;
    Some(if kind == "tool_addition" { Says::Adds(name) } else { Says::Needs(name) })
}

/// The start of a client's block.
fn start(input: &Input<'_>, message: u32, block: u32) -> Option<usize> {
    let at = input.body.spans().messages.get(message as usize)?.start;
    match spell::content(input.body.bytes(), at, block as usize + 1) {
        spell::Content::List(list) => list.blocks.get(block as usize).map(|span| span.start),
        _ => None,
    }
}

/// The tools that a block requires.
fn needs(plan: &Plan<'_>, piece: Piece) -> Vec<String> {
    let input = plan.input;
    let named = |bytes: &[u8], at: usize| {
        let server = spell::text(bytes, at, "server_name").map(|name| format!("mcp:{name}"));
        server.or_else(|| spell::text(bytes, at, "name").map(|name| name.into_owned()))
    };
    match (tag(input, &plan.made, piece), piece) {
        (Tag::Call, Piece::Client { message, block, .. }) => {
            start(input, message, block).and_then(|at| named(input.body.bytes(), at)).into_iter().collect()
        }
        (Tag::Call, Piece::Made(at)) => {
            let json = plan.made.get(at as usize).map_or("", |made| &made.json);
            named(json.as_bytes(), 0).into_iter().collect()
        }
        (Tag::Result | Tag::ServerResult, Piece::Client { message, block, text: 0 }) => {
            start(input, message, block).map_or(Vec::new(), |at| made::references(input.body.bytes(), at))
        }
        _ => match says(input, piece) {
            Some(Says::Needs(name)) => vec![name],
            _ => Vec::new(),
        },
    }
}

/// Whether the client adds tools in mid-conversation.
pub(super) fn has_changes(input: &Input<'_>) -> bool {
    have_changes(input.messages)
}

pub(super) fn have_changes(messages: &[&Message]) -> bool {
    let is_change = |block: &Block| {
        block.kind == Kind::Other && matches!(block.label.as_deref(), Some("tool_addition" | "mcp_tool_listing"))
    };
    messages.iter().any(|message| message.blocks.iter().any(is_change))
}

/// Keeps required additions, from the client's last on, so that kept ones reveal further requirements. Ignores moved
/// messages: [`in_order`] handles them.
fn additions(plan: &mut Plan<'_>) {
    if plan.covered.is_empty() {
        return;
    }
    let sent = plan.outs.iter().flat_map(|out| pieces(plan.input, out)).filter(|piece| !plan.covered.contains(piece));
    let by = |piece: Piece| match piece {
        Piece::Client { message, .. } => message,
        Piece::Made(_) => u32::MAX,
    };
    let mut needed: Vec<(String, u32)> =
        sent.flat_map(|piece| needs(plan, piece).into_iter().map(move |name| (name, by(piece)))).collect();
    let mut covered = plan.covered.clone();
    covered.sort_unstable_by_key(|piece| std::cmp::Reverse(by(*piece)));
    let mut gone: Vec<Piece> = Vec::new();
    for piece in covered {
        let Some(Says::Adds(name) | Says::Needs(name)) = says(plan.input, piece) else { continue };
        if !needed.iter().any(|(other, later)| *other == name && *later > by(piece)) {
            gone.push(piece);
            continue;
        }
        needed.extend(needs(plan, piece).into_iter().map(|name| (name, by(piece))));
        let what = format!("what brings the tool {} stays: something later needs it", name.trim_start_matches("mcp:"));
        plan.repairs.push(Repair::new("A23", what));
    }
    for out in &mut plan.outs {
        if pieces(plan.input, out).any(|piece| gone.contains(&piece)) {
            opened(plan.input, out).retain(|piece| !gone.contains(piece));
        }
    }
}

/// Moves an addition before the content that needs it, wherever operations moved that.
fn in_order(plan: &mut Plan<'_>) {
    if plan.outs.iter().filter_map(|out| out.source).is_sorted() {
        return;
    }
    // Each round moves one to an earlier place.
    for _ in 0..plan.outs.len() {
        let Some((from, piece, message, to)) = late(plan) else { return };
        opened(plan.input, &mut plan.outs[from]).retain(|other| *other != piece);
        let out = Out {
            role: Role::System,
            source: Some(message),
            pieces: Some(vec![piece]),
            first: true,
            anchor: Some(message),
        };
        plan.outs.insert(to, out);
        plan.repairs.push(Repair::new("A23", "a tool is brought before it is needed"));
    }
}

/// An addition behind the content that needs it: its position, and its destination.
fn late(plan: &Plan<'_>) -> Option<(usize, Piece, u32, usize)> {
    let mut needed: Vec<(String, u32, usize)> = Vec::new();
    for (o, out) in plan.outs.iter().enumerate() {
        for piece in pieces(plan.input, out) {
            let Piece::Client { message, .. } = piece else { continue };
            if let Some(Says::Adds(name)) = says(plan.input, piece) {
                let earlier = needed.iter().find(|(other, by, _)| *other == name && *by > message);
                if let Some((_, _, to)) = earlier {
                    return Some((o, piece, message, *to));
                }
                needed.retain(|(other, ..)| *other != name);
            }
            needed.extend(needs(plan, piece).into_iter().map(|name| (name, message, o)));
        }
    }
    None
}

/// Keeps the mark with the rest of its answer: it separates the thinking of two models. Calls of the first model are no
/// calls any more.
fn fallbacks(plan: &mut Plan<'_>) {
    let Plan { input, outs, made, repairs, covered, .. } = plan;
    let is_mark = |piece: &Piece| tag(input, made, *piece) == Tag::Fallback;
    for out in outs.iter_mut() {
        let touched = !out.is_whole() || covered.iter().any(|piece| pieces(input, out).any(|other| other == *piece));
        if !touched || !pieces(input, out).any(|piece| is_mark(&piece)) {
            continue;
        }
        let list = opened(input, out);
        let is_left = |piece: &Piece| matches!(piece, Piece::Client { .. }) && !covered.contains(piece);
        if !list.iter().any(is_left) {
            list.retain(|piece| !is_mark(piece));
            continue;
        }
        if list.iter().any(|piece| is_mark(piece) && covered.contains(piece)) {
            let what = "the mark where another model took over stays: parts of that answer do";
            repairs.push(Repair::new("A48", what));
        }
        let last = list.iter().rposition(is_mark).unwrap_or(0);
        let count = list.len();
        let mut at = 0;
        list.retain(|piece| {
            at += 1;
            at > last || matches!(piece, Piece::Client { .. }) || tag(input, made, *piece) != Tag::Call
        });
        if list.len() < count {
            let what = "a call of ours goes: another model took over behind it";
            repairs.push(Repair::new("A48", what));
        }
    }
}
