//! The tools: names, descriptions and arguments. Every word here costs tokens in the caller's context, so there are
//! few.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::settings::{OPERATIONS, Settings, WAYS};

pub const INSTRUCTIONS: &str = "ctx shows and edits the context of this conversation. Ids: t3 is a frame (a user \
    message and everything up to the next), t3/5 its fifth step, t3#2.1 a block, t2..t5 a range. To tidy up: \
    ctx_list, choose, ctx_preview, tell the user, ctx_apply with `expect` = the head you saw. Edits apply from the \
    next request, cost one re-read from the first change on, and can be undone. Do not edit the current frame \
    unless asked.";

pub const STATUS: &str = "ctx_status";
pub const LIST: &str = "ctx_list";
pub const SHOW: &str = ctx_engine::edit::handle::TOOL;
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
            "Show your conversation and how it was selected, its tokens, head, edits, deferred edits and last cache \
             use.",
            json!({}),
        ),
        tool(
            LIST,
            "List frames with their tokens.",
            json!({
                "larger_than": {"type": "integer", "minimum": 0, "description": "only rows above this many tokens"},
                "steps_of": {"type": "string", "description": "list the steps of this frame"},
                "from": {"type": "string", "description": "start at this id (`next` of the last page)"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 250},
                "all": {"type": "boolean", "description": "include frames from before a compaction or rewind"},
            }),
        ),
        tool(
            SHOW,
            "Show a frame, step, message or block. Long blocks are folded; name a block to read all of it.",
            json!({
                "id": {"type": "string", "description": "t3, t3/5, t3#2, t3#2.1, system, tools/Bash, o-…"},
                "lines": {"type": "string", "description": "of o-…: 10-50"},
                "grep": {"type": "string", "description": "of o-…: lines with this text"},
                "from": {"type": "integer", "minimum": 0, "description": "start at this character"},
                "length": {"type": "integer", "minimum": 1, "maximum": 40000, "description": "characters, default 6000"},
            }),
        ),
        tool(
            SENT,
            "Show a request as sent, and its response.",
            json!({
                "request": {"type": "string", "description": "r17"},
                "body": {"type": "boolean", "description": "include the body, as JSON"},
                "from": {"type": "integer", "minimum": 0},
            }),
        ),
        tool(
            SEARCH,
            "Find blocks that contain all words, in any case.",
            json!({
                "text": {"type": "string", "description": "words; \"in quotes\" for a phrase"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 50},
            }),
        ),
        tool(
            PREVIEW,
            "Preview operations: tokens before and after, re-read tokens, cost, break-even, lost thinking, repairs, \
             risks.",
            json!({"operations": operations(&OPERATIONS), "expect": expect(), "when": when()}),
        ),
        tool(EXPLAIN, "Explain a rule such as A30, or an error code.", json!({"name": {"type": "string"}})),
    ];
    let looking =
        looking.into_iter().map(|tool| tool.annotate(ToolAnnotations::new().read_only(true).open_world(false)));
    let mut tools: Vec<Tool> = looking.collect();
    if settings.read_only {
        return tools;
    }
    let allowed = settings.of(&OPERATIONS);
    // One call undoes it, so it is not destructive.
    let changes = |tool: Tool| {
        tool.annotate(ToolAnnotations::new().read_only(false).destructive(false).idempotent(false).open_world(false))
    };
    if !allowed.is_empty() {
        tools.push(changes(tool(
            APPLY,
            "Apply operations as one commit, all or nothing, from the next request on. ctx_undo undoes them.",
            json!({"operations": named(&allowed), "expect": expect(), "note": note(), "when": when()}),
        )));
    }
    tools.push(changes(tool(
        UNDO,
        "Undo the newest commit, or run another history action.",
        json!({
            "action": {"enum": settings.of(&WAYS), "description": "default undo"},
            "target": {"type": "string", "description": "commit, for revert, rollback, branch and tag"},
            "name": {"type": "string", "description": "branch or tag"},
            "cascade": {"type": "boolean", "description": "also revert commits that depend on it"},
            "dry_run": {"type": "boolean", "description": "show the effect only"},
            "cancel": {"type": "string", "description": "cancel this deferred edit (w1) instead"},
            "expect": expect(),
            "note": note(),
        }),
    )));
    tools.push(changes(tool(
        PHASE,
        "Mark the beginning or end of a phase of your work, such as testing. Details of finished phases may be \
         cleared.",
        json!({
            "action": {"enum": ["begin", "end"]},
            "name": {"type": "string", "description": "for end, default the newest open phase"},
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
    properties
        .insert("conv".into(), json!({"type": "string", "description": "another conversation instead of your own"}));
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
    json!({"type": "string", "description": "the `head` you saw (`none`: no commit yet); refused if it has moved"})
}

fn when() -> Value {
    json!({"enum": ["now", "cold", "near-limit"], "description": "defer until the cache is cold (no cost) or the \
        context is nearly full"})
}

fn note() -> Value {
    json!({"type": "string", "description": "reason, for the history"})
}

/// The operations with their arguments. The JSON is that of `ctx batch`, the API and the log.
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
                    "description": "filters the ids, or the whole conversation",
                    "properties": {
                        "tool": {"type": "string"},
                        "larger_than": {"type": "integer", "description": "tokens"},
                        "older_than": {"type": "integer", "description": "skip this many newest frames"},
                        "superseded": {"type": "boolean", "description": "reads of files read again or changed later"},
                    },
                },
                "result": {"type": "string", "description": "result of this tool_use id"},
                "to": {"type": "object", "description": "{after: id} | {start: true} | {end: true}"},
                "reason": {"type": "string", "description": "reason, for the history"},
                "force": {"type": "boolean", "description": "include protected content"},
            },
        },
    })
}

/// A short form, for the second tool that takes operations.
fn named(names: &[&str]) -> Value {
    json!({
        "type": "array",
        "minItems": 1,
        "description": "as in ctx_preview",
        "items": {"type": "object", "required": ["op"], "properties": {"op": {"enum": names}}},
    })
}
