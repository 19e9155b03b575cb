//! Rules that only an editor can break, and the provider's state for them.

use crate::fake_provider::json::{Fields, object, text};
use crate::fake_provider::request::{Message, Request, is_thinking, kind_of, without_mark};
use crate::fake_provider::validate::is_paused;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// The state from earlier requests and answers.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// The number of thinking blocks in the answer that contains this signature.
    thoughts: HashMap<String, usize>,
    /// Tools added in the middle of a conversation, with their owner: elsewhere they may be ordinary tools.
    tools: HashSet<(String, String)>,
    /// Calls of the provider.
    calls: HashSet<String>,
    /// Paused answers, by their running call: their content, and their tools.
    paused: HashMap<String, (Vec<Value>, Vec<Value>)>,
    /// The tools of the current request.
    tools_now: Vec<Value>,
}

impl Memory {
    pub(super) fn asked(&mut self, request: &Request<'_>) {
        self.tools_now = request.tools.iter().map(|tool| bare(tool)).collect();
        let whose = whose(request);
        // A tool that is there from the start is an ordinary one.
        for name in request.tools.iter().filter_map(|tool| text(tool, "name")) {
            self.tools.remove(&(whose.clone(), name.to_owned()));
        }
        let blocks = request.messages.iter().flat_map(|message| &message.blocks);
        let added = blocks.filter(|block| kind_of(block) == Some("tool_addition"));
        let defined = added.filter_map(|block| changed(block)).filter(|(_, defined)| *defined);
        self.tools.extend(defined.map(|(name, _)| (whose.clone(), name)));
    }

    pub(super) fn answered(&mut self, blocks: &[Value]) {
        let thoughts: Vec<&Fields> = blocks.iter().filter_map(Value::as_object).filter(|b| is_thinking(b)).collect();
        if let Some(id) = under_way(blocks) {
            self.paused.insert(id, (said(blocks.iter().filter_map(Value::as_object)), self.tools_now.clone()));
        }
        let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
        self.calls.extend(calls.filter_map(|call| call["id"].as_str().map(str::to_owned)));
        self.thoughts.extend(thoughts.iter().filter_map(|block| Some((signature(block)?.to_owned(), thoughts.len()))));
    }
}

pub(super) fn check(request: &Request<'_>, memory: &Memory) -> Result<(), String> {
    server_pairs(request)?;
    fallbacks(request)?;
    changes(request, memory)?;
    latest_thinking(request, memory)?;
    paused(request, memory)?;
    pages(request)?;
    match object(request.body, "thinking").and_then(|thinking| text(thinking, "type")) {
        Some("enabled") => open_loop(request),
        _ => Ok(()),
    }
}

/// A block or a tool without its breakpoint.
fn bare(fields: &Fields) -> Value {
    without_mark(fields).map(|(key, value)| (key.clone(), value.clone())).collect::<Fields>().into()
}

/// The content, without thinking and breakpoints.
fn said<'b>(blocks: impl Iterator<Item = &'b Fields>) -> Vec<Value> {
    blocks.filter(|block| !is_thinking(block)).map(bare).collect()
}

/// The provider's tool call at which an answer stopped, if it waits for nothing from the client.
fn under_way(blocks: &[Value]) -> Option<String> {
    let found = |call: &Value| blocks.iter().any(|block| block["tool_use_id"] == call["id"]);
    let calls_client = blocks.iter().any(|block| block["type"] == "tool_use");
    let call = blocks.iter().find(|block| block["type"] == "server_tool_use" && !found(block));
    call.filter(|_| !calls_client)?["id"].as_str().map(str::to_owned)
}

/// A paused answer comes back unchanged, with the same tools (A44).
fn paused(request: &Request<'_>, memory: &Memory) -> Result<(), String> {
    let Some(last) = request.spoken().next_back().filter(|last| is_paused(last)) else { return Ok(()) };
    let calls = last.blocks.iter().filter(|block| kind_of(block) == Some("server_tool_use"));
    let known = calls.filter_map(|call| memory.paused.get(text(call, "id")?)).next();
    let Some((answer, tools)) = known else { return Ok(()) };
    if said(last.blocks.iter().map(AsRef::as_ref)) != *answer {
        return Err("the paused answer was modified: resend it unchanged".into());
    }
    match request.tools.iter().map(|tool| bare(tool)).eq(tools.iter().cloned()) {
        true => Ok(()),
        false => Err("tools changed while an answer is paused".into()),
    }
}

/// The limit of PDF pages in total (A83).
fn pages(request: &Request<'_>) -> Result<(), String> {
    let most = if text(request.body, "model").is_some_and(|model| model.contains("-4-5")) { 100 } else { 600 };
    let count = |block: &Fields| {
        let source = object(block, "source").filter(|source| text(source, "media_type") == Some("application/pdf"));
        let data = source.and_then(|source| STANDARD.decode(text(source, "data")?).ok());
        data.map_or(0, |data| String::from_utf8_lossy(&data).matches("/Type /Page ").count())
    };
    let blocks = request.messages.iter().flat_map(|message| &message.blocks);
    match blocks.map(|block| count(block)).sum::<usize>() {
        many if many > most => Err(format!("A maximum of {most} PDF pages may be provided. Found {many}.")),
        _ => Ok(()),
    }
}

/// The model and the session of a request.
fn whose(request: &Request<'_>) -> String {
    let session = object(request.body, "metadata").and_then(|metadata| text(metadata, "user_id")).unwrap_or_default();
    format!("{} {session}", text(request.body, "model").unwrap_or_default())
}

fn signature(block: &Fields) -> Option<&str> {
    text(block, "signature").or_else(|| text(block, "data"))
}

fn is_result(block: &Fields) -> bool {
    kind_of(block) == Some("tool_result")
}

fn is_server_result(block: &Fields) -> bool {
    kind_of(block).is_some_and(|kind| kind.ends_with("_tool_result"))
}

/// Each call of a provider's tool has its result in the same assistant turn (A40). One that waits for client tools has
/// it in the next one, and the user sends only results in between (A46).
fn server_pairs(request: &Request<'_>) -> Result<(), String> {
    let mut open: Vec<(&str, usize)> = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    let (mut turn, mut last) = (0, "");
    for (at, message) in request.messages.iter().enumerate() {
        let role = message.role.unwrap_or_default();
        if role != "assistant" {
            if let Some((id, _)) = open.iter().find(|(_, of)| *of < turn) {
                return Err(format!("messages.{at}: `{id}` without a corresponding result"));
            }
            let only_results = role == "user" && message.blocks.iter().all(|block| is_result(block));
            if !open.is_empty() && !only_results && !message.blocks.is_empty() {
                return Err(format!("messages.{at}: {open:?} wait, and only tool results may follow"));
            }
            if !message.blocks.is_empty() {
                last = role;
            }
            continue;
        }
        turn += usize::from(last != "assistant");
        last = "assistant";
        for block in &message.blocks {
            if kind_of(block) == Some("server_tool_use") {
                let id = text(block, "id").unwrap_or_default();
                if !id.starts_with("srvtoolu_") {
                    return Err(format!("messages.{at}: server_tool_use.id: `{id}` should match '^srvtoolu_'"));
                }
                if seen.contains(&id) {
                    return Err(format!("messages.{at}: `server_tool_use` ids must be unique: {id}"));
                }
                open.push((id, turn));
                seen.push(id);
            } else if is_server_result(block) {
                let id = text(block, "tool_use_id").unwrap_or_default();
                if block.get("content").is_some_and(Value::is_string) {
                    return Err(format!(
                        "messages.{at}: the content of what a tool of the provider found is no text: {id}"
                    ));
                }
                let Some(call) = open.iter().position(|(other, _)| *other == id) else {
                    return Err(format!("messages.{at}: unexpected `tool_use_id` in a result: {id}"));
                };
                open.remove(call);
            }
        }
    }
    match open.iter().find(|(_, of)| *of < turn) {
        Some((id, _)) => Err(format!("`{id}` without a corresponding result")),
        None => Ok(()),
    }
}

/// Thinking and calls of a model that gave up are not sent again, and the mark is not an answer by itself (A48).
fn fallbacks(request: &Request<'_>) -> Result<(), String> {
    for (at, message) in request.messages.iter().enumerate() {
        let is_mark = |block: &Fields| kind_of(block) == Some("fallback");
        let Some(last) = message.blocks.iter().rposition(|block| is_mark(block)) else { continue };
        let of_the_first = |block: &Fields| is_thinking(block) || kind_of(block) == Some("tool_use");
        if message.role != Some("assistant") || message.blocks[..last].iter().any(|block| of_the_first(block)) {
            return Err(format!("messages.{at}: `fallback` behind thinking or a call, or not the assistant's"));
        }
        if message.blocks.iter().all(|block| is_mark(block) || is_thinking(block)) {
            return Err(format!("messages.{at}: nothing but a `fallback`"));
        }
    }
    Ok(())
}

/// The tool that a block adds or removes, and whether the block contains its definition.
fn changed(block: &Fields) -> Option<(String, bool)> {
    let tool = object(block, "tool")?;
    match object(tool, "definition") {
        Some(definition) => Some((text(definition, "name")?.to_owned(), true)),
        None => Some((text(tool, "name")?.to_owned(), false)),
    }
}

/// A tool exists before it is used, offered or removed (A23), and no change of tools follows the assistant.
fn changes(request: &Request<'_>, memory: &Memory) -> Result<(), String> {
    let names = request.tools.iter().filter_map(|tool| text(tool, "name"));
    let mut known: HashSet<String> = names.map(str::to_owned).collect();
    let whose = whose(request);
    let mut last = "";
    for (at, message) in request.messages.iter().enumerate() {
        for block in &message.blocks {
            let unresolved = |name: &str| Err(format!("messages.{at}: tool_reference_unresolved: {name}"));
            match (kind_of(block), changed(block)) {
                (Some("tool_addition" | "tool_removal"), _) if last != "user" => {
                    return Err(format!("messages.{at}: a change of tools follows a user message"));
                }
                (Some("tool_addition"), Some((name, true))) => drop(known.insert(name)),
                (Some("tool_addition" | "tool_removal"), Some((name, _))) if !known.contains(&name) => {
                    return unresolved(&name);
                }
                (Some("tool_use"), _) => {
                    let name = text(block, "name").unwrap_or_default();
                    let is_own = text(block, "id").is_some_and(|id| memory.calls.contains(id));
                    if is_own && memory.tools.contains(&(whose.clone(), name.to_owned())) && !known.contains(name) {
                        return unresolved(name);
                    }
                }
                _ => {}
            }
        }
        if let Some(role @ ("user" | "assistant")) = message.role {
            last = role;
        }
    }
    Ok(())
}

/// The latest answer has either all its thinking or none (A51).
fn latest_thinking(request: &Request<'_>, memory: &Memory) -> Result<(), String> {
    let latest = request.messages.iter().rfind(|message| message.role == Some("assistant"));
    let thoughts: Vec<&str> = latest
        .iter()
        .flat_map(|message| &message.blocks)
        .filter(|block| is_thinking(block))
        .filter_map(|block| signature(block))
        .collect();
    let is_part = |signature: &&str| memory.thoughts.get(*signature).is_some_and(|all| *all != thoughts.len());
    match thoughts.iter().any(is_part) {
        true => Err("`thinking` blocks in the latest assistant message cannot be modified".into()),
        false => Ok(()),
    }
}

/// While results come last, the first and the last answer of the loop begin with thinking (A55).
fn open_loop(request: &Request<'_>) -> Result<(), String> {
    let spoken: Vec<&Message<'_>> = request.spoken().collect();
    let Some(last) = spoken.last().filter(|last| last.role == Some("user") && last.has("tool_result")) else {
        return Ok(());
    };
    let mut answers: Vec<&Message<'_>> = Vec::new();
    for (at, message) in spoken.iter().enumerate().rev() {
        let is_last = std::ptr::eq(*message, *last);
        if message.role == Some("user") {
            if !is_last && !message.blocks.iter().all(|block| is_result(block)) {
                break;
            }
            continue;
        }
        if at.checked_sub(1).is_none_or(|before| spoken[before].role != Some("assistant")) {
            answers.push(message);
        }
    }
    let begins = |message: &&Message<'_>| {
        message.blocks.iter().find(|block| !is_server_result(block) || is_result(block)).is_some_and(|b| is_thinking(b))
    };
    match [answers.first(), answers.last()].into_iter().flatten().all(begins) {
        true => Ok(()),
        false => {
            Err("Expected `thinking` or `redacted_thinking`: a final `assistant` message must start with it".into())
        }
    }
}
