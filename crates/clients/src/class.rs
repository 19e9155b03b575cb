//! The class of a request: by the client's own word, else by its form.

use crate::{Hints, client};
use ctx_core::Class;

/// What a request shows of itself beside its headers. A wire finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Glance {
    pub has_system: bool,
    pub tools: ToolsListed,
    /// A part of the system prompt says that a sub-agent speaks.
    pub says_subagent: bool,
    /// The answer shall have a given format.
    pub wants_format: bool,
    /// The provider keeps the history; this request carries only a delta.
    pub history_elsewhere: bool,
    /// The last cache mark lies before the last message that is not a system message: the request
    /// shares a conversation's history but is not its next turn.
    pub mark_before_last: bool,
    /// The last message asks for a summary of the conversation.
    pub asks_for_summary: bool,
}

/// The tools that a request lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolsListed {
    /// It has no list.
    #[default]
    Absent,
    /// None but such as the provider runs itself.
    OnlyServer,
    /// Tools of the client, or an empty list.
    Own,
}

/// The class of a request.
pub fn class(hints: &Hints, glance: &Glance) -> Class {
    if let Some(class) = hints.class {
        return class;
    }
    if hints.agent.is_some() || glance.says_subagent {
        return Class::Subagent;
    }
    if glance.wants_format || glance.history_elsewhere {
        return Class::Auxiliary;
    }
    (client(hints.client).class)(hints, glance)
}
