//! Clients: what is known of the agents that speak through the proxy, one folder a client.
//!
//! A [`Client`] is data and a few functions. [`CLIENTS`] lists the known ones; every other sender is [`UNKNOWN`], whose
//! words are those that several agents share. Wires, policies and the service ask this crate for facts; none of them
//! names a client's tool, header or tag.

mod class;
pub mod claude_code;
mod hints;
mod others;
mod session;
pub mod setup;

pub use class::{Glance, ToolsListed, class};
pub use hints::{HeaderNames, Headers, Hints};
pub use session::{SessionConversation, SessionFile, SessionFiles, SessionTurn, SessionUsage};

use ctx_core::automatic::Settings;
use ctx_core::lexicon::{Lexicon, Vocabulary};
use ctx_core::{Class, ToolRole};

/// Which client sent a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientId {
    ClaudeCode,
    #[default]
    Unknown,
}

/// An agent that speaks through the proxy.
pub struct Client {
    pub id: ClientId,
    /// The name that commands take.
    pub name: &'static str,
    /// The name that people use.
    pub title: &'static str,
    /// Whether a request is this client's.
    pub recognises: fn(Headers<'_>) -> bool,
    pub headers: HeaderNames,
    /// Adds the hints that no header gives by its value alone.
    pub refine: fn(Headers<'_>, &mut Hints),
    /// The class of a request that neither a hint nor its own fields tell.
    pub class: fn(&Hints, &Glance) -> Class,
    /// Whether its side requests are recognised, so that every turn under a session belongs to that conversation.
    pub tells_side_requests: bool,
    pub vocabulary: &'static Vocabulary,
    /// Conversations that it keeps on disk.
    pub sessions: Option<SessionFiles>,
    pub mcp: Option<McpCaller>,
    /// Makes it speak through the daemon wherever it is started.
    pub installer: Option<setup::Installer>,
    /// Tools whose results the automatic editor leaves alone unless told otherwise, by patterns.
    pub bookkeeping: &'static [&'static str],
}

/// How a client appears to the MCP server.
#[derive(Debug, Clone, Copy)]
pub struct McpCaller {
    /// The name that it gives itself.
    pub name: &'static str,
    /// The member of a request's metadata that names the tool call it passes on.
    pub call: &'static str,
    /// Whether it shows its model the structure of an answer, and then only that.
    pub reads_structure: bool,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}

/// Every known client. A new one is a folder here and a line in this list.
pub static CLIENTS: [&Client; 1] = [&claude_code::CLIENT];

/// Any other sender.
pub static UNKNOWN: Client = Client {
    id: ClientId::Unknown,
    name: "unknown",
    title: "an unknown client",
    recognises: |_| true,
    headers: others::HEADERS,
    refine: |_, _| {},
    class: |_, _| Class::Main,
    tells_side_requests: false,
    vocabulary: &others::VOCABULARY,
    sessions: None,
    mcp: None,
    installer: None,
    bookkeeping: &[],
};

/// Messages are read by all vocabularies at once: a message has the same key whoever sends it, because an agent may
/// call itself by another's name, and a session may go on in another agent.
static LEXICON: Lexicon = Lexicon(&[&claude_code::VOCABULARY, &others::VOCABULARY]);

pub fn lexicon() -> &'static Lexicon {
    &LEXICON
}

/// The part that a tool plays.
pub fn role(tool: &str) -> ToolRole {
    LEXICON.role(tool)
}

/// The clients that the MCP server knows.
pub fn mcp_callers() -> impl Iterator<Item = McpCaller> {
    CLIENTS.into_iter().filter_map(|client| client.mcp)
}

/// The headers by which a client tells its session to the daemon itself.
pub fn session_headers() -> impl Iterator<Item = &'static str> {
    CLIENTS.into_iter().flat_map(|client| client.headers.session).copied()
}

/// The known clients, and the unknown one behind them.
fn every() -> impl Iterator<Item = &'static Client> {
    CLIENTS.into_iter().chain([&UNKNOWN])
}

pub fn client(id: ClientId) -> &'static Client {
    CLIENTS.into_iter().find(|client| client.id == id).unwrap_or(&UNKNOWN)
}

/// The settings of the automatic editor where nothing is said: results of the agents' own bookkeeping stay.
pub fn editor_settings() -> Settings {
    let bookkeeping = every().flat_map(|client| client.bookkeeping).map(|&pattern| pattern.to_owned());
    Settings { exclude_tools: bookkeeping.collect(), ..Settings::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lexicon_holds_the_words_of_every_client() {
        let parts: Vec<*const Vocabulary> = LEXICON.0.iter().map(|part| &raw const **part).collect();
        for client in every() {
            assert!(parts.contains(&&raw const *client.vocabulary), "{} is left out", client.name);
        }
        assert_eq!(parts.len(), every().count());
    }

    #[test]
    fn every_client_is_found_by_its_id_and_has_a_name_of_its_own() {
        for client in CLIENTS {
            assert_eq!(super::client(client.id).name, client.name);
        }
        let names: std::collections::BTreeSet<&str> = every().map(|client| client.name).collect();
        assert_eq!(names.len(), every().count());
    }
}
