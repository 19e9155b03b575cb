//! Requests and answers of a recording, as the stock client and the provider write them.

use crate::answer::{Answer, Ending, Usage};
use crate::recorded::Opening;
use crate::wire::Wire;
use ctx_models::cache::FIVE_MINUTES;
use serde_json::{Value, json};

/// The body up to its first message.
pub(super) fn opening(opening: &Opening<'_>) -> String {
    let mut head = opening.members();
    if opening.wants_tools(&head) {
        let tool = |name: &String| json!({"name": name, "input_schema": {"type": "object"}});
        head["tools"] = opening.tools.iter().map(tool).collect();
    }
    let mut system = match head["system"].take() {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks,
        _ => Vec::new(),
    };
    system.iter_mut().for_each(unmark);
    let tools = head.get_mut("tools").and_then(Value::as_array_mut);
    tools.into_iter().flatten().for_each(unmark);
    let own: usize = system.iter().map(|block| block["text"].as_str().map_or(0, str::len)).sum::<usize>()
        + head["tools"].as_array().map_or(0, |tools| tools.iter().map(|tool| tool.to_string().len()).sum());
    // The stock client sets two breakpoints in it.
    system.insert(0, json!({"type": "text", "text": "You are an agent.", "cache_control": mark(opening.lifetime)}));
    system.push(json!({"type": "text", "text": opening.filler(own), "cache_control": mark(opening.lifetime)}));
    head["system"] = Value::Array(system);
    opening.text(&head, super::SHAPE.list, opening.lead)
}

/// A message with list content, spelled as it will be with a breakpoint too.
pub(super) fn replayed(message: &str) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(message) else { return message.to_owned() };
    match &mut value["content"] {
        Value::String(text) => value["content"] = json!([{"type": "text", "text": std::mem::take(text)}]),
        // The caller decides where the breakpoints are.
        Value::Array(blocks) if message.contains("\"cache_control\"") => blocks.iter_mut().for_each(unmark),
        _ => {}
    }
    value.to_string()
}

/// A message with a cache breakpoint on its last block.
pub(super) fn marked(message: &str, lifetime: u64) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(message) else { return message.to_owned() };
    if let Some(block) = value["content"].as_array_mut().and_then(|blocks| blocks.last_mut()) {
        block["cache_control"] = mark(lifetime);
    }
    value.to_string()
}

/// An answer as the tap reads it, signatures included.
pub(super) fn answer(messages: &[&str], model: &str, usage: Usage) -> Answer {
    let message: Value = messages.first().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    let content = match &message["content"] {
        Value::String(text) => json!([{"type": "text", "text": text}]),
        content => content.clone(),
    };
    let usage = json!({
        "input_tokens": usage.input, "output_tokens": usage.output,
        "cache_read_input_tokens": usage.cache_read, "cache_creation_input_tokens": usage.cache_write,
        "cache_creation": {"ephemeral_5m_input_tokens": usage.cache_write_5m.unwrap_or(0),
            "ephemeral_1h_input_tokens": usage.cache_write_1h.unwrap_or(0)},
    });
    let body = json!({"id": "msg_recorded", "type": "message", "role": "assistant", "content": content,
        "model": model, "stop_reason": "end_turn", "usage": usage});
    let mut tap = super::Anthropic.tap(200, Some("application/json"), None);
    tap.feed(body.to_string().as_bytes());
    tap.finish(Ending::Complete)
}

fn mark(lifetime: u64) -> Value {
    if lifetime > FIVE_MINUTES { json!({"type": "ephemeral", "ttl": "1h"}) } else { json!({"type": "ephemeral"}) }
}

fn unmark(block: &mut Value) {
    if let Some(fields) = block.as_object_mut() {
        fields.remove("cache_control");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_message_was_written_makes_no_difference_to_the_cache() {
        let spaced = replayed(r#"{ "role": "user", "content": [ {"type": "text", "text": "h\u00e9"} ] }"#);
        assert_eq!(spaced, replayed(r#"{"role":"user","content":[{"type":"text","text":"hé"}]}"#));
    }

    #[test]
    fn a_mark_stands_on_the_last_block() {
        let marked = marked(&replayed(r#"{"role":"user","content":"hi"}"#), FIVE_MINUTES);
        assert_eq!(
            marked,
            r#"{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}"#
        );
    }
}
