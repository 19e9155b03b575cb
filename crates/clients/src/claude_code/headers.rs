//! The headers that Claude Code sends, and the class of its requests where these do not name it.

use crate::class::ToolsListed;
use crate::{Glance, HeaderNames, Headers, Hints};
use ctx_core::Class;

/// Names the session of a request, also of one to the daemon itself.
pub const SESSION: &str = "x-claude-code-session-id";

pub const NAMES: HeaderNames = HeaderNames {
    session: &[SESSION],
    parent_session: None,
    agent: Some("x-claude-code-agent-id"),
    parent_agent: Some("x-claude-code-parent-agent-id"),
    class: Some("x-claude-code-request-class"),
    classes: &[
        ("main", Class::Main),
        ("subagent", Class::Subagent),
        ("workflow", Class::Subagent),
        ("compaction", Class::Compaction),
        ("auxiliary", Class::Auxiliary),
    ],
    compacted: Some("x-claude-code-context-compacted"),
};

/// Other agents use its name, so the name alone does not count.
pub fn recognises(headers: Headers<'_>) -> bool {
    headers(SESSION).is_some() || has_beta(headers)
}

/// A beta stands on every request of a conversation, and on no other.
fn has_beta(headers: Headers<'_>) -> bool {
    headers("anthropic-beta").is_some_and(|betas| betas.contains("claude-code-"))
}

pub fn refine(headers: Headers<'_>, hints: &mut Hints) {
    hints.is_marked_turn = has_beta(headers);
}

/// Right on all requests that were recorded with their classes.
pub fn class(hints: &Hints, glance: &Glance) -> Class {
    if !hints.is_marked_turn || !glance.has_system || glance.tools != ToolsListed::Own {
        return Class::Auxiliary;
    }
    match (glance.mark_before_last, glance.asks_for_summary) {
        (_, true) => Class::Compaction,
        (true, false) => Class::Auxiliary,
        (false, false) => Class::Main,
    }
}
