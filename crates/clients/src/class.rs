//! The class of a request: stated by the client, else inferred from its form.

use crate::{Client, ClientId, Hints, client};
use ctx_core::Class;

/// Facts about a request beside its headers, supplied by a wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Glance {
    pub has_system: bool,
    pub tools: ToolsListed,
    /// The system prompt identifies a sub-agent.
    pub says_subagent: bool,
    /// The request asks for a given answer format.
    pub wants_format: bool,
    /// The provider keeps the history; this request carries only new messages.
    pub history_elsewhere: bool,
    /// The last cache breakpoint is before the last message that is not a system message: the request shares a
    /// conversation's history but is not its next turn.
    pub mark_before_last: bool,
    /// The last message asks for a summary of the conversation.
    pub asks_for_summary: bool,
    /// The class that the system prompt or the last text states.
    pub said: Option<Class>,
    /// The number of messages.
    pub messages: usize,
    /// The client named in the system prompt.
    pub introduced: Option<ClientId>,
}

/// The tools that a request lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolsListed {
    /// The request has no list.
    #[default]
    Absent,
    /// Only tools that the provider runs itself.
    OnlyServer,
    /// The client's tools, or an empty list.
    Own,
}

/// The class of a request.
pub fn class(hints: &Hints, glance: &Glance) -> Class {
    // Without its history it is no turn, whatever it says of itself.
    if glance.history_elsewhere {
        return Class::Auxiliary;
    }
    if let Some(class) = hints.class {
        return class;
    }
    if let Some(class) = glance.said {
        return class;
    }
    if hints.agent.is_some() || hints.parent_session.is_some() || glance.says_subagent {
        return Class::Subagent;
    }
    if glance.wants_format {
        return Class::Auxiliary;
    }
    (sender(hints, glance.introduced).class)(hints, glance)
}

/// The client of a request: by its headers, else by its system prompt.
pub fn sender(hints: &Hints, introduced: Option<ClientId>) -> &'static Client {
    let by_headers = Some(hints.client).filter(|id| *id != ClientId::Unknown);
    client(by_headers.or(introduced).unwrap_or_default())
}

/// The class of an agent's request. Turns list the agent's tools; titles and probes list none.
pub(crate) fn of_agent(_: &Hints, glance: &Glance) -> Class {
    match glance.tools {
        ToolsListed::Own => Class::Main,
        _ if glance.messages <= 1 => Class::Auxiliary,
        _ => Class::Main,
    }
}
