//! What is left of results that are shortened, and what is known of names elsewhere.

use ctx_core::policy::extract::{extract, names};
use ctx_core::tokens;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// The results of a conversation so far, by their calls.
#[derive(Default)]
pub struct Results {
    texts: HashMap<String, Text>,
    /// Names that stand in what was said and called, or in what was left of results.
    spoken: HashSet<String>,
}

struct Text {
    whole: String,
    /// Estimated tokens of what would be left.
    left: f64,
}

impl Results {
    /// Takes note of a message that was sent.
    pub fn meet(&mut self, message: &str) {
        let Ok(message) = serde_json::from_str::<Value>(message) else { return };
        match &message["content"] {
            Value::String(text) => self.say(text),
            Value::Array(blocks) => blocks.iter().for_each(|block| self.block(block)),
            _ => {}
        }
    }

    fn block(&mut self, block: &Value) {
        match block["type"].as_str() {
            Some("text") => self.say(block["text"].as_str().unwrap_or_default()),
            Some("tool_use") => {
                let input = block["input"].to_string();
                self.say(&input);
            }
            Some("tool_result") => {
                let whole = text_of(&block["content"]);
                let left = extract(&whole, |name| self.spoken.contains(name));
                let left = tokens::estimate(left.chars().count() as u32, 0);
                let id = block["tool_use_id"].as_str().unwrap_or_default().to_owned();
                self.texts.insert(id, Text { whole, left });
            }
            _ => {}
        }
    }

    fn say(&mut self, text: &str) {
        self.spoken.extend(names(text).map(str::to_owned));
    }

    /// Estimated tokens that would be left of a result.
    pub fn left(&self, call: &str) -> Option<f64> {
        self.texts.get(call).map(|text| text.left)
    }

    /// The text that takes the place of a result. Its names need not be said again.
    pub fn shorten(&mut self, call: &str) -> Option<String> {
        let text = self.texts.get(call)?;
        let short = extract(&text.whole, |name| self.spoken.contains(name));
        self.say(&short);
        Some(short)
    }
}

/// The text of a result's content.
pub fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}
