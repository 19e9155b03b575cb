//! The blocks of a message, and the text of each that a model could rely on.

use super::Place;
use serde_json::Value;

pub(super) struct Block {
    pub(super) place: Place,
    pub(super) what: What,
    /// Everything of it that can be read; of a call the texts of its input.
    pub(super) text: String,
}

pub(super) enum What {
    /// A text of the model.
    Said,
    Call {
        id: String,
        name: String,
        input: Value,
    },
    Result {
        id: String,
        is_error: bool,
    },
    Other,
}

/// Nothing for a message that cannot be read.
pub(super) fn read(json: &str, message: usize) -> Vec<Block> {
    let Ok(Value::Object(mut fields)) = serde_json::from_str(json) else { return Vec::new() };
    let by_model = fields.get("role").is_some_and(|role| role == "assistant");
    let plain = if by_model { What::Said } else { What::Other };
    match fields.remove("content") {
        Some(Value::String(text)) => vec![Block { place: Place { message, block: 0 }, what: plain, text }],
        Some(Value::Array(blocks)) => blocks
            .into_iter()
            .enumerate()
            .map(|(block, value)| read_block(value, Place { message, block }, by_model))
            .collect(),
        _ => Vec::new(),
    }
}

fn read_block(mut value: Value, place: Place, by_model: bool) -> Block {
    let word = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut text = String::new();
    let what = match word("type").as_str() {
        "text" => {
            text = word("text");
            if by_model { What::Said } else { What::Other }
        }
        "tool_use" | "server_tool_use" | "mcp_tool_use" => {
            let (id, name) = (word("id"), word("name"));
            let input = value.get_mut("input").map(Value::take).unwrap_or_default();
            gather(&input, &mut text);
            What::Call { id, name, input }
        }
        "thinking" | "redacted_thinking" | "image" => What::Other,
        kind => {
            if let Some(content) = value.get("content").or_else(|| value.get("source")) {
                gather(content, &mut text);
            }
            let is_error = value.get("is_error") == Some(&Value::Bool(true));
            if kind.ends_with("tool_result") { What::Result { id: word("tool_use_id"), is_error } } else { What::Other }
        }
    };
    Block { place, what, text }
}

/// All texts in a JSON text, each on lines of its own.
pub(super) fn words_of(json: &str) -> String {
    let mut text = String::new();
    gather(&serde_json::from_str(json).unwrap_or_default(), &mut text);
    text
}

/// All texts in a value.
pub(crate) fn words_in(value: &Value) -> String {
    let mut text = String::new();
    gather(value, &mut text);
    text
}

fn gather(value: &Value, text: &mut String) {
    match value {
        Value::String(found) => {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(found);
        }
        Value::Array(values) => values.iter().for_each(|value| gather(value, text)),
        // Bytes of images and the like are no words.
        Value::Object(fields) if fields.get("type").is_some_and(|kind| kind == "base64" || kind == "image") => {}
        Value::Object(fields) => {
            fields.iter().filter(|(key, _)| *key != "type").for_each(|(_, value)| gather(value, text));
        }
        _ => {}
    }
}
