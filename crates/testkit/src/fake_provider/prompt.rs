//! The intent of a request: the newest human text and the progress of its answer, or a side request in which directives
//! are only quoted.

use super::directives::{self, trim};
use super::json::{Fields, compact, is_truthy, object, text};
use super::request::{Message, Request, kind_of};
use serde_json::Value;

/// The newest human text, and the number of assistant messages since.
pub(crate) fn find(messages: &[Message<'_>]) -> (String, usize) {
    let mut since = 0;
    for message in messages.iter().rev() {
        if message.role == Some("assistant") {
            since += 1;
            continue;
        }
        let text = human_text(message);
        // Text next to a tool result comes from the client, unless it contains directives.
        let counts = !message.has("tool_result") || !directives::parse(&text).is_empty();
        if !text.is_empty() && counts {
            return (text, since);
        }
    }
    (String::new(), since)
}

fn human_text(message: &Message<'_>) -> String {
    if message.role != Some("user") {
        return String::new();
    }
    let texts: Vec<&str> = message
        .blocks
        .iter()
        .filter(|block| kind_of(block) == Some("text"))
        .map(|block| text(block, "text").unwrap_or_default())
        .collect();
    trim(&without_reminders(&texts.join("\n"))).to_owned()
}

fn without_reminders(text: &str) -> String {
    const OPEN: &str = "<system-reminder>";
    const CLOSE: &str = "</system-reminder>";
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once(OPEN) {
        let Some((_, after)) = inside.split_once(CLOSE) else {
            break;
        };
        kept.push_str(before);
        rest = after;
    }
    kept.push_str(rest);
    kept
}

/// A request that is not a turn of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// JSON of a given form, such as a title.
    Structured,
    /// A summary of the conversation.
    Compaction,
    /// A verdict on a tool call.
    Classifier,
}

/// A request can be a side request in several ways at once; the first one listed decides, except that a form without a
/// schema leaves it to the others.
pub(crate) fn sides(request: &Request<'_>) -> Vec<Side> {
    let mut sides = Vec::new();
    if output_format(request.body).is_some() {
        sides.push(Side::Structured);
    }
    if asks_for(request, &["<summary>", "<analysis>"]) {
        sides.push(Side::Compaction);
    }
    if asks_for(request, &["<block>"]) {
        sides.push(Side::Classifier);
    }
    sides
}

pub(crate) fn output_format(body: &Fields) -> Option<&Value> {
    let format = object(body, "output_config")?.get("format");
    format.filter(|format| is_truthy(Some(format)))
}

/// The last text requests an answer in these tags.
fn asks_for(request: &Request<'_>, tags: &[&str]) -> bool {
    let Some(message) = request.messages.last() else {
        return false;
    };
    let last = message.blocks.last().and_then(|block| text(block, "text"));
    message.role == Some("user") && last.is_some_and(|text| tags.iter().all(|tag| text.contains(tag)))
}

/// The smallest value that a JSON schema allows; strings name their key.
pub(crate) fn example(schema: &Value, name: &str) -> Value {
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    let first = |key: &str| schema.get(key).and_then(|list| list.get(0));
    if let Some(value) = first("enum") {
        return value.clone();
    }
    if let Some(node) = first("anyOf").or_else(|| first("oneOf")) {
        return example(node, name);
    }
    let kind = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.first(),
        kind => kind,
    };
    match kind.and_then(Value::as_str) {
        Some("object") => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let needed: Vec<&str> = match schema.get("required") {
                Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
                _ => properties.map(|properties| properties.keys().map(String::as_str).collect()).unwrap_or_default(),
            };
            let node = |key| properties.and_then(|properties| properties.get(key));
            let value = |key| example(node(key).unwrap_or(&Value::Null), key);
            needed.into_iter().map(|key| (key.to_owned(), value(key))).collect::<Fields>().into()
        }
        Some("array") => Value::Array(Vec::new()),
        Some("boolean") => Value::Bool(false),
        Some("integer" | "number") => 0.into(),
        Some("null") => Value::Null,
        _ => format!("fake {name}").into(),
    }
}

/// The example as the text of an answer.
pub(crate) fn example_text(schema: &Value) -> String {
    compact(&example(schema, "value"))
}
