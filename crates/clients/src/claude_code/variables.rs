//! The environment variables of Claude Code.

/// Where it sends its requests.
pub const BASE_URL: &str = "ANTHROPIC_BASE_URL";
/// Makes it say what each request is for.
pub const HINT_HEADERS: &str = "CLAUDE_CODE_GATEWAY_HINT_HEADERS";
/// It switches tool search off when the base URL is not the provider's own.
pub const TOOL_SEARCH: &str = "ENABLE_TOOL_SEARCH";
/// It gives its session to the commands that it runs.
pub const SESSION: &str = "CLAUDE_CODE_SESSION_ID";
/// Where it keeps its settings, instead of `~/.claude`.
pub const CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";

/// Whether a variable in the environment leads Claude Code to a proxy, or says that it is part of another session.
pub fn leads_back(name: &str) -> bool {
    let leads = [BASE_URL, "ANTHROPIC_CUSTOM_HEADERS", "CLAUDECODE", TOOL_SEARCH];
    leads.contains(&name) || name.starts_with("CLAUDE_CODE_")
}
