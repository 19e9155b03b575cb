//! What the tools are called, what they are for and what they take. Every word here stands in the context of
//! whoever uses them, so there are few.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::settings::{OPERATIONS, Settings, WAYS};

pub const INSTRUCTIONS: &str = "ctx shows and edits what the model is sent: by default this very conversation. \
    Ids: t3 is a frame (a user message and all that followed), t3/5 its fifth step, t3#2.1 a block, t2..t5 a range. \
    To tidy up: ctx_list, decide, ctx_preview, tell the person, ctx_apply with `expect` = the head you saw. \
    Edits count from the next request on, cut the provider's cache where they begin, and can all be undone. \
    Leave the frame you are working in alone unless asked.";

pub const STATUS: &str = "ctx_status";
pub const LIST: &str = "ctx_list";
pub const SHOW: &str = "ctx_show";
pub const SENT: &str = "ctx_sent";
pub const SEARCH: &str = "ctx_search";
pub const PREVIEW: &str = "ctx_preview";
pub const APPLY: &str = "ctx_apply";
pub const UNDO: &str = "ctx_undo";
pub const PHASE: &str = "ctx_phase";
pub const EXPLAIN: &str = "ctx_explain";

/// The tools that are offered with these settings.
pub fn all(settings: &Settings) -> Vec<Tool> {
    let looking = [
        tool(
            STATUS,
            "Which conversation is yours and why, its tokens, head, edits and waiting wishes, and what the cache gave last.",
            json!({}),
        ),
        tool(
            LIST,
            "The frames of the conversation with their tokens, a row each.",
            json!({
                "larger_than": {"type": "integer", "minimum": 0, "description": "only rows with more tokens"},
                "steps_of": {"type": "string", "description": "list the steps of this frame instead"},
                "from": {"type": "string", "description": "begin at this id (`next` of a list that was cut)"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 250},
                "all": {"type": "boolean", "description": "also frames from before a compaction, or rewound"},
            }),
        ),
        tool(
            SHOW,
            "What a frame, step, message or block holds. Long blocks are folded; name the block to see all of it.",
            json!({
                "id": {"type": "string", "description": "t3, t3/5, t3#2, t3#2.1, system, tools/Bash"},
                "from": {"type": "integer", "minimum": 0, "description": "begin at this character"},
                "length": {"type": "integer", "minimum": 1, "maximum": 40000, "description": "characters; 6000 unless told"},
            }),
        ),
        tool(
            SENT,
            "A request as it was sent, and what came back.",
            json!({
                "request": {"type": "string", "description": "r17"},
                "body": {"type": "boolean", "description": "with its body, as JSON"},
                "from": {"type": "integer", "minimum": 0},
            }),
        ),
        tool(
            SEARCH,
            "Where words stand in the conversation, whatever their case: blocks that hold all of them.",
            json!({
                "text": {"type": "string", "description": "\"in quotes\": a phrase"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 50},
            }),
        ),
        tool(
            PREVIEW,
            "What operations would do, without doing it: tokens before and after, what the provider must read again, \
             what it costs and when it pays off, thinking that is lost, repairs, and what each puts at risk.",
            json!({"operations": operations(&OPERATIONS), "expect": expect(), "when": when()}),
        ),
        tool(
            EXPLAIN,
            "What a rule such as A30 or an error code means, and what to do about it.",
            json!({"name": {"type": "string"}}),
        ),
    ];
    let looking =
        looking.into_iter().map(|tool| tool.annotate(ToolAnnotations::new().read_only(true).open_world(false)));
    let mut tools: Vec<Tool> = looking.collect();
    if settings.read_only {
        return tools;
    }
    let allowed = settings.of(&OPERATIONS);
    // Undone with one call, so nothing is destroyed.
    let changes = |tool: Tool| {
        tool.annotate(ToolAnnotations::new().read_only(false).destructive(false).idempotent(false).open_world(false))
    };
    if !allowed.is_empty() {
        tools.push(changes(tool(
            APPLY,
            "Do operations as one commit, all or nothing. They count from the next request on; ctx_undo takes them back.",
            json!({"operations": named(&allowed), "expect": expect(), "note": note(), "when": when()}),
        )));
    }
    tools.push(changes(tool(
        UNDO,
        "Undo the newest commit, or take another step in the history of edits.",
        json!({
            "action": {"enum": settings.of(&WAYS), "description": "undo unless told"},
            "target": {"type": "string", "description": "a commit, for revert, rollback, branch and tag"},
            "name": {"type": "string", "description": "of the branch or tag"},
            "cascade": {"type": "boolean", "description": "revert also what stands on it"},
            "dry_run": {"type": "boolean", "description": "only tell what it would do"},
            "cancel": {"type": "string", "description": "a deferred edit (w1) to cancel instead"},
            "expect": expect(),
            "note": note(),
        }),
    )));
    tools.push(changes(tool(
        PHASE,
        "Say that a phase of your work begins or ends, such as testing; the details of one that has ended may be cleared.",
        json!({
            "action": {"enum": ["begin", "end"]},
            "name": {"type": "string", "description": "at the end: the newest that is open unless told"},
        }),
    )));
    tools
}

fn tool(name: &'static str, what: &'static str, properties: Value) -> Tool {
    let mut properties = match properties {
        Value::Object(properties) => properties,
        _ => JsonObject::new(),
    };
    let required: Vec<&str> = match name {
        SHOW => vec!["id"],
        SENT => vec!["request"],
        SEARCH => vec!["text"],
        PREVIEW => vec!["operations"],
        APPLY => vec!["operations", "expect"],
        UNDO => vec!["expect"],
        PHASE => vec!["action"],
        EXPLAIN => vec!["name"],
        _ => Vec::new(),
    };
    properties.insert("conv".into(), json!({"type": "string", "description": "another conversation than your own"}));
    let mut schema = JsonObject::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".into(), required.into());
    }
    schema.insert("additionalProperties".into(), false.into());
    Tool::new(name, what, Arc::new(schema))
}

fn expect() -> Value {
    json!({"type": "string", "description": "the `head` that you saw (`none`: no commit yet); if it has moved on, nothing is done"})
}

fn when() -> Value {
    json!({"enum": ["now", "cold", "near-limit"], "description": "wait until the cache is cold (the edit is free then) or the context is nearly full"})
}

fn note() -> Value {
    json!({"type": "string", "description": "why, for the history"})
}

/// The operations with all that they take. The JSON is that of `ctx batch`, the API and the log.
fn operations(names: &[&str]) -> Value {
    let known = names.iter().filter_map(|name| ctx_api::operations::find(name));
    let arguments: Vec<String> = known.map(|known| format!("{} {{{}}}", known.name, known.arguments)).collect();
    json!({
        "type": "array",
        "minItems": 1,
        "description": arguments.join("; "),
        "items": {
            "type": "object",
            "required": ["op"],
            "properties": {
                "op": {"enum": names},
                "ids": {"type": "array", "items": {"type": "string"}},
                "id": {"type": "string"},
                "text": {"type": "string"},
                "select": {
                    "type": "object",
                    "description": "narrows the ids; alone, it looks through all of the conversation",
                    "properties": {
                        "tool": {"type": "string"},
                        "larger_than": {"type": "integer", "description": "tokens"},
                        "older_than": {"type": "integer", "description": "frames back"},
                        "superseded": {"type": "boolean", "description": "reads of files that are read again or changed later"},
                    },
                },
                "result": {"type": "string", "description": "only the result of this tool use id"},
                "to": {"type": "object", "description": "{after: id} | {start: true} | {end: true}"},
                "reason": {"type": "string", "description": "why, for the history"},
                "force": {"type": "boolean", "description": "also what is protected"},
            },
        },
    })
}

/// The same in short, for the second tool that takes them.
fn named(names: &[&str]) -> Value {
    json!({
        "type": "array",
        "minItems": 1,
        "description": "as in ctx_preview",
        "items": {"type": "object", "required": ["op"], "properties": {"op": {"enum": names}}},
    })
}
