//! The codes of the MCP server itself, by name. They occur in the answer of a tool, which has no status.

use super::{Explanation, other};
use ctx_core::ErrorCode::*;

pub(super) const CODES: &[Explanation] = &[
    other(BadAction, "there is no such action", "Use an action from the tool's schema."),
    other(BadArguments, "the arguments are not what the tool takes", "Compare them with the tool's schema."),
    other(BadOperation, "an operation is not understood", "Compare it with the schema of `ctx_preview`."),
    other(
        ExpectNeeded,
        "another conversation is changed only with the head you saw",
        "Read its head with `ctx_status`, and send it as `expect`.",
    ),
    other(
        NotAllowed,
        "the settings do not allow this operation",
        "Use an allowed operation, or ask the person to allow it in `[mcp]`.",
    ),
    other(
        NotThroughCtx,
        "the agent's own conversation does not pass through this daemon",
        "Start the agent through ctx, or name a conversation with `conv`.",
    ),
    other(
        NotUnderstood,
        "the daemon's answer could not be read",
        "Client and daemon may have different versions; compare them.",
    ),
    other(
        ReadOnly,
        "the MCP server may only read, or a file or folder is read-only",
        "Ask the person to change `[mcp] read_only`, or make the file writable.",
    ),
    other(UnknownResource, "there is no such resource", "List the resources."),
    other(UnknownTool, "there is no such tool", "List the tools."),
];
