//! Other spellings of an element.

use ctx_core::WireId;
use serde_json::{Map, Value, json};

/// Without ids of the provider, sealed reasoning and signatures. `respells`: with arguments and texts in another form.
pub fn anew(element: &mut Value, format: WireId, respells: bool) {
    let Some(members) = element.as_object_mut() else { return };
    for name in ["id", "status", "phase", "reasoning_content", "reasoning"] {
        members.shift_remove(name);
    }
    if let Some(parts) = members.get_mut("parts").and_then(Value::as_array_mut) {
        for part in parts.iter_mut() {
            part.as_object_mut().map(|part| part.shift_remove("thoughtSignature"));
        }
        if !respells {
            double_results(parts);
        }
    }
    if respells {
        respell(members, format);
    }
}

/// As Gemini CLI does when it resumes a session.
fn double_results(parts: &mut Vec<Value>) {
    let results: Vec<Value> = parts.iter().filter(|part| part.get("functionResponse").is_some()).cloned().collect();
    let is_new = |(at, result): &(usize, &Value)| !results[..*at].contains(result);
    let doubled: Vec<Value> = results.iter().enumerate().filter(is_new).map(|(_, result)| result.clone()).collect();
    if doubled.len() == results.len() {
        parts.extend(doubled);
    }
}

fn respell(members: &mut Map<String, Value>, format: WireId) {
    let calls = members.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten();
    calls.for_each(|call| with_spaces(&mut call["function"]["arguments"]));
    members.get_mut("arguments").into_iter().for_each(with_spaces);
    let role = members.get("role").and_then(Value::as_str).unwrap_or_default().to_owned();
    let text = members.get("content").and_then(Value::as_str).filter(|_| role != "tool").map(str::to_owned);
    if let Some(text) = text {
        let kind = match (format, role.as_str()) {
            (WireId::OpenaiResponses, "assistant") => "output_text",
            (WireId::OpenaiResponses, _) => "input_text",
            _ => "text",
        };
        members.insert("content".into(), json!([{"type": kind, "text": text}]));
    }
}

/// Writes the JSON in a string with spaces.
fn with_spaces(arguments: &mut Value) {
    let read = arguments.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    if let Some(written) = read.and_then(|value| serde_json::to_string_pretty(&value).ok()) {
        *arguments = written.into();
    }
}

/// A placeholder for the text of a result.
pub fn clear(element: &mut Value) {
    const CLEARED: &str = "[Old tool result content cleared]";
    let Some(members) = element.as_object_mut() else { return };
    for part in members.get_mut("parts").and_then(Value::as_array_mut).into_iter().flatten() {
        if part.get("functionResponse").is_some() {
            part["functionResponse"]["response"] = json!({"output": CLEARED});
        }
    }
    for name in ["content", "output"] {
        members.get_mut(name).into_iter().for_each(|text| *text = CLEARED.into());
    }
}

/// Words of the human with this reminder in front of them, or with none.
pub fn remind(element: &mut Value, format: WireId, reminder: Option<&str>) {
    let part = |text: &str| match format {
        WireId::Gemini => json!({"text": text}),
        _ => json!({"type": "text", "text": text}),
    };
    let list = if format == WireId::Gemini { "parts" } else { "content" };
    let mut parts = match &element[list] {
        Value::String(text) => vec![part(text)],
        Value::Array(parts) => parts.clone(),
        _ => return,
    };
    parts.retain(|part| !part["text"].as_str().is_some_and(|text| text.starts_with("<system-reminder>")));
    parts.splice(0..0, reminder.map(part));
    element[list] = parts.into();
}
