//! Judges requests by the rules that servers of Chat Completions refuse by. It reads JSON; it shares no code with the wire.

use serde_json::Value;

/// Refuses what OpenAI and its kin refuse: rules C1 to C7, C13, C14, C23 and X3.
pub fn judge(body: &str) -> Result<(), String> {
    judge_with(body, true)
}

/// `asks`: the client's own request ends with a question.
pub fn judge_with(body: &str, asks: bool) -> Result<(), String> {
    let body: Value = serde_json::from_str(body).map_err(|error| format!("no JSON: {error}"))?;
    let messages = body["messages"].as_array().ok_or("no messages")?;
    if messages.is_empty() {
        return Err("C4: no messages".into());
    }
    if body.get("tools").is_some_and(|tools| tools.as_array().is_none_or(Vec::is_empty)) {
        return Err("C3: an empty list of tools".into());
    }
    if body.get("tools").is_none() && body.get("tool_choice").is_some() {
        return Err("a choice without tools".into());
    }
    let mut open: Vec<String> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().ok_or(format!("{at}: no role"))?;
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let place = open.iter().position(|open| open == id).ok_or(format!("C2: {at} answers {id}"))?;
            open.remove(place);
            if !message["content"].is_string() && !message["content"].is_array() {
                return Err(format!("C7: {at} has no content"));
            }
            continue;
        }
        if !open.is_empty() {
            return Err(format!("C1: {open:?} are not answered before {at}"));
        }
        let calls = message.get("tool_calls");
        if calls.is_some_and(|calls| calls.as_array().is_none_or(Vec::is_empty)) {
            return Err(format!("C3: {at} has an empty list of calls"));
        }
        if calls.is_some() && role != "assistant" {
            return Err(format!("C1: {at} calls as {role}"));
        }
        for call in calls.and_then(Value::as_array).into_iter().flatten() {
            let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
            serde_json::from_str::<Value>(arguments).map_err(|_| format!("C13: {at}"))?;
            open.push(call["id"].as_str().ok_or(format!("C1: {at} has no id"))?.to_owned());
        }
        match &message["content"] {
            Value::String(text) if text.is_empty() && calls.is_none() => return Err(format!("C23: {at} is empty")),
            Value::String(_) => {}
            Value::Array(parts) if parts.is_empty() => return Err(format!("X3: {at} is empty")),
            Value::Array(parts) => parts.iter().try_for_each(|part| part_of(part, role, at))?,
            Value::Null if calls.is_some() => {}
            _ => return Err(format!("C6: {at} has no content")),
        }
    }
    if !open.is_empty() {
        return Err(format!("C1: {open:?} are not answered"));
    }
    match messages.last().and_then(|last| last["role"].as_str()) {
        Some("assistant") if asks => Err("C14: the assistant speaks last".into()),
        _ => Ok(()),
    }
}

/// Refuses what a server refuses whose roles alternate: rules C20 and C21.
pub fn judge_order(body: &str) -> Result<(), String> {
    let body: Value = serde_json::from_str(body).map_err(|error| format!("no JSON: {error}"))?;
    let roles = body["messages"].as_array().into_iter().flatten().filter_map(|message| message["role"].as_str());
    let roles: Vec<&str> = roles.filter(|role| !matches!(*role, "system" | "developer")).collect();
    let pairs = [""].into_iter().chain(roles.iter().copied()).zip(roles.iter().copied());
    for (at, pair) in pairs.enumerate() {
        if let ("user", "user") | ("tool", "user") | ("assistant" | "", "assistant") = pair {
            return Err(format!("C21: {pair:?} at {at} of {roles:?}"));
        }
    }
    Ok(())
}

fn part_of(part: &Value, role: &str, at: usize) -> Result<(), String> {
    match (part["type"].as_str(), role) {
        (Some("text"), _) if part["text"].as_str().is_some_and(|text| !text.is_empty()) => Ok(()),
        (Some("image_url" | "file"), "user") => Ok(()),
        (kind, _) => Err(format!("C7: {at} has a part {kind:?} as {role}")),
    }
}
