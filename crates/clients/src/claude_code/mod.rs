//! Claude Code: headers, vocabulary and tools, session files, and installation.

pub mod folders;
mod headers;
pub mod hooks;
mod install;
pub mod question;
mod session;
pub mod skills;
pub mod variables;
mod vocabulary;

pub use install::skill;
pub use vocabulary::VOCABULARY;

use crate::launch::{KeyCarrier, Launch, Route};
use crate::{Client, ClientId, McpCaller};

const NAME: &str = "claude-code";
const TITLE: &str = "Claude Code";

pub static CLIENT: Client = Client {
    id: ClientId::ClaudeCode,
    name: NAME,
    title: TITLE,
    recognises: headers::recognises,
    products: &["claude-cli/"],
    headers: headers::NAMES,
    refine: headers::refine,
    class: headers::class,
    tells_side_requests: true,
    vocabulary: &VOCABULARY,
    bookkeeping: &["Task*", "Agent", "Todo*", "AskUserQuestion", "Skill", "*memory*", "ExitPlanMode"],
    // The tools of every session, and its own search for tools.
    undeferred: Some(&["Bash", "Edit", "Read", "Write", "ToolSearch"]),
    sessions: Some(session::FILES),
    mcp: Some(McpCaller { call: Some("claudecode/toolUseId"), reads_structure: true, ..McpCaller::named(NAME) }),
    installer: Some(&install::ClaudeCodeInstaller),
    launch: Launch { programs: &["claude"], routes: &[ROUTE] },
    marks: &[variables::SESSION, "CLAUDECODE"],
    session_variable: Some(variables::SESSION),
    ..Client::BASE
};

/// Behind a base URL, Claude Code sends hint headers and uses tool search only if told to.
const ROUTE: Route = Route {
    variables: &[(variables::BASE_URL, "{url}")],
    defaults: &[(variables::HINT_HEADERS, "1"), (variables::TOOL_SEARCH, "true")],
    check: Some("`env.ANTHROPIC_BASE_URL` in its settings overrides the environment"),
    key: KeyCarrier::List("ANTHROPIC_CUSTOM_HEADERS", "\n"),
    ..Route::BASE
};
