//! The codes of the MCP server itself, by name. They occur in the answer of a tool, which has no status.

use super::{Explanation, other};
use ctx_core::ErrorCode::*;

pub(super) const CODES: &[Explanation] = &[
    other(BadAction, "the action does not exist", "Use an action from the tool's schema."),
    other(BadArguments, "the arguments do not fit the tool", "Compare them with the tool's schema."),
    other(BadOperation, "an operation cannot be parsed", "Compare it with the schema of `ctx_preview`."),
    other(
        ExpectNeeded,
        "an edit must name the head that it was planned for",
        "Get the head with `ctx_status` and pass it as `expect`.",
    ),
    other(
        NotAllowed,
        "the settings do not allow this operation",
        "Use an allowed operation, or ask the user to allow it in `[mcp]`.",
    ),
    other(
        NotThroughCtx,
        "the agent's own conversation does not pass through this daemon",
        "Start the agent with `ctx run`, or name a conversation with `conv`.",
    ),
    other(
        NotUnderstood,
        "the daemon's answer could not be read",
        "Client and daemon may have different versions; compare them.",
    ),
    other(
        ReadOnly,
        "the MCP server, a file or a folder is read-only",
        "Ask the user to change `[mcp] read_only`, or make the file writable.",
    ),
    other(UnknownResource, "the resource does not exist", "List the resources."),
    other(UnknownTool, "the tool does not exist", "List the tools."),
];
