//! The environment variables of Claude Code.

/// The base URL of its requests.
pub const BASE_URL: &str = "ANTHROPIC_BASE_URL";
/// Makes it label each request with its class.
pub const HINT_HEADERS: &str = "CLAUDE_CODE_GATEWAY_HINT_HEADERS";
/// Keeps tool search enabled behind a foreign base URL.
pub const TOOL_SEARCH: &str = "ENABLE_TOOL_SEARCH";
/// The session, passed to the commands that it runs.
pub const SESSION: &str = "CLAUDE_CODE_SESSION_ID";
/// The folder of its settings, instead of `~/.claude`.
pub const CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";

/// Whether a variable leads Claude Code to a proxy, or makes it part of another session.
pub fn leads_back(name: &str) -> bool {
    let leads = [BASE_URL, "ANTHROPIC_CUSTOM_HEADERS", "CLAUDECODE", TOOL_SEARCH];
    leads.contains(&name) || name.starts_with("CLAUDE_CODE_")
}
