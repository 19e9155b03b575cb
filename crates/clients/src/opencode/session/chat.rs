//! Writes a message as Chat Completions: an assistant message is followed by one message for each result.

use super::{Message, ToolCall};
use serde_json::{Value, json};

pub(super) fn write(message: &Message) -> Vec<Value> {
    let text = message.texts().collect::<Vec<_>>().join("\n");
    if !message.is_answer() {
        let images: Vec<Value> =
            message.images().map(|url| json!({"type": "image_url", "image_url": {"url": url}})).collect();
        let content: Value = match images.is_empty() {
            true => text.into(),
            false => [vec![json!({"type": "text", "text": text})], images].concat().into(),
        };
        return vec![json!({ "role": "user", "content": content })];
    }
    let mut answer = json!({"role": "assistant", "content": if text.is_empty() { Value::Null } else { text.into() }});
    let reasoning = message.reasoning().collect::<Vec<_>>().join("\n");
    if !reasoning.is_empty() {
        answer["reasoning_content"] = reasoning.into();
    }
    let call = |call: &ToolCall| {
        let arguments = call.state.input.to_string();
        json!({"id": call.id, "type": "function", "function": {"name": call.tool, "arguments": arguments}})
    };
    let calls: Vec<Value> = message.calls().map(call).collect();
    if !calls.is_empty() {
        answer["tool_calls"] = calls.into();
    }
    let result = |call: &ToolCall| json!({"role": "tool", "tool_call_id": call.id, "content": call.result().0});
    [answer].into_iter().chain(message.calls().map(result)).collect()
}
