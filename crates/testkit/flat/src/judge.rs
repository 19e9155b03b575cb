//! The strict provider of the made-up format. It shares no code with the wire.

use serde_json::{Map, Value};

/// Why the provider refuses a request.
pub fn refusal(body: &str) -> Option<String> {
    judge(body).err()
}

fn judge(body: &str) -> Result<(), String> {
    let body: Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
    if body.get("system").is_some_and(|system| system.as_str().is_none_or(str::is_empty)) {
        return Err("the system prompt is empty".into());
    }
    if let Some(tools) = body.get("tools") {
        let tools = tools.as_array().filter(|tools| !tools.is_empty()).ok_or("the list of tools is empty")?;
        if !tools.iter().all(|tool| tool["name"].is_string()) {
            return Err("a tool has no name".into());
        }
    }
    let items = body["items"].as_array().ok_or("there is no list of items")?;
    let mut open: Vec<&str> = Vec::new();
    let mut is_answering = false;
    for (at, item) in items.iter().enumerate() {
        let wrong = |what: &str| format!("item {at}: {what}: {item}");
        let item = item.as_object().ok_or_else(|| wrong("it is no object"))?;
        let kind = item.get("kind").and_then(Value::as_str).unwrap_or_default();
        let (_, known) = MEMBERS.iter().find(|(name, _)| *name == kind).ok_or_else(|| wrong("the kind is unknown"))?;
        if !has_exactly(item, known) {
            return Err(wrong("its members are not those of its kind"));
        }
        match kind {
            "result" => {
                let next = (!open.is_empty()).then(|| open.remove(0));
                if next != item["tool"].as_str() {
                    return Err(wrong("it does not answer the next call"));
                }
                is_answering = true;
            }
            _ if is_answering && !open.is_empty() => return Err(wrong("a call before has no result")),
            "call" => {
                is_answering = false;
                open.extend(item["tool"].as_str());
            }
            "user" if !open.is_empty() => return Err(wrong("a call before has no result")),
            _ => is_answering = false,
        }
    }
    let last = items.last().and_then(|last| last["kind"].as_str());
    match last {
        _ if !open.is_empty() => Err("the last call has no result".into()),
        Some("user" | "result") => Ok(()),
        _ => Err("the request does not end with a question".into()),
    }
}

/// The members of each kind of item beside `kind`.
const MEMBERS: [(&str, &[&str]); 4] =
    [("user", &["text"]), ("model", &["text"]), ("call", &["tool", "input"]), ("result", &["tool", "text"])];

fn has_exactly(item: &Map<String, Value>, known: &[&str]) -> bool {
    let is_fine = |name: &&str| match item.get(*name) {
        Some(Value::String(text)) => *name != "input" && (!text.is_empty() || item["kind"] == "result"),
        Some(Value::Object(_)) => *name == "input",
        _ => false,
    };
    item.len() == known.len() + 1 && known.iter().all(is_fine)
}
