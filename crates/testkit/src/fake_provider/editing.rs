//! The API's own context editing: refusals, clearings and summaries.

use super::Options;
use super::cache::PromptCache;
use super::json::{Fields, compact, is_truthy, object, text, tokens};
use super::refusal::Refusal;
use super::request::{Request, is_thinking, kind_of};
use crate::http1::header;
use serde_json::{Value, json};

const THINKING: &str = "clear_thinking_20251015";
const TOOL_USES: &str = "clear_tool_uses_20250919";
const COMPACT: &str = "compact_20260112";
const BETA: &str = "context-management-2025-06-27";
const COMPACT_BETA: &str = "compact-2026-01-12";
const CLEARED: &str = "[cleared]";

/// The provider's editing.
#[derive(Debug, Clone, Default)]
pub struct ContextEditing {
    /// Unsupported types of edits, betas, or `context_management` itself.
    pub refuses: Vec<String>,
}

/// The outcome of editing a prompt.
#[derive(Debug, Default)]
pub(crate) struct EditedPrompt {
    /// The prompt that the model reads.
    pub(crate) body: Fields,
    pub(crate) applied: Vec<Value>,
    /// A block that replaces everything before it.
    pub(crate) summary: Option<Fields>,
}

/// The body without summary blocks: thinking is bound as if there were none.
pub(crate) fn without_summaries(body: &Fields) -> Fields {
    let mut bare = body.clone();
    for blocks in contents(&mut bare) {
        blocks.retain(|block| block["type"] != "compaction");
    }
    bare
}

pub(crate) fn edit(
    options: &Options,
    editing: &ContextEditing,
    headers: &[(String, String)],
    body: &Fields,
) -> Result<EditedPrompt, Refusal> {
    let betas = header(headers, "anthropic-beta").unwrap_or_default();
    let has = |beta: &str| betas.split(',').any(|named| named.trim() == beta);
    let unknown: Vec<&str> = editing.refuses.iter().map(String::as_str).filter(|name| has(name)).collect();
    if let Some(beta) = unknown.first() {
        return refuse(format!(
            "Unexpected value(s) `{beta}` for the `anthropic-beta` header. Please consult our documentation at \
             platform.claude.com/docs or try again without the header."
        ));
    }
    let mut edited = EditedPrompt { body: since_summary(body, has(COMPACT_BETA))?, ..EditedPrompt::default() };
    let Some(managing) = body.get("context_management").filter(|managing| !managing.is_null()) else {
        return Ok(edited);
    };
    let is_unknown = editing.refuses.iter().any(|name| name == "context_management");
    if is_unknown || !(has(BETA) || has(COMPACT_BETA)) {
        return refuse("context_management: Extra inputs are not permitted");
    }
    let managing = managing.as_object().ok_or_else(|| Refusal::NotAnObject("context_management".into()))?;
    only(managing, &["edits"], "context_management")?;
    let Some(Value::Array(edits)) = managing.get("edits") else { return Ok(edited) };
    let mut rank = 0;
    for (index, edit) in edits.iter().enumerate() {
        let place = format!("context_management.edits.{index}");
        let edit = edit.as_object().ok_or_else(|| Refusal::NotAnObject(place.clone()))?;
        let kind = text(edit, "type").unwrap_or_default();
        let known = [(THINKING, BETA), (TOOL_USES, BETA), (COMPACT, COMPACT_BETA)];
        let found = known.iter().position(|(name, beta)| *name == kind && has(beta));
        let Some(at) = found.filter(|_| !editing.refuses.iter().any(|name| name == kind)) else {
            return refuse(format!(
                "{place}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
            ));
        };
        if at < rank {
            return refuse(format!("{place}: `{kind}` must come once, and in order"));
        }
        rank = at + 1;
        match kind {
            THINKING => thinking(&mut edited, body, edit, &place)?,
            TOOL_USES => tool_uses(options, &mut edited, edit, &place)?,
            _ => summarise(options, &mut edited, edit, &place)?,
        }
    }
    Ok(edited)
}

fn refuse<T>(sentence: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Editing(sentence.into()))
}

fn only(fields: &Fields, allowed: &[&str], place: &str) -> Result<(), Refusal> {
    match fields.keys().find(|key| !allowed.contains(&key.as_str())) {
        Some(key) => refuse(format!("{place}.{key}: Extra inputs are not permitted")),
        None => Ok(()),
    }
}

/// `{"type": one of these, "value": a number}`; none if it is absent.
fn amount(edit: &Fields, key: &str, types: &[&str], place: &str) -> Result<Option<(String, u64)>, Refusal> {
    let Some(value) = edit.get(key).filter(|value| !value.is_null()) else { return Ok(None) };
    let fields = value.as_object().ok_or_else(|| Refusal::NotAnObject(format!("{place}.{key}")))?;
    only(fields, &["type", "value"], &format!("{place}.{key}"))?;
    let kind = text(fields, "type").filter(|kind| types.contains(kind));
    match (kind, fields.get("value").and_then(Value::as_u64)) {
        (Some(kind), Some(value)) => Ok(Some((kind.to_owned(), value))),
        _ => refuse(format!("{place}.{key}: Input should be a valid amount")),
    }
}

fn thinking(edited: &mut EditedPrompt, body: &Fields, edit: &Fields, place: &str) -> Result<(), Refusal> {
    only(edit, &["type", "keep"], place)?;
    let kind = object(body, "thinking").and_then(|thinking| text(thinking, "type"));
    if !matches!(kind, Some("enabled" | "adaptive")) {
        return refuse("`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive");
    }
    if edit.get("keep").is_none_or(|keep| keep == "all" || keep["type"] == "all") {
        return Ok(());
    }
    let Some((_, keep)) = amount(edit, "keep", &["thinking_turns"], place)? else { return Ok(()) };
    let is_thought = |block: &Value| block.as_object().is_some_and(is_thinking);
    let mut turns: Vec<&mut Vec<Value>> =
        contents(&mut edited.body).filter(|blocks| blocks.iter().any(is_thought)).collect();
    let gone = turns.len().saturating_sub(keep as usize);
    let mut freed = 0;
    for blocks in turns.iter_mut().take(gone) {
        freed += blocks.iter().filter(|block| is_thought(block)).map(|block| tokens(&compact(block))).sum::<u64>();
        blocks.retain(|block| !is_thought(block));
    }
    if gone > 0 {
        edited.applied.push(json!({"type": THINKING, "cleared_thinking_turns": gone, "cleared_input_tokens": freed}));
    }
    Ok(())
}

fn tool_uses(options: &Options, edited: &mut EditedPrompt, edit: &Fields, place: &str) -> Result<(), Refusal> {
    let known = ["type", "trigger", "keep", "clear_at_least", "exclude_tools", "clear_tool_inputs"];
    only(edit, &known, place)?;
    let trigger = amount(edit, "trigger", &["input_tokens", "tool_uses"], place)?;
    let keep = amount(edit, "keep", &["tool_uses"], place)?.map_or(3, |(_, value)| value as usize);
    let least = amount(edit, "clear_at_least", &["input_tokens"], place)?.map_or(0, |(_, value)| value);
    let listed = |key: &str| edit.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let (excluded, inputs) = (listed("exclude_tools"), edit.get("clear_tool_inputs").cloned().unwrap_or_default());
    let mut calls = Vec::new();
    for block in contents(&mut edited.body).flatten() {
        if block["type"] == "tool_use" {
            calls.push((block["id"].clone(), block["name"].clone()));
        }
    }
    let (kind, value) = trigger.unwrap_or_else(|| ("input_tokens".into(), 100_000));
    let reached = if kind == "tool_uses" { calls.len() as u64 } else { size(options, &edited.body) };
    if reached <= value {
        return Ok(());
    }
    calls.truncate(calls.len().saturating_sub(keep));
    calls.retain(|(_, name)| !excluded.contains(name));
    let mut cleared = edited.body.clone();
    let (mut count, mut freed) = (0, 0);
    for block in contents(&mut cleared).flatten() {
        let before = tokens(&compact(block));
        let is = |(id, name): &&(Value, Value), key: &str| block[key] == *id && !name.is_null();
        if block["type"] == "tool_result" && calls.iter().any(|call| is(&call, "tool_use_id")) {
            count += 1;
            block["content"] = CLEARED.into();
        } else if let Some((_, name)) = calls.iter().find(|call| block["type"] == "tool_use" && is(call, "id"))
            && (inputs == true || inputs.as_array().is_some_and(|names| names.contains(name)))
        {
            block["input"] = json!({});
        }
        freed += before.saturating_sub(tokens(&compact(block)));
    }
    if count > 0 && freed >= least.max(1) {
        edited.body = cleared;
        edited.applied.push(json!({"type": TOOL_USES, "cleared_tool_uses": count, "cleared_input_tokens": freed}));
    }
    Ok(())
}

fn summarise(options: &Options, edited: &mut EditedPrompt, edit: &Fields, place: &str) -> Result<(), Refusal> {
    only(edit, &["type", "trigger", "pause_after_compaction", "instructions"], place)?;
    let (_, trigger) = amount(edit, "trigger", &["input_tokens"], place)?.unwrap_or_else(|| (String::new(), 150_000));
    if trigger < 50_000 {
        return refuse(format!("{place}.trigger.value: Input should be greater than or equal to 50000"));
    }
    let size = size(options, &edited.body);
    if size > trigger {
        let content = format!("summary of {size} tokens");
        let block = json!({"type": "compaction", "content": content, "encrypted_content": "c2VhbGVk"});
        edited.summary = block.as_object().cloned();
    }
    Ok(())
}

/// The prompt from its newest summary on; earlier content is not read.
fn since_summary(body: &Fields, allowed: bool) -> Result<Fields, Refusal> {
    let mut bare = body.clone();
    let Some(Value::Array(messages)) = bare.get_mut("messages") else { return Ok(bare) };
    let is_summary = |block: &Value| block.as_object().and_then(kind_of) == Some("compaction");
    let blocks = |message: &Value| message["content"].as_array().cloned().unwrap_or_default();
    let Some(at) = messages.iter().rposition(|message| blocks(message).iter().any(is_summary)) else { return Ok(bare) };
    if !allowed {
        return refuse(format!("messages.{at}.content.0: Input tag 'compaction' found using 'type' does not match"));
    }
    if messages.iter().any(|message| message["role"] != "assistant" && blocks(message).iter().any(is_summary)) {
        return refuse("`compaction` blocks can only be in `assistant` messages");
    }
    messages.drain(..at);
    if let Some(first) = messages.first_mut().and_then(|message| message["content"].as_array_mut()) {
        let summary = first.iter().rposition(is_summary).unwrap_or(0);
        first.drain(..summary);
    }
    Ok(bare)
}

fn contents(body: &mut Fields) -> impl Iterator<Item = &mut Vec<Value>> {
    let messages = body.get_mut("messages").and_then(Value::as_array_mut);
    messages.into_iter().flatten().filter_map(|message| message.get_mut("content")?.as_array_mut())
}

fn size(options: &Options, body: &Fields) -> u64 {
    let request = Request::read(body);
    request.map_or(0, |request| PromptCache::default().account(&request, &options.volatile_system).total())
}

/// The field of the response.
pub(crate) fn report(applied: Vec<Value>) -> Value {
    json!({"applied_edits": applied})
}

pub(crate) fn is_asked(body: &Fields) -> bool {
    is_truthy(body.get("context_management"))
}
