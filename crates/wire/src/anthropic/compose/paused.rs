//! Paused answers (`pause_turn`): the client sends the answer back to have it continued. It must go back unchanged, as
//! the last message, with its original tools (A44).

use super::plan::{Out, Plan};
use super::{Input, Repair};
use ctx_core::message::{Kind, Message, Role};

/// Whether this message, the last of a request, is an answer that the provider paused while its own tools ran.
pub fn is_paused(last: &Message) -> bool {
    let is_servers = |id: &str| id.starts_with("srvtoolu_") || id.starts_with("mcptoolu_");
    let mut calls = last.blocks.iter().filter(|block| block.kind == Kind::ToolUse);
    last.role == Role::Assistant && calls.any(|call| call.tool_use_id.as_deref().is_some_and(is_servers))
}

/// The client's message that is a paused answer.
pub(super) fn message(input: &Input<'_>) -> Option<u32> {
    let last = input.messages.iter().rposition(|message| message.role != Role::System)?;
    is_paused(input.messages[last]).then_some(last as u32)
}

/// Restores the paused answer completely, even where operations removed parts of it.
pub(super) fn restore(plan: &mut Plan<'_>) {
    let Some(paused) = message(plan.input) else { return };
    let is_own = |out: &Out| out.source == Some(paused);
    let last = plan.outs.iter().rposition(|out| out.role != Role::System);
    if last.is_some_and(|last| is_own(&plan.outs[last]) && plan.outs[last].is_whole())
        && plan.outs.iter().filter(|out| is_own(out)).count() == 1
    {
        return;
    }
    plan.outs.retain(|out| !is_own(out));
    let at = plan.outs.iter().rposition(|out| out.role != Role::System).map_or(0, |last| last + 1);
    plan.outs.insert(at, Out::whole(paused, Role::Assistant));
    plan.repairs.push(Repair::new("A44", "the paused answer goes back unchanged until it is finished"));
}
