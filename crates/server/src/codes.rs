//! Every code that a refusal can have, in one list. Codes are for programs and stay what they are; the words beside
//! them may change. A test compares this list with the source, and another with `docs/api.md`.

use http::StatusCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    pub code: &'static str,
    pub status: StatusCode,
    /// When it is said.
    pub meaning: &'static str,
}

const fn code(status: StatusCode, code: &'static str, meaning: &'static str) -> Code {
    Code { code, status, meaning }
}

const BAD: StatusCode = StatusCode::BAD_REQUEST;
const UNKNOWN: StatusCode = StatusCode::NOT_FOUND;
const CONFLICT: StatusCode = StatusCode::CONFLICT;
/// It was understood, and cannot be done to this conversation.
const UNFIT: StatusCode = StatusCode::UNPROCESSABLE_ENTITY;
const OURS: StatusCode = StatusCode::INTERNAL_SERVER_ERROR;

/// What the control API says, by status, and then by name.
pub const API: &[Code] = &[
    code(BAD, "ambiguous-commit", "the beginning of an id fits several commits"),
    code(BAD, "ambiguous-conversation", "a name fits several conversations"),
    code(BAD, "ambiguous-id", "one frame is needed, and several are named"),
    code(BAD, "bad-content", "content that the provider would not take, or not in this place"),
    code(BAD, "bad-cut", "there is nothing to split at this place"),
    code(BAD, "bad-file", "no exported conversation, or a damaged one; it says where"),
    code(BAD, "bad-name", "a branch or a tag cannot have this name"),
    code(BAD, "bad-number", "a plan has no operation of this number"),
    code(BAD, "bad-query", "a search without a word"),
    code(BAD, "bad-range", "a range whose end is before its beginning"),
    code(BAD, "bad-request", "the query or the body is not what the path takes"),
    code(BAD, "bad-role", "a message of this role cannot be added"),
    code(StatusCode::UNAUTHORIZED, "token-needed", "the request has no token"),
    code(StatusCode::UNAUTHORIZED, "token-wrong", "the token is not that of this daemon"),
    code(StatusCode::FORBIDDEN, "cross-site", "a web page of another site is asking"),
    code(StatusCode::FORBIDDEN, "foreign-host", "the request is addressed to another host name"),
    code(UNKNOWN, "no-conversation", "no conversation has passed yet"),
    code(UNKNOWN, "unknown-branch", "no branch has this name"),
    code(UNKNOWN, "unknown-commit", "no commit, tag or branch has this name"),
    code(UNKNOWN, "unknown-conversation", "no conversation has this name, or it is gone"),
    code(UNKNOWN, "unknown-id", "no frame, step, message or block has this id"),
    code(UNKNOWN, "unknown-job", "the daemon knows no such job"),
    code(UNKNOWN, "unknown-path", "the API has no such path"),
    code(UNKNOWN, "unknown-request", "no answer to a request of this number is known"),
    code(UNKNOWN, "unknown-tag", "no tag has this name"),
    code(UNKNOWN, "unknown-wish", "no wish of this conversation has this name"),
    code(StatusCode::METHOD_NOT_ALLOWED, "wrong-method", "the path does not take this method"),
    code(CONFLICT, "credential", "the request has a credential in its body, which is never stored"),
    code(CONFLICT, "helper-cancelled", "somebody stopped it; nothing has changed"),
    code(CONFLICT, "incomplete", "the conversation is not completely stored"),
    code(CONFLICT, "stale", "the head is not the expected one: somebody made a commit meanwhile"),
    code(CONFLICT, "taken", "there is a branch or a tag of this name already"),
    code(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "the request is larger than the provider would take"),
    code(UNFIT, "combined", "the frame is a part of another one now"),
    code(UNFIT, "current-branch", "the branch that is looked at cannot be removed"),
    code(UNFIT, "cuts-a-pair", "a tool call and its result would be parted"),
    code(UNFIT, "does-not-fit", "several operations of a plan cannot be made; it says which and why"),
    code(UNFIT, "empty", "a text without a letter"),
    code(UNFIT, "gone", "nothing of it is left: it was taken out before"),
    code(UNFIT, "healthy", "there is nothing to heal"),
    code(UNFIT, "helper-budget", "the helper has used up its tokens of today"),
    code(UNFIT, "helper-settings", "the helper is not set up, or its key is missing"),
    code(UNFIT, "inactive", "the commit is switched off already"),
    code(UNFIT, "many-images", "more images than the provider takes"),
    code(UNFIT, "many-questions", "more summaries are wanted at once than a helper is asked for"),
    code(UNFIT, "many-results", "one text is given for several tool results"),
    code(UNFIT, "needed", "other commits stand on this one"),
    code(UNFIT, "no-content", "not exactly one of `text` and `raw`, or neither a title nor a summary"),
    code(UNFIT, "no-cut", "it is not said where to split"),
    code(UNFIT, "no-editor", "there is no automatic editor in this daemon"),
    code(UNFIT, "no-folder", "the daemon has no folder to offload to"),
    code(UNFIT, "no-match", "nothing fits what is selected"),
    code(UNFIT, "no-name", "a phase needs a name"),
    code(UNFIT, "no-phase", "no such phase of the work is open"),
    code(UNFIT, "no-place", "not exactly one place is given"),
    code(UNFIT, "no-results", "there are no tool results in it"),
    code(UNFIT, "no-target", "it is not said which commit or name is meant"),
    code(UNFIT, "no-words", "there are no words to make a summary or a title of"),
    code(UNFIT, "not-a-frame", "a whole frame is needed here"),
    code(UNFIT, "not-a-turn", "the system prompt and the tools cannot be changed in this way"),
    code(UNFIT, "not-first", "a conversation has to begin with the user"),
    code(UNFIT, "not-offloaded", "there is nothing to restore"),
    code(UNFIT, "not-text", "a text cannot stand in its place"),
    code(UNFIT, "not-waiting", "the wish was made or cancelled already"),
    code(UNFIT, "nothing-named", "neither an id nor a filter is given"),
    code(UNFIT, "nothing-to-clear", "all results are recent, pinned, preserved or short"),
    code(UNFIT, "nothing-to-do", "it is so already"),
    code(UNFIT, "nowhere", "a frame cannot be moved behind itself"),
    code(UNFIT, "open-already", "the phase is open already"),
    code(UNFIT, "other-branch", "the commit is not on this branch"),
    code(UNFIT, "ours", "what the provider refuses was made by an edit: take that back"),
    code(UNFIT, "protected", "the client cannot do without it; `force` all the same"),
    code(UNFIT, "same-conversation", "frames are imported from another conversation"),
    code(UNFIT, "thinking", "the model's thinking cannot be written"),
    code(UNFIT, "titled", "somebody gave it a title, and that one stays"),
    code(UNFIT, "too-few", "at least two frames are needed"),
    code(UNFIT, "too-short", "a summary would not be shorter"),
    code(UNFIT, "unsupported", "an operation that was not expected here; a defect"),
    code(OURS, "internal", "the daemon could not finish; a defect"),
    code(OURS, "not-written", "a file could not be written"),
    code(OURS, "store", "the store could not be read"),
    code(StatusCode::BAD_GATEWAY, "helper-down", "the helper cannot be reached, or has no time"),
    code(StatusCode::BAD_GATEWAY, "helper-nonsense", "what the helper answered cannot be used"),
    code(
        StatusCode::BAD_GATEWAY,
        "helper-refused",
        "the helper does not take the request: its key, its model, its limits",
    ),
    code(StatusCode::GATEWAY_TIMEOUT, "helper-slow", "the helper did not answer in time"),
    code(StatusCode::INSUFFICIENT_STORAGE, "not-stored", "the commit could not be stored; nothing has changed"),
];

/// What the MCP server says besides. It comes in a tool's answer, which has no status.
#[cfg_attr(not(test), allow(dead_code))]
pub const MCP: &[(&str, &str)] = &[
    ("bad-action", "there is no such action"),
    ("bad-arguments", "the arguments are not what the tool takes"),
    ("bad-operation", "an operation is not understood"),
    ("expect-needed", "somebody else's conversation is changed only with the head that was seen"),
    ("not-allowed", "the operation is not on the list of those that are allowed"),
    ("not-through-ctx", "the agent's own conversation does not pass through this daemon"),
    ("not-understood", "the daemon's answer could not be read"),
    ("read-only", "the server may only look"),
    ("unknown-resource", "there is no such resource"),
    ("unknown-tool", "there is no such tool"),
];

/// The status of a code. One that the list lacks is a defect that a test finds.
pub fn status_of(code: &str) -> StatusCode {
    API.iter().find(|known| known.code == code).map_or(UNFIT, |known| known.status)
}

#[cfg(test)]
mod tests;
