//! The class of a request: by the client's own word, else by its form.

use crate::{Client, ClientId, Hints, client};
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
    /// The class that the words of the request name: its system prompt, or its last text.
    pub said: Option<Class>,
    /// The number of messages.
    pub messages: usize,
    /// The client that the system prompt names.
    pub introduced: Option<ClientId>,
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

/// The class of an agent's request. Its first request lists its tools; a title or a probe lists none.
pub(crate) fn of_agent(_: &Hints, glance: &Glance) -> Class {
    match glance.tools {
        ToolsListed::Own => Class::Main,
        _ if glance.messages <= 1 => Class::Auxiliary,
        _ => Class::Main,
    }
}
