//! Converts content to this wire's JSON, and back: parts of messages, and items.

use super::item::{Item, Sort};
use crate::openai::origin;
use ctx_core::Key;
use ctx_core::content::{CallInput, Content, Origin, WireId};
use ctx_core::links;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Types of parts in the content of a message.
const PARTS: [&str; 6] = ["input_text", "input_image", "input_file", "input_audio", "output_text", "refusal"];

/// The content of a block. A block with members unknown to other wires stays raw.
pub(super) fn read(block: &Value) -> Content {
    neutral(block).unwrap_or_else(|| raw(block.to_string()))
}

pub(super) fn raw(json: String) -> Content {
    let item = Item::read(json.as_bytes());
    let link = item.link().map(Cow::into_owned);
    let (calls, answers) = match item.sort {
        Sort::Call => (link, None),
        Sort::Output => (None, link),
        _ => (None, None),
    };
    Content::Raw { wire: WireId::OpenaiResponses, json, calls, answers }
}

fn neutral(block: &Value) -> Option<Content> {
    let fields = block.as_object()?;
    let has_only = |known: &[&str]| fields.keys().all(|name| known.contains(&name.as_str()));
    let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    // Item ids and states are meaningless in new content, as are empty lists.
    let is_nothing = |name: &str| fields.get(name).is_none_or(|list| list.as_array().is_some_and(Vec::is_empty));
    match text("type")?.as_str() {
        "input_text" if has_only(&["type", "text"]) => Some(Content::Text { text: text("text")? }),
        "output_text" if has_only(&["type", "text", "annotations", "logprobs"]) => {
            (is_nothing("annotations") && is_nothing("logprobs")).then_some(Content::Text { text: text("text")? })
        }
        "function_call" if has_only(&["type", "id", "status", "call_id", "name", "arguments"]) => {
            let input = text("arguments")?;
            let is_object = serde_json::from_str::<Map<String, Value>>(&input).is_ok();
            let call = Content::Call { id: Some(text("call_id")?), name: text("name")?, input: CallInput::Json(input) };
            is_object.then_some(call)
        }
        "function_call_output" if has_only(&["type", "id", "status", "call_id", "output"]) => {
            let parts = match fields.get("output")? {
                Value::String(text) => vec![Content::text(text)],
                Value::Array(parts) => parts.iter().map(neutral).collect::<Option<_>>()?,
                _ => return None,
            };
            Some(Content::Result { id: Some(text("call_id")?), parts, error: false })
        }
        "input_image" if has_only(&["type", "image_url", "detail"]) => {
            let is_auto = text("detail").is_none_or(|detail| detail == "auto");
            is_auto.then_some(Content::Image { from: origin(&text("image_url")?) })
        }
        "input_file" if has_only(&["type", "file_data", "filename"]) => {
            Some(Content::Document { from: origin(&text("file_data")?), title: text("filename") })
        }
        _ => None,
    }
}

/// A block of this wire, texts as the user's.
pub(super) fn write(content: &Content) -> Cow<'_, str> {
    match content {
        Content::Result { id, parts, error } => {
            Cow::Owned(result("function_call_output", id.as_deref().unwrap_or_default(), parts, *error))
        }
        other => part(other, false),
    }
}

/// A part of a message, or a call.
pub(super) fn part(content: &Content, assistant: bool) -> Cow<'_, str> {
    let from = |from: &Origin, url: &str| match from {
        Origin::Base64 { media, data } => (url.to_owned(), format!("data:{media};base64,{data}")),
        Origin::Url(address) => (if url == "image_url" { url } else { "file_url" }.to_owned(), address.clone()),
        Origin::File { id, .. } => ("file_id".to_owned(), id.clone()),
    };
    let value = match content {
        Content::Text { text } => {
            json!({"type": if assistant { "output_text" } else { "input_text" }, "text": text})
        }
        Content::Call { id, name, input: CallInput::Json(input) } => {
            let id = id.as_deref().and_then(links::sent_id);
            let input = if input.trim().is_empty() { "{}" } else { input };
            json!({"type": "function_call", "call_id": id, "name": name, "arguments": input})
        }
        Content::Image { from: origin } => {
            let (member, value) = from(origin, "image_url");
            json!({"type": "input_image", "detail": "auto", member: value})
        }
        Content::Document { from: origin, title } => {
            let (member, value) = from(origin, "file_data");
            let mut part = json!({"type": "input_file", member: value});
            if let (Some(title), Origin::Base64 { .. }) = (title, origin) {
                part["filename"] = title.as_str().into();
            }
            part
        }
        Content::Result { .. } => return write(content),
        Content::Reasoning { text, .. } => {
            json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]})
        }
        Content::Raw { json, .. } => return Cow::Borrowed(json),
    };
    Cow::Owned(value.to_string())
}

/// A result in the family of its call (R16).
pub(super) fn result(family: &str, call: &str, parts: &[Content], error: bool) -> String {
    let call = links::sent_id(call).unwrap_or_default();
    let is_plain = parts.iter().all(|part| part.as_text().is_some());
    let text = || {
        let words = |part: &Content| match part {
            Content::Text { text } => text.clone(),
            Content::Image { .. } => "[image]".to_owned(),
            Content::Document { .. } => "[document]".to_owned(),
            other => write(other).into_owned(),
        };
        let text = parts.iter().map(words).collect::<Vec<_>>().join("\n");
        if error && !text.starts_with("Error") { format!("Error: {text}") } else { text }
    };
    if !is_plain && matches!(family, "function_call_output" | "custom_tool_call_output") {
        let parts: Vec<Cow<'_, str>> = parts.iter().map(|content| part(content, false)).collect();
        let (family, call) = (Value::from(family), Value::from(call));
        return format!(r#"{{"type":{family},"call_id":{call},"output":[{}]}}"#, parts.join(","));
    }
    let value = match family {
        "shell_call_output" => json!({"type": family, "call_id": call, "output": shell(&text())}),
        "apply_patch_call_output" => {
            json!({"type": family, "call_id": call, "status": if error { "failed" } else { "completed" }, "output": text()})
        }
        "program_output" => json!({"type": family, "call_id": call, "status": "completed", "result": text()}),
        _ => json!({"type": family, "call_id": call, "output": text()}),
    };
    value.to_string()
}

/// The output of a shell, as its results spell it.
pub(super) fn shell(text: &str) -> Value {
    json!([{"stdout": text, "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}])
}

/// Whether raw JSON is a part of a message; anything else is an item.
pub(super) fn is_part(json: &str) -> bool {
    PARTS.contains(&Item::read(json.as_bytes()).kind.as_ref())
}

/// Content as one message with one block each. Displayed, never sent.
pub(super) fn shown(content: &[Content]) -> Vec<u8> {
    let blocks: Vec<Cow<'_, str>> = content.iter().map(write).collect();
    format!(r#"{{"type":"message","role":"user","content":[{}]}}"#, blocks.join(",")).into_bytes()
}

/// A tool call with another input, the text of an object. A call of another form stays unchanged.
pub(super) fn with_input(call: &str, input: &str) -> Content {
    let mut value: Value = serde_json::from_str(call).unwrap_or_default();
    if let Some(arguments) = value.get_mut("arguments") {
        *arguments = input.into();
        return read(&value);
    }
    raw(call.to_owned())
}

/// Content for another place of a request: with new ids derived from `salt`, and without a cache breakpoint.
pub(super) fn copied(content: Content, salt: &str) -> Content {
    let renamed = |id: Option<String>| id.map(|id| rename(&id, salt));
    match content {
        Content::Call { id, name, input } => Content::Call { id: renamed(id), name, input },
        Content::Result { id, parts, error } => Content::Result { id: renamed(id), parts, error },
        Content::Raw { json, .. } => {
            let mut value: Value = serde_json::from_str(&json).unwrap_or_default();
            let Some(fields) = value.as_object_mut() else { return raw(json) };
            fields.remove("prompt_cache_breakpoint");
            if fields.get("type").is_some_and(|kind| kind == "mcp_approval_request") {
                fields.insert("id".to_owned(), rename(fields["id"].as_str().unwrap_or_default(), salt).into());
            } else {
                fields.remove("id");
            }
            for name in ["call_id", "approval_request_id"] {
                if let Some(Value::String(id)) = fields.get_mut(name) {
                    *id = rename(id, salt);
                }
            }
            read(&value)
        }
        other => other,
    }
}

fn rename(id: &str, salt: &str) -> String {
    let key = Key::of([salt.as_bytes(), id.as_bytes()]).to_string();
    format!("call_{}", key.get(..24).unwrap_or(&key))
}

/// The text of raw JSON, or the tool that it calls.
pub(super) fn title(block: &str) -> Option<String> {
    let value: Value = serde_json::from_str(block).ok()?;
    let text = value["text"].as_str().or(value["name"].as_str()).or(value["type"].as_str());
    text.map(str::to_owned)
}

/// Whether it contains an image or a document.
pub(super) fn is_pictured(content: &Content) -> bool {
    match content {
        Content::Image { .. } | Content::Document { .. } => true,
        Content::Raw { json, .. } => {
            matches!(Item::read(json.as_bytes()).kind.as_ref(), "input_image" | "input_file" | "computer_call_output")
        }
        Content::Text { .. } | Content::Call { .. } | Content::Result { .. } | Content::Reasoning { .. } => false,
    }
}
