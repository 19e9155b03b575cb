//! Writes a message as Anthropic's Messages: results are in a message of the user.

use super::{Message, ToolCall};
use serde_json::{Value, json};

pub(super) fn write(message: &Message) -> Vec<Value> {
    let texts = message.texts().map(|text| json!({"type": "text", "text": text}));
    if !message.is_answer() {
        let content: Vec<Value> = texts.chain(message.images().filter_map(image)).collect();
        return vec![json!({ "role": "user", "content": content })];
    }
    // The export has no signatures.
    let reasoning = message.reasoning().map(|text| json!({"type": "thinking", "thinking": text, "signature": ""}));
    let call =
        |call: &ToolCall| json!({"type": "tool_use", "id": call.id, "name": call.tool, "input": call.state.input});
    let content: Vec<Value> = reasoning.chain(texts).chain(message.calls().map(call)).collect();
    let result = |call: &ToolCall| {
        let (text, is_error) = call.result();
        json!({"type": "tool_result", "tool_use_id": call.id, "content": text, "is_error": is_error})
    };
    let results: Vec<Value> = message.calls().map(result).collect();
    let mut written = vec![json!({ "role": "assistant", "content": content })];
    if !results.is_empty() {
        written.push(json!({ "role": "user", "content": results }));
    }
    written
}

/// An image in the address itself.
fn image(url: &str) -> Option<Value> {
    let (media, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    Some(json!({"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}))
}
