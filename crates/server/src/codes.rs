//! Every error code with its meaning and what to do about it. Codes are for programs and never change; the words beside
//! them may. A test compares this list with the source, and another with `docs/api.md`.

use http::StatusCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    pub code: &'static str,
    pub status: StatusCode,
    /// When it is given.
    pub meaning: &'static str,
    /// What to do about it.
    pub advice: &'static str,
}

const fn code(status: StatusCode, code: &'static str, meaning: &'static str, advice: &'static str) -> Code {
    Code { code, status, meaning, advice }
}

/// A code outside the control API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Other {
    pub code: &'static str,
    pub meaning: &'static str,
    pub advice: &'static str,
}

const fn other(code: &'static str, meaning: &'static str, advice: &'static str) -> Other {
    Other { code, meaning, advice }
}

const BAD: StatusCode = StatusCode::BAD_REQUEST;
const UNKNOWN: StatusCode = StatusCode::NOT_FOUND;
const CONFLICT: StatusCode = StatusCode::CONFLICT;
/// Understood, but impossible in this conversation.
const UNFIT: StatusCode = StatusCode::UNPROCESSABLE_ENTITY;
const OURS: StatusCode = StatusCode::INTERNAL_SERVER_ERROR;

/// The codes of the control API, by status and then by name.
pub const API: &[Code] = &[
    code(BAD, "ambiguous-commit", "the start of an id matches several commits", "Use more characters of the id."),
    code(
        BAD,
        "ambiguous-conversation",
        "a name matches several conversations",
        "Use the id, or more words of the title.",
    ),
    code(BAD, "ambiguous-id", "one frame is needed, and several are named", "Name exactly one frame."),
    code(
        BAD,
        "bad-content",
        "the provider would refuse this content, or refuse it in this place",
        "Correct the content; the message names the part and the rule.",
    ),
    code(
        BAD,
        "bad-cut",
        "there is nothing to split at this position",
        "Split before a message or step inside the frame.",
    ),
    code(
        BAD,
        "bad-file",
        "not an exported conversation, or a damaged one; the message says where",
        "Export the conversation again.",
    ),
    code(BAD, "bad-name", "a branch or tag cannot have this name", "Use letters, digits, `-`, `_`, `.` and `/`."),
    code(BAD, "bad-number", "a plan has no operation with this number", "Operations are counted from 1."),
    code(BAD, "bad-query", "a search without a word", "Give at least one word."),
    code(BAD, "bad-range", "a range that ends before it starts", "Swap the two ends."),
    code(
        BAD,
        "bad-request",
        "the query or the body is not what this path takes",
        "Compare it with the OpenAPI description; the message names the field.",
    ),
    code(BAD, "bad-role", "a message with this role cannot be added", "Use `user` or `assistant`."),
    code(
        StatusCode::UNAUTHORIZED,
        "token-needed",
        "the request has no token",
        "Send the daemon's token as a bearer token, or open the page with its link.",
    ),
    code(
        StatusCode::UNAUTHORIZED,
        "token-wrong",
        "the token belongs to another daemon",
        "Read the token from the home of the daemon you are calling.",
    ),
    code(
        StatusCode::FORBIDDEN,
        "cross-site",
        "a web page of another site is asking",
        "Use a program on this machine, or the daemon's own page.",
    ),
    code(
        StatusCode::FORBIDDEN,
        "foreign-host",
        "the request is addressed to another host name",
        "Use the address that the daemon listens on.",
    ),
    code(
        UNKNOWN,
        "no-conversation",
        "no conversation has been recorded yet",
        "Point an agent at the daemon and send one message.",
    ),
    code(UNKNOWN, "unknown-branch", "no branch has this name", "List the branches and use one of their names."),
    code(
        UNKNOWN,
        "unknown-commit",
        "no commit, tag or branch has this name",
        "List the history; commits may have been made on another branch.",
    ),
    code(
        UNKNOWN,
        "unknown-conversation",
        "no conversation has this name, or it was purged",
        "List the conversations and use an id.",
    ),
    code(
        UNKNOWN,
        "unknown-id",
        "no frame, step, message or block has this id",
        "List the frames; ids can change when the client rewinds or compacts.",
    ),
    code(
        UNKNOWN,
        "unknown-job",
        "the daemon knows no such job",
        "Jobs are forgotten when the daemon restarts; start it again.",
    ),
    code(
        UNKNOWN,
        "unknown-path",
        "the API has no such path",
        "Client and daemon may have different versions; compare them.",
    ),
    code(
        UNKNOWN,
        "unknown-request",
        "no request has this name, or no answer to it is recorded",
        "List the timeline, which shows the names.",
    ),
    code(UNKNOWN, "unknown-rule", "no rule or error code has this name", "List all of them, and use one of the names."),
    code(UNKNOWN, "unknown-tag", "no tag has this name", "List the tags and use one of their names."),
    code(
        UNKNOWN,
        "unknown-wish",
        "this conversation has no pending change with this name",
        "List the pending changes.",
    ),
    code(
        StatusCode::METHOD_NOT_ALLOWED,
        "wrong-method",
        "the path does not take this method",
        "Client and daemon may have different versions; compare them.",
    ),
    code(CONFLICT, "busy", "the other conversation is in use right now", "Try again in a moment."),
    code(
        CONFLICT,
        "credential",
        "the request body contains a credential, which is never stored",
        "Remove the credential from the conversation.",
    ),
    code(
        CONFLICT,
        "helper-cancelled",
        "the job was cancelled; nothing has changed",
        "Start it again if you still want it.",
    ),
    code(
        CONFLICT,
        "incomplete",
        "the conversation is not completely stored",
        "Let the agent send its next request; that completes it.",
    ),
    code(
        CONFLICT,
        "not-rebuilt",
        "the exact body of this request cannot be rebuilt; the message says why",
        "Look at the rest of the request: its size, its edits and its answer are recorded.",
    ),
    code(
        CONFLICT,
        "stale",
        "the head is not the expected one: someone committed in the meantime",
        "Look at the new commits, then retry with the new head.",
    ),
    code(
        CONFLICT,
        "taken",
        "a branch or tag with this name exists already",
        "Choose another name, or delete the old one.",
    ),
    code(
        StatusCode::PAYLOAD_TOO_LARGE,
        "too-large",
        "the request would be larger than the provider accepts",
        "Write less, or delete or offload something large in the same batch.",
    ),
    code(UNFIT, "combined", "the frame is now part of a combined one", "Name the combined frame, or split it first."),
    code(
        UNFIT,
        "current-branch",
        "the branch is checked out, so it cannot be deleted",
        "Check out another branch first.",
    ),
    code(UNFIT, "cuts-a-pair", "a tool call and its result would be separated", "Cut at a step boundary."),
    code(
        UNFIT,
        "does-not-fit",
        "several operations of a plan cannot be made; the message says which and why",
        "Correct or remove those operations.",
    ),
    code(UNFIT, "empty", "a text without a visible character", "Write something, or delete the target."),
    code(
        UNFIT,
        "gone",
        "nothing of the target is left: an earlier edit removed it",
        "Revert the commit that removed it, or name something else.",
    ),
    code(UNFIT, "healthy", "there is nothing to heal", "The provider accepted the last request; nothing to do."),
    code(
        UNFIT,
        "helper-budget",
        "the helper has used up today's token budget",
        "Wait until tomorrow, raise the budget, or write the summary yourself.",
    ),
    code(
        UNFIT,
        "helper-settings",
        "the helper is not set up, or its key is missing",
        "Set up `[helper]`, or write the text yourself.",
    ),
    code(
        UNFIT,
        "history-elsewhere",
        "the provider keeps the history, and requests carry only what is new",
        "Have the agent send the whole history with every request.",
    ),
    code(UNFIT, "inactive", "the commit is already switched off", "Nothing to do; redo switches it on again."),
    code(
        UNFIT,
        "left",
        "the client has left this frame behind: it is from before a compaction, or rewound",
        "Import the frame from its own conversation to bring a copy back.",
    ),
    code(
        UNFIT,
        "many-images",
        "more images and documents than the provider accepts",
        "Delete some first, or add only their text.",
    ),
    code(
        UNFIT,
        "many-questions",
        "more summaries at once than the helper is asked for",
        "Name fewer frames, or give the text yourself.",
    ),
    code(
        UNFIT,
        "many-results",
        "one text is given for several tool results",
        "Name one result, or leave the text out.",
    ),
    code(UNFIT, "needed", "later commits depend on this one", "Revert those first, or revert all of them together."),
    code(
        UNFIT,
        "no-content",
        "not exactly one of `text` and `raw`, or neither a title nor a summary",
        "Give exactly one.",
    ),
    code(
        UNFIT,
        "no-cut",
        "no position to split at was given, or the frame has none",
        "Say before which message or step to cut, or cut at every step.",
    ),
    code(UNFIT, "no-editor", "this daemon has no automatic editor", "Switch `[context_editing]` on."),
    code(UNFIT, "no-folder", "the daemon has no folder to offload to", "Set `[offload] folder`."),
    code(UNFIT, "no-match", "nothing matches the selection", "Loosen the filter."),
    code(UNFIT, "no-name", "a phase needs a name", "Name the phase."),
    code(UNFIT, "no-phase", "no such phase is open", "List the phases; it may have ended already."),
    code(UNFIT, "no-place", "not exactly one position is given", "Give exactly one of after, start and end."),
    code(UNFIT, "no-results", "the target contains no tool results", "Name a frame or step that calls a tool."),
    code(UNFIT, "no-target", "no commit or name was given", "Name the commit, branch or tag."),
    code(UNFIT, "no-words", "there is no text to make a summary or a title from", "Write the text yourself."),
    code(UNFIT, "not-a-frame", "a whole frame is needed here", "Name the frame, not a part of it."),
    code(
        UNFIT,
        "not-a-turn",
        "the system prompt and the tools cannot be changed in this way",
        "Edit or delete their parts instead.",
    ),
    code(
        UNFIT,
        "not-first",
        "a conversation must start with the user",
        "Put something that starts with a user message first.",
    ),
    code(
        UNFIT,
        "not-offloaded",
        "there is nothing to restore",
        "Only offloaded frames, steps and results can be restored.",
    ),
    code(UNFIT, "not-text", "a text cannot take its place", "Give raw content instead."),
    code(UNFIT, "not-waiting", "the pending change has already been made or cancelled", "List the pending changes."),
    code(UNFIT, "nothing-named", "neither an id nor a filter was given", "Name something to change."),
    code(
        UNFIT,
        "nothing-to-clear",
        "all results are recent, pinned, preserved or short",
        "Nothing to do; lower the limits in the settings to clear more.",
    ),
    code(UNFIT, "nothing-to-do", "the change would have no effect", "Nothing to do."),
    code(UNFIT, "nowhere", "a frame cannot be moved behind itself", "Name another frame to move it behind."),
    code(UNFIT, "open-already", "the phase is already open", "End it first, or use another name."),
    code(UNFIT, "other-branch", "the commit is not on this branch", "Check out its branch first."),
    code(UNFIT, "ours", "an edit made the content that the provider refuses", "Undo that edit."),
    code(UNFIT, "protected", "the client cannot work without it", "Leave it, or repeat with force if you mean it."),
    code(
        UNFIT,
        "same-conversation",
        "the frame is sent already; only frames left behind are imported from the same conversation",
        "Name another conversation, or move the frame.",
    ),
    code(
        UNFIT,
        "thinking",
        "the model's thinking cannot be written",
        "Edit the text beside it, or delete the thinking.",
    ),
    code(UNFIT, "titled", "a person gave it a title, which stays", "Retitle it yourself."),
    code(UNFIT, "too-few", "at least two frames are needed", "Name another frame."),
    code(UNFIT, "too-short", "a summary would not be shorter than the original", "Leave it, or delete it."),
    code(
        UNFIT,
        "unsupported",
        "an operation that was not expected here; this is a defect",
        "Report it with the daemon's log.",
    ),
    code(
        OURS,
        "internal",
        "the daemon could not finish; this is a defect",
        "Report it with the daemon's log. Forwarding goes on.",
    ),
    code(OURS, "not-written", "a file could not be written", "Check the folder's permissions and the free space."),
    code(OURS, "store", "the store could not be read", "Run the doctor; restore a backup if the file is damaged."),
    code(
        StatusCode::BAD_GATEWAY,
        "helper-down",
        "the helper cannot be reached or is overloaded",
        "Try again, or write the text yourself.",
    ),
    code(
        StatusCode::BAD_GATEWAY,
        "helper-nonsense",
        "the helper's answer cannot be used",
        "Try again, or write the text yourself.",
    ),
    code(
        StatusCode::BAD_GATEWAY,
        "helper-refused",
        "the helper refuses the request: its key, model or limits",
        "Check the key and the model in `[helper]`.",
    ),
    code(
        StatusCode::GATEWAY_TIMEOUT,
        "helper-slow",
        "the helper did not answer in time",
        "Try again, or raise its timeout.",
    ),
    code(
        StatusCode::INSUFFICIENT_STORAGE,
        "not-stored",
        "the commit could not be stored; nothing has changed",
        "Free some disk space, then repeat.",
    ),
];

/// The MCP server's own codes. They come in a tool's answer, which has no status.
pub const MCP: &[Other] = &[
    other("bad-action", "there is no such action", "Use an action from the tool's schema."),
    other("bad-arguments", "the arguments are not what the tool takes", "Compare them with the tool's schema."),
    other("bad-operation", "an operation is not understood", "Compare it with the schema of `ctx_preview`."),
    other(
        "expect-needed",
        "another conversation is changed only with the head you saw",
        "Read its head with `ctx_status`, and send it as `expect`.",
    ),
    other(
        "not-allowed",
        "the settings do not allow this operation",
        "Use an allowed operation, or ask the person to allow it in `[mcp]`.",
    ),
    other(
        "not-through-ctx",
        "the agent's own conversation does not pass through this daemon",
        "Start the agent through ctx, or name a conversation with `conv`.",
    ),
    other(
        "not-understood",
        "the daemon's answer could not be read",
        "Client and daemon may have different versions; compare them.",
    ),
    other("read-only", "the server may only read", "Ask the person to change `[mcp] read_only`."),
    other("unknown-resource", "there is no such resource", "List the resources."),
    other("unknown-tool", "there is no such tool", "List the tools."),
];

/// What the agent is answered when the proxy itself cannot forward a request, in the header
/// `x-context-composer-error`.
pub const PROXY: &[Other] = &[
    other("address-too-long", "the request's address is too long", "Send a shorter one."),
    other(
        "edits-lost",
        "a damaged record held edits of the conversation, so nothing was sent",
        "The doctor names the record. The next edit goes on without the lost ones.",
    ),
    other("headers-too-large", "the request has too many or too long headers", "Send fewer or shorter ones."),
    other(
        "malformed-request",
        "the request is not well-formed HTTP/1.1",
        "Check the client, and that it speaks http, not https.",
    ),
    other(
        "navigation",
        "a browser opened an address that is for programs",
        "Open the link of the page to see your conversations.",
    ),
    other(
        "no-such-upstream",
        "a path `/to/NAME/` names an upstream that is not set",
        "Add it with `--upstream NAME=URL` or in ctx.toml.",
    ),
    other(
        "no-tunnels",
        "the client uses the daemon as an HTTPS proxy",
        "Use the daemon's address as the base URL, not as HTTPS_PROXY.",
    ),
    other(
        "no-websocket",
        "the client asked for a WebSocket",
        "Clients that speak HTTP too come back with HTTP requests.",
    ),
    other(
        "not-composed",
        "the edits of the conversation could not be applied, so nothing was sent",
        "Try again; if it stays, undo the newest edit.",
    ),
    other("request-broken", "the request body ended early or is not well framed", "Send it again."),
    other("request-stalled", "the request body stopped before its end", "Send it again."),
    other(
        "store-unavailable",
        "the store cannot be read, so the edits of the conversation cannot be applied",
        "Try again; the doctor shows what is wrong with the store.",
    ),
    other(
        "too-many-connections",
        "the daemon has no file handle left for another connection",
        "Try again when others are done, or start it with a higher limit (`ulimit -n`).",
    ),
    other(
        "unreadable-request",
        "the request of an edited conversation cannot be read, so its edits cannot be applied",
        "Check that the body is a JSON request in the encoding that its header names.",
    ),
    other(
        "upstream-closed",
        "the provider closed the connection without an answer",
        "Try again; the request may have reached the provider.",
    ),
    other("upstream-unreachable", "the provider cannot be reached", "Check the network and the upstream's address."),
];

/// The status of a code. One that the list lacks is a defect that a test finds.
pub fn status_of(code: &str) -> StatusCode {
    API.iter().find(|known| known.code == code).map_or(UNFIT, |known| known.status)
}

#[cfg(test)]
mod tests;
