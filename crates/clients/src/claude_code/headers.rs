//! The headers of Claude Code, and the class of its requests without a class header.

use crate::class::ToolsListed;
use crate::{Glance, HeaderNames, Headers, Hints};
use ctx_core::Class;

/// Names the session of a request, including requests to the daemon itself.
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

/// Recognises Claude Code by more than its name, which other agents use too.
pub fn recognises(headers: Headers<'_>) -> bool {
    headers(SESSION).is_some() || has_beta(headers)
}

/// Whether a request has the beta that every request of a conversation has, and no other.
fn has_beta(headers: Headers<'_>) -> bool {
    headers("anthropic-beta").is_some_and(|betas| betas.contains("claude-code-"))
}

pub fn refine(headers: Headers<'_>, hints: &mut Hints) {
    hints.is_marked_turn = has_beta(headers);
}

/// Infers the class. Correct for all requests recorded with their classes.
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
