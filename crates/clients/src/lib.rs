//! Clients: facts about the agents that use the proxy, one folder each.
//!
//! A [`Client`] is data and a few functions. [`CLIENTS`] lists the known ones; any other sender is [`UNKNOWN`], with
//! the words that several agents share. Wires, policies and the service ask this crate for facts; none of them names a
//! client's tool, header or tag.

mod aider;
mod class;
pub mod claude_code;
mod cline;
mod codex;
mod continue_dev;
mod gemini_cli;
mod goose;
mod hints;
pub mod launch;
mod opencode;
mod others;
mod pi;
mod qwen;
mod session;
pub mod setup;

pub use class::{Glance, ToolsListed, class, sender};
pub use claude_code::hooks::{StatusLineInput, session_of_hook};
pub use claude_code::{question, skills};
pub use hints::{HeaderNames, Headers, Hints};
pub use session::{SessionConversation, SessionFile, SessionFiles, SessionTurn, SessionUsage};

use ctx_core::lexicon::{Lexicon, Vocabulary};
use ctx_core::pattern::matches;
use ctx_core::policy::Settings;
use ctx_core::{Class, ToolRole};
use launch::Launch;

/// Identifies a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientId {
    ClaudeCode,
    Codex,
    Opencode,
    Pi,
    Goose,
    GeminiCli,
    Qwen,
    Cline,
    Continue,
    Aider,
    #[default]
    Unknown,
}

/// An agent that uses the proxy.
pub struct Client {
    pub id: ClientId,
    /// Its name in commands.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Whether a request comes from this client.
    pub recognises: fn(Headers<'_>) -> bool,
    /// Prefixes of its product name.
    pub products: &'static [&'static str],
    /// Openings of its system prompt, if its headers do not identify it.
    pub introductions: &'static [&'static str],
    pub headers: HeaderNames,
    /// Adds hints that need more than the value of one header.
    pub refine: fn(Headers<'_>, &mut Hints),
    /// The class of a request without a hint.
    pub class: fn(&Hints, &Glance) -> Class,
    /// Whether its side requests are recognised, so that every turn of a session belongs to its conversation.
    pub tells_side_requests: bool,
    pub vocabulary: &'static Vocabulary,
    /// Its conversations on disk.
    pub sessions: Option<SessionFiles>,
    pub mcp: Option<McpCaller>,
    /// Routes it through the daemon permanently.
    pub installer: Option<&'static dyn setup::Installer>,
    /// Patterns of tools whose results the automatic editor keeps by default.
    pub bookkeeping: &'static [&'static str],
    /// Patterns of tools that are never deferred. `None`: it does not send back the provider's tool search results, so
    /// no tool may be.
    pub undeferred: Option<&'static [&'static str]>,
    /// How to start it through the daemon.
    pub launch: Launch,
    /// Environment variables of the commands that it runs.
    pub marks: &'static [&'static str],
    /// The one of them that names its session, as its requests do.
    pub session_variable: Option<&'static str>,
}

impl Client {
    /// A client without known facts.
    pub const BASE: Client = Client {
        id: ClientId::Unknown,
        name: "unknown",
        title: "an unknown client",
        recognises: |_| false,
        products: &[],
        introductions: &[],
        headers: HeaderNames::NONE,
        refine: |_, _| {},
        class: |_, _| Class::Main,
        tells_side_requests: false,
        vocabulary: &Vocabulary::EMPTY,
        sessions: None,
        mcp: None,
        installer: None,
        bookkeeping: &[],
        undeferred: None,
        launch: Launch::NONE,
        marks: &[],
        session_variable: None,
    };
}

/// Facts about a client that calls the MCP server.
#[derive(Debug, Clone, Copy)]
pub struct McpCaller {
    /// The beginning of the name it reports.
    pub name: &'static str,
    /// The member of a request's metadata that names the forwarded tool call.
    pub call: Option<&'static str>,
    /// The member of a request's metadata that names the session, as its requests to the model do.
    pub session: Option<&'static str>,
    /// Whether it shows its model only the structured part of an answer.
    pub reads_structure: bool,
}

impl McpCaller {
    /// A client that says nothing about the calls it forwards.
    pub const fn named(name: &'static str) -> McpCaller {
        McpCaller { name, call: None, session: None, reads_structure: false }
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}

/// Every known client. A new one is a folder here and a line in this list. The first that recognises a request wins;
/// Qwen Code uses the name of Claude Code and comes after it.
pub static CLIENTS: [&Client; 10] = [
    &claude_code::CLIENT,
    &codex::CLIENT,
    &opencode::CLIENT,
    &pi::CLIENT,
    &goose::CLIENT,
    &gemini_cli::CLIENT,
    &qwen::CLIENT,
    &cline::CLIENT,
    &continue_dev::CLIENT,
    &aider::CLIENT,
];

/// An unknown program is started like this client.
pub static DEFAULT: &Client = &claude_code::CLIENT;

/// The variable of the default client's base URL.
pub const BASE_URL: &str = claude_code::variables::BASE_URL;
/// The variables with the session of the agent that runs a command.
pub const SESSIONS: &[&str] = &[claude_code::variables::SESSION, codex::THREAD, goose::SESSION_VARIABLE];

/// Any other sender.
pub static UNKNOWN: Client = Client {
    recognises: |_| true,
    headers: others::HEADERS,
    vocabulary: &others::VOCABULARY,
    marks: others::MARKS,
    ..Client::BASE
};

/// All vocabularies, used together: a message has the same key for every sender, because an agent may use another's
/// name, and a session may continue in another agent.
static LEXICON: Lexicon = Lexicon(&[
    &claude_code::VOCABULARY,
    &codex::VOCABULARY,
    &opencode::VOCABULARY,
    &pi::VOCABULARY,
    &goose::VOCABULARY,
    &gemini_cli::VOCABULARY,
    &qwen::VOCABULARY,
    &cline::VOCABULARY,
    &continue_dev::VOCABULARY,
    &aider::VOCABULARY,
    &others::VOCABULARY,
]);

pub fn lexicon() -> &'static Lexicon {
    &LEXICON
}

/// The role of a tool.
pub fn role(tool: &str) -> ToolRole {
    LEXICON.role(tool)
}

/// The clients that the MCP server knows.
pub fn mcp_callers() -> impl Iterator<Item = McpCaller> {
    CLIENTS.into_iter().filter_map(|client| client.mcp)
}

/// The client that reports this name to the MCP server.
pub fn mcp_client(name: &str) -> Option<&'static Client> {
    CLIENTS.into_iter().find(|client| client.mcp.is_some_and(|caller| name.starts_with(caller.name)))
}

/// The headers in which a client names its session to the daemon.
pub fn session_headers() -> impl Iterator<Item = &'static str> {
    let callers = CLIENTS.into_iter().filter(|client| client.mcp.is_some());
    callers.flat_map(|client| client.headers.session).copied()
}

/// The sessions that an environment names, each with its client; `value` looks up a variable. An agent that another agent
/// has started inherits the other's.
pub fn sessions_in(value: impl Fn(&str) -> Option<String>) -> Vec<(ClientId, String)> {
    let named = CLIENTS.into_iter().filter_map(|client| Some((client.id, value(client.session_variable?)?)));
    named.filter(|(_, session)| !session.is_empty()).collect()
}

/// The known clients, followed by the unknown one.
fn every() -> impl Iterator<Item = &'static Client> {
    CLIENTS.into_iter().chain([&UNKNOWN])
}

pub fn client(id: ClientId) -> &'static Client {
    CLIENTS.into_iter().find(|client| client.id == id).unwrap_or(&UNKNOWN)
}

/// The client whose system prompt has this opening.
pub fn introduced(system: &str) -> Option<&'static Client> {
    let begins = |client: &&Client| client.introductions.iter().any(|opening| system.starts_with(opening));
    CLIENTS.into_iter().find(begins)
}

/// The client with this product name or name.
pub fn of_product(product: &str) -> Option<&'static Client> {
    let is_its = |client: &&Client| client.products.iter().any(|opening| product.starts_with(opening));
    CLIENTS.into_iter().find(|client| client.name == product).or_else(|| CLIENTS.into_iter().find(is_its))
}

/// The client with this program or name.
pub fn named(name: &str) -> Option<&'static Client> {
    CLIENTS.into_iter().find(|client| client.name == name || client.launch.programs.contains(&name))
}

/// The client that runs a command in this environment; `is_set` tells whether a variable has a value.
pub fn running_in(is_set: impl Fn(&str) -> bool) -> Option<&'static Client> {
    every().find(|client| client.marks.iter().any(|name| is_set(name)))
}

/// The default settings of the automatic editor: results of the agents' bookkeeping tools stay.
pub fn editor_settings() -> Settings {
    let mut exclude_tools: Vec<String> = Vec::new();
    for pattern in every().flat_map(|client| client.bookkeeping) {
        if !exclude_tools.iter().any(|known| matches(known, pattern)) {
            exclude_tools.push((*pattern).to_owned());
        }
    }
    Settings { exclude_tools, ..Settings::default() }
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

    #[test]
    fn a_client_is_found_by_its_name_and_by_its_program() {
        let found = |name| named(name).map(|client| client.id);
        assert_eq!((found("claude"), found("claude-code")), (Some(ClientId::ClaudeCode), Some(ClientId::ClaudeCode)));
        assert_eq!(
            (found("gemini"), found("cn"), found("sh")),
            (Some(ClientId::GeminiCli), Some(ClientId::Continue), None)
        );
    }

    #[test]
    fn a_client_is_recognised_by_the_variables_that_it_sets_for_its_commands() {
        let found = |variable: &str| running_in(|name| name == variable).map(|client| client.id);
        for (variable, id) in [
            ("CLAUDECODE", ClientId::ClaudeCode),
            ("CLAUDE_CODE_SESSION_ID", ClientId::ClaudeCode),
            ("CODEX_THREAD_ID", ClientId::Codex),
            ("OPENCODE", ClientId::Opencode),
            ("PI_CODING_AGENT", ClientId::Pi),
            ("GOOSE_TERMINAL", ClientId::Goose),
            ("AGENT_SESSION_ID", ClientId::Goose),
            ("GEMINI_CLI", ClientId::GeminiCli),
            ("QWEN_CODE", ClientId::Qwen),
            ("CLINE_ACTIVE", ClientId::Cline),
            ("AI_AGENT", ClientId::Unknown),
        ] {
            assert_eq!(found(variable), Some(id), "{variable}");
        }
        assert_eq!(found("ANTHROPIC_BASE_URL"), None, "a person sets that too");
    }

    #[test]
    fn every_variable_with_a_session_is_one_of_its_clients_marks() {
        let named: Vec<&str> = CLIENTS.into_iter().filter_map(|client| client.session_variable).collect();
        assert_eq!(named, SESSIONS);
        for client in CLIENTS {
            assert!(client.session_variable.is_none_or(|name| client.marks.contains(&name)), "{}", client.name);
        }
        let sessions = sessions_in(|name| match name {
            "CODEX_THREAD_ID" => Some("t".to_owned()),
            "CLAUDE_CODE_SESSION_ID" => Some(String::new()),
            _ => None,
        });
        assert_eq!(sessions, [(ClientId::Codex, "t".to_owned())]);
    }

    #[test]
    fn a_caller_of_the_mcp_server_is_known_by_the_name_that_it_reports() {
        let found = |name| mcp_client(name).map(|client| client.id);
        for (name, id) in [
            ("claude-code", ClientId::ClaudeCode),
            ("codex-mcp-client", ClientId::Codex),
            ("opencode", ClientId::Opencode),
            ("goose-cli", ClientId::Goose),
            ("gemini-cli-mcp-client-ctx", ClientId::GeminiCli),
            ("qwen-cli-mcp-client-ctx", ClientId::Qwen),
            ("Cline", ClientId::Cline),
            ("continue-client", ClientId::Continue),
        ] {
            assert_eq!(found(name), Some(id), "{name}");
        }
        assert_eq!(found("a-test"), None);
    }

    #[test]
    fn a_product_belongs_to_the_client_that_calls_itself_so() {
        let title = |product| of_product(product).map(|client| client.title);
        assert_eq!((title("claude-cli/2.1.325"), title("QwenCode/0.24.4")), (Some("Claude Code"), Some("Qwen Code")));
        assert_eq!(
            (title("codex_exec/0.166.0"), title("pi"), title("goose")),
            (Some("Codex"), Some("pi"), Some("goose"))
        );
        assert_eq!((title("continue"), title("node-fetch"), title("pipeline/1")), (Some("Continue"), None, None));
    }

    #[test]
    fn bookkeeping_that_an_earlier_pattern_covers_is_not_listed_again() {
        let patterns = editor_settings().exclude_tools;
        assert!(patterns.contains(&"Task*".to_owned()) && patterns.contains(&"delegate".to_owned()), "{patterns:?}");
        assert!(!patterns.iter().any(|pattern| pattern == "task" || pattern == "todo__*"), "{patterns:?}");
    }

    #[test]
    fn a_tool_has_one_role_whichever_client_lists_it() {
        for (name, role) in LEXICON.0.iter().flat_map(|words| words.tools) {
            assert_eq!(LEXICON.role(name), *role, "{name}");
        }
    }

    #[test]
    fn openings_are_as_short_as_the_labels_that_they_are_compared_with() {
        let classes = LEXICON.0.iter().flat_map(|words| words.requests.iter().chain(words.systems));
        let openings = classes.map(|(opening, _)| opening);
        for opening in openings.chain(CLIENTS.into_iter().flat_map(|client| client.introductions)) {
            let label = ctx_core::title::line(&format!("{opening} and more of the same"));
            assert!(label.starts_with(opening), "{label}");
        }
    }

    #[test]
    fn a_sender_without_marks_is_unknown_and_its_session_is_still_read() {
        let hints = Hints::read(|name| (name == "session-id").then_some("s"));
        assert_eq!((hints.client, hints.session.as_deref()), (ClientId::Unknown, Some("s")));
    }
}
