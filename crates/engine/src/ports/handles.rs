//! Handles of offloaded content, and how agents read it back.

use ctx_store::Hash;
use ctx_wire::envelope::Piece;

/// The tool of our MCP server that reads content back.
pub const TOOL: &str = "ctx_show";

const PREFIX: &str = "o-";
/// Digits of the hash in a handle.
const DIGITS: usize = 16;
/// Longer names of tools are not repeated in a stub.
const LONGEST_NAME: usize = 128;

/// Why nothing is offloaded.
pub const UNREADABLE: &str = "its agent could not read it back: its requests offer no tool `ctx_show`, and the settings do \
                              not say that it can run `ctx cat`";

/// The handle of a text: the same on every daemon.
pub fn of(text: &str) -> String {
    let hash = Hash::of(text.as_bytes()).to_string();
    format!("{PREFIX}{}", hash.get(..DIGITS).unwrap_or_default())
}

pub fn is_handle(name: &str) -> bool {
    let digits = name.strip_prefix(PREFIX).unwrap_or_default();
    digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The ways in which agents read content in the store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Handles {
    /// They can run `ctx cat`.
    pub by_command: bool,
}

/// The way in which one agent reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadsBack<'c> {
    /// With this tool, as its request names it.
    Tool(&'c str),
    /// With `ctx cat` in this conversation.
    Command(&'c str),
}

impl Handles {
    /// How the agent of a conversation reads; `None` if it cannot.
    pub fn reader<'c>(self, conversation: &'c str, tools: Option<&'c [Piece]>) -> Option<ReadsBack<'c>> {
        let tool = tools.into_iter().flatten().map(|tool| &*tool.name).find(|name| is_ours(name));
        tool.map(ReadsBack::Tool).or_else(|| self.by_command.then_some(ReadsBack::Command(conversation)))
    }
}

impl ReadsBack<'_> {
    /// The sentence that tells the agent.
    pub fn sentence(self, handle: &str) -> String {
        match self {
            Self::Tool(tool) => format!("Read it with the tool {tool}, id {handle}."),
            Self::Command(conversation) => format!("Read it with `ctx cat {handle} --conv {conversation}`."),
        }
    }
}

/// Whether a tool is ours. Clients put the name of the server before it.
pub fn is_ours(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let server = name.strip_suffix(TOOL).filter(|_| name.len() <= LONGEST_NAME && name.chars().all(is_plain));
    server.is_some_and(|server| !server.ends_with(|c: char| c.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_tool_is_known_under_the_names_that_clients_give_it() {
        for name in ["ctx_show", "mcp__ctx__ctx_show", "ctx.ctx_show", "mcp__my-ctx__ctx_show"] {
            assert!(is_ours(name), "{name}");
        }
        let long = format!("{}_ctx_show", "x".repeat(200));
        for name in
            ["", "show", "notctx_show", "ctx_show_all", "mcp__ctx__ctx_list", "a b_ctx_show", "`x`_ctx_show", &long]
        {
            assert!(!is_ours(name), "{name}");
        }
    }
}
