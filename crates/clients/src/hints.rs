//! Hints: session, agent and class of a request, from its headers.

use crate::{ClientId, UNKNOWN, every};
use ctx_core::Class;

/// Looks up a header by its lower-case name.
pub type Headers<'h> = &'h (dyn Fn(&str) -> Option<&'h str> + 'h);

/// The names of a client's headers, in lower case.
#[derive(Debug, Clone, Copy)]
pub struct HeaderNames {
    pub session: &'static [&'static str],
    pub agent: Option<&'static str>,
    pub parent_agent: Option<&'static str>,
    /// Names the session that started this one.
    pub parent_session: Option<&'static str>,
    /// Names the class of the request.
    pub class: Option<&'static str>,
    pub classes: &'static [(&'static str, Class)],
    /// Present if the client has just summarised its history.
    pub compacted: Option<&'static str>,
}

impl HeaderNames {
    /// No headers.
    pub const NONE: HeaderNames = HeaderNames {
        session: &[],
        agent: None,
        parent_agent: None,
        parent_session: None,
        class: None,
        classes: &[],
        compacted: None,
    };
}

/// The statements of a request's headers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hints {
    pub session: Option<Box<str>>,
    pub agent: Option<Box<str>>,
    pub parent_agent: Option<Box<str>>,
    /// The session that started this one, if it is a sub-agent's.
    pub parent_session: Option<Box<str>>,
    /// The class, if the client states it.
    pub class: Option<Class>,
    /// The client has just summarised its history.
    pub compacted: bool,
    /// The sender's product and version.
    pub product: Option<Box<str>>,
    pub client: ClientId,
    /// The client marks this request as one of a conversation.
    pub is_marked_turn: bool,
    /// The model, if the address names it and the body does not.
    pub model: Option<Box<str>>,
}

impl Hints {
    /// The hints of a plain turn, for a replayed request.
    pub fn of_turn(session: &str) -> Hints {
        // A client whose turns need no further classification: every replayed request was recorded as a conversation.
        let client = ClientId::ClaudeCode;
        Hints { session: value(session), class: Some(Class::Main), client, ..Hints::default() }
    }

    /// Reads the hints; `get` looks up a header by its lower-case name.
    pub fn read<'a>(get: impl Fn(&str) -> Option<&'a str>) -> Hints {
        let get = |name: &str| get(name);
        let headers: Headers<'_> = &get;
        let client = every().find(|client| (client.recognises)(headers)).unwrap_or(&UNKNOWN);
        let text = |name: &str| headers(name).and_then(value);
        // The client's own names take precedence over others.
        let every = || std::iter::once(client).chain(every());
        let first = |of: fn(&HeaderNames) -> Option<&'static str>| {
            every().filter_map(|client| of(&client.headers)).find_map(text)
        };
        let class = |names: &HeaderNames| {
            let named = names.class.and_then(text)?;
            names.classes.iter().find(|(name, _)| **name == *named).map(|(_, class)| *class)
        };
        let mut hints = Hints {
            session: every().flat_map(|client| client.headers.session).find_map(|name| text(name)),
            agent: first(|names| names.agent),
            parent_agent: first(|names| names.parent_agent),
            parent_session: first(|names| names.parent_session),
            class: every().find_map(|client| class(&client.headers)),
            compacted: every().filter_map(|client| client.headers.compacted).any(|name| headers(name).is_some()),
            product: product(headers).map(Into::into),
            client: client.id,
            is_marked_turn: false,
            model: None,
        };
        (client.refine)(headers, &mut hints);
        hints
    }
}

/// A value of reasonable size.
fn value(text: &str) -> Option<Box<str>> {
    let text = text.trim();
    is_worth_keeping(text).then(|| text.into())
}

fn is_worth_keeping(text: &str) -> bool {
    !text.is_empty() && text.len() <= 200
}

/// Whether the sender is one of these products.
pub(crate) fn is_product(headers: Headers<'_>, products: &[&str]) -> bool {
    product(headers).is_some_and(|product| products.iter().any(|opening| product.starts_with(opening)))
}

/// The sender's product and version.
pub(crate) fn product<'h>(headers: Headers<'h>) -> Option<&'h str> {
    let agent = headers("user-agent").map(str::trim).filter(|agent| is_worth_keeping(agent))?;
    agent.split(' ').next()
}
