//! The provider's rules for an input, told by a checker that shares no code with the wire.

use serde_json::Value;
use std::collections::{HashMap, HashSet};

fn kind(item: &Value) -> &str {
    item["type"].as_str().unwrap_or(if item["role"].is_string() { "message" } else { "" })
}

fn id(item: &Value) -> Option<&str> {
    item["id"].as_str()
}

fn is_message_of(item: &Value, roles: &[&str]) -> bool {
    kind(item) == "message" && item["role"].as_str().is_some_and(|role| roles.contains(&role))
}

/// Each type of call with the type of its results (R16).
const FAMILIES: [(&str, &str); 6] = [
    ("function_call", "function_call_output"),
    ("local_shell_call", "function_call_output"),
    ("custom_tool_call", "custom_tool_call_output"),
    ("shell_call", "shell_call_output"),
    ("apply_patch_call", "apply_patch_call_output"),
    ("computer_call", "computer_call_output"),
];

fn answer_to(call: &str) -> Option<&'static str> {
    FAMILIES.iter().find(|(known, _)| *known == call).map(|(_, output)| *output)
}

/// The first rule that the input of `sent` breaks. What the client's own `source` breaks is not counted where it may
/// have been sent on as it came.
pub fn check(sent: &Value, source: &Value) -> Result<(), String> {
    let items = sent["input"].as_array().ok_or("no input")?;
    let own = source["input"].as_array().ok_or("no source")?;
    if items.is_empty() {
        return Err("R9: the input is empty".to_owned());
    }
    for (at, item) in items.iter().enumerate() {
        shape(item).map_err(|error| format!("{error} at {at}: {item}"))?;
    }
    pairs(items)?;
    ids(items)?;
    followers(items, own)?;
    reasoning(items, own)
}

/// Refuses what the provider refuses of the whole request: R10, C3 and X2.
pub fn judge(sent: &Value, source: &Value) -> Result<(), String> {
    check(sent, source)?;
    if sent.get("tools").is_some_and(|tools| tools.as_array().is_none_or(Vec::is_empty)) {
        return Err("C3: an empty list of tools".to_owned());
    }
    if sent.get("tools").is_none() && sent.get("tool_choice").is_some() {
        return Err("a choice without tools".to_owned());
    }
    let items = sent["input"].as_array().into_iter().flatten();
    let kinds: Vec<&str> = items.clone().map(|item| item["type"].as_str().unwrap_or("message")).collect();
    if kinds.iter().rev().skip(1).any(|kind| *kind == "compaction_trigger") {
        return Err("R10: the trigger is not last".to_owned());
    }
    let said = items.rev().find(|item| {
        let is_setting = matches!(item["role"].as_str(), Some("developer" | "system"));
        let kind = item["type"].as_str().unwrap_or("message");
        !is_setting && !matches!(kind, "compaction_trigger" | "compaction")
    });
    let said = said.ok_or("X2: nothing is said")?;
    let kind = said["type"].as_str().unwrap_or("message");
    match said["role"] == "user" || kind.ends_with("_output") {
        true => Ok(()),
        false => Err(format!("X2: the model speaks last: {said}")),
    }
}

/// The members of one item: R4, R6, R7, R9.
fn shape(item: &Value) -> Result<(), String> {
    let kind = kind(item);
    match kind {
        "message" => return content(item),
        "reasoning" if !item["summary"].is_array() => return Err("R6: reasoning without a summary".to_owned()),
        "compaction" if !item["encrypted_content"].is_string() => return Err("R6: an empty compaction".to_owned()),
        "function_call" => {
            let arguments = item["arguments"].as_str().ok_or("R6: no arguments")?;
            if arguments.is_empty() || !item["name"].is_string() || !item["call_id"].is_string() {
                return Err("R6 or R7: a call is not complete".to_owned());
            }
        }
        "custom_tool_call" if !item["input"].is_string() || !item["call_id"].is_string() => {
            return Err("R6: a custom call is not complete".to_owned());
        }
        "function_call_output" | "custom_tool_call_output" => {
            let is_named = item["call_id"].is_string() || item["name"].is_string();
            let parts = item["output"].as_array();
            let is_list = parts.is_some_and(|parts| {
                !parts.is_empty()
                    && parts.iter().all(|part| part["type"].as_str().is_some_and(|t| t.starts_with("input_")))
            });
            if !is_named || !(is_list || item["output"].is_string()) {
                return Err("R6 or R7: a result is not complete".to_owned());
            }
        }
        _ => {}
    }
    Ok(())
}

fn content(item: &Value) -> Result<(), String> {
    let parts = match &item["content"] {
        Value::String(text) if !text.is_empty() => return Ok(()),
        Value::Array(parts) if !parts.is_empty() => parts,
        _ => return Err("R9: a message without content".to_owned()),
    };
    let allowed: &[&str] = match item["role"].as_str() {
        Some("assistant") => &["output_text", "refusal"],
        Some("user" | "developer" | "system") => &["input_text", "input_image", "input_file", "input_audio"],
        _ => return Err("R3: no such role".to_owned()),
    };
    let fits = |part: &Value| part["type"].as_str().is_some_and(|kind| allowed.contains(&kind));
    match parts.iter().all(fits) {
        true => Ok(()),
        false => Err("R4: a part does not fit the role".to_owned()),
    }
}

/// Calls and results: R14, R15, R16, R19.
fn pairs(items: &[Value]) -> Result<(), String> {
    let mut waiting: HashMap<&str, &str> = HashMap::new();
    let mut answered: HashSet<&str> = HashSet::new();
    for (at, item) in items.iter().enumerate() {
        let (kind, call) = (kind(item), item["call_id"].as_str());
        if let (Some(output), Some(call)) = (answer_to(kind), call) {
            if waiting.insert(call, output).is_some() || answered.contains(call) {
                return Err(format!("R26: the call {call} stands twice"));
            }
        } else if let (true, Some(call)) = (kind.ends_with("_output"), call) {
            match waiting.remove(call) {
                Some(expected) if expected == kind => drop(answered.insert(call)),
                Some(_) => return Err(format!("R16: {kind} answers {call}")),
                None => return Err(format!("R15: no tool call found for {kind} {call} at {at}")),
            }
        } else if is_message_of(item, &["user"]) && !waiting.is_empty() {
            return Err(format!("R19: the user speaks between a call and its result at {at}"));
        }
    }
    match waiting.keys().next() {
        Some(call) => Err(format!("R14: no tool output found for {call}")),
        None => Ok(()),
    }
}

/// No id stands twice (R26).
fn ids(items: &[Value]) -> Result<(), String> {
    let mut seen = HashSet::new();
    match items.iter().filter_map(id).find(|id| !seen.insert(*id)) {
        Some(id) => Err(format!("R26: {id} stands twice")),
        None => Ok(()),
    }
}

/// Reasoning with an id stands right before an item of the model with an id (R20), unless the client sent it otherwise.
fn followers(items: &[Value], own: &[Value]) -> Result<(), String> {
    let follows = |items: &[Value], at: usize| {
        let next = items[at..].iter().find(|item| kind(item) != "reasoning");
        next.is_some_and(|next| {
            let kind = kind(next);
            id(next).is_some() && (is_message_of(next, &["assistant"]) || kind.ends_with("_call"))
        })
    };
    let loose: HashSet<&str> = (0..own.len())
        .filter(|at| kind(&own[*at]) == "reasoning" && !follows(own, *at))
        .filter_map(|at| id(&own[at]))
        .collect();
    for at in (0..items.len()).filter(|at| kind(&items[*at]) == "reasoning") {
        if let Some(id) = id(&items[at]).filter(|id| !loose.contains(id))
            && !follows(items, at)
        {
            return Err(format!("R20: {id} was provided without its required following item"));
        }
    }
    Ok(())
}

/// The ids of the reasoning that each item of the model is tied to, by its own id.
fn ties(items: &[Value]) -> HashMap<&str, Vec<&str>> {
    let mut ties = HashMap::new();
    let mut run: Vec<&str> = Vec::new();
    let mut before = "";
    for item in items {
        let kind = kind(item);
        if kind == "reasoning" {
            if before != "reasoning" {
                run.clear();
            }
            run.extend(id(item));
        } else if is_message_of(item, &["user", "developer", "system"]) || kind == "agent_message" {
            run.clear();
        } else if let Some(id) = id(item).filter(|_| is_message_of(item, &["assistant"]) || kind.ends_with("_call")) {
            ties.insert(id, run.clone());
        }
        before = kind;
    }
    ties
}

/// An item with an id has the reasoning with it that the model produced it after (R21, R22). More may stand before it:
/// a message between two steps can be deleted.
fn reasoning(items: &[Value], own: &[Value]) -> Result<(), String> {
    let expected = ties(own);
    for (id, run) in ties(items) {
        let missing = expected.get(id).and_then(|expected| expected.iter().find(|id| !run.contains(id)));
        if let Some(missing) = missing {
            return Err(format!("R21: {id} was provided without its required reasoning: {missing}"));
        }
    }
    Ok(())
}
