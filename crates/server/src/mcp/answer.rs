//! Answers for the model: small, and the same whether its client shows the structure or the text.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};

use super::ask::Refusal;
use super::own::{Caller, Own};

/// Lists and texts in an answer are cut here, with a note.
const MOST_ITEMS: usize = 20;
const LONGEST_TEXT: usize = 300;

#[derive(Debug, Clone)]
pub struct Answer {
    pub value: Map<String, Value>,
    /// The same in one line.
    pub text: String,
}

impl Answer {
    /// Every answer starts with its conversation and how it was selected.
    pub fn about(own: &Own, rest: Value) -> Answer {
        let mut value = Map::new();
        value.insert("conversation".into(), own.id.clone().into());
        value.insert("found_by".into(), own.found_by.name().into());
        if let Value::Object(rest) = rest {
            value.extend(rest.into_iter().filter(|(_, value)| !value.is_null()));
        }
        Answer { value, text: String::new() }
    }

    pub fn add(&mut self, name: &str, value: Value) {
        if value.as_array().is_none_or(|items| !items.is_empty()) {
            self.value.insert(name.to_owned(), value);
        }
    }

    pub fn in_words(mut self, text: impl Into<String>) -> Answer {
        self.text = text.into();
        self
    }

    /// A client that shows the structure needs only one line of text. Others get everything as text.
    pub fn into_result(self, caller: &Caller) -> CallToolResult {
        let value = Value::Object(self.value);
        let text = if copies(caller) == 1 { self.text } else { value.to_string() };
        let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
        result.structured_content = Some(value);
        result
    }
}

pub fn refused(refusal: &Refusal) -> CallToolResult {
    let mut error = json!({"code": refusal.code, "message": refusal.message, "hint": refusal.hint});
    let mut text = refusal.to_string();
    if !refusal.since.is_empty() {
        let since = Value::Array(refusal.since.clone());
        text = format!("{text} {since}");
        error["since"] = since;
    }
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.structured_content = Some(json!({"error": error}));
    result
}

/// The number of copies of an answer that the client may show to its model.
pub fn copies(caller: &Caller) -> usize {
    let known = caller.known_client().and_then(|client| client.mcp);
    if known.is_some_and(|client| client.reads_structure) { 1 } else { 2 }
}

/// Cuts long lists and texts of an answer of the control API.
pub fn short(value: Value) -> Value {
    match value {
        Value::String(text) => line(&text, LONGEST_TEXT).into(),
        Value::Array(mut items) => {
            let cut = items.len().saturating_sub(MOST_ITEMS);
            items.truncate(MOST_ITEMS);
            let mut items: Vec<Value> = items.into_iter().map(short).collect();
            if cut > 0 {
                items.push(format!("… {cut} more").into());
            }
            Value::Array(items)
        }
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, short(value))).collect(),
        other => other,
    }
}

/// A text cut to this many characters.
pub fn line(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_is_cut_and_says_so() {
        let long = json!({"frames": (0..25).collect::<Vec<_>>(), "what": "é".repeat(400), "n": 3});
        let cut = short(long);
        assert_eq!(cut["frames"].as_array().map(Vec::len), Some(21));
        assert_eq!(cut["frames"][20], "… 5 more");
        assert_eq!(cut["what"].as_str().map(|text| text.chars().count()), Some(300));
        assert_eq!(cut["n"], 3);
    }
}
