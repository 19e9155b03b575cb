//! Answers of a provider, read by the real tap from real event streams.

use ctx_wire::answer::{Answer, Ending};
use serde_json::{Value, json};

/// The event stream of one message with these blocks, billed at `prompt` tokens.
pub fn stream(blocks: &[Value], prompt: u64, stop: &str) -> Vec<u8> {
    let mut out = String::new();
    let mut event = |data: Value| {
        let name = data["type"].as_str().unwrap_or_default().to_owned();
        out.push_str(&format!("event: {name}\ndata: {data}\n\n"));
    };
    event(json!({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5", "content": [],
        "stop_reason": null,
        "usage": {"input_tokens": 3, "cache_read_input_tokens": prompt.saturating_sub(3), "cache_creation_input_tokens": 0, "output_tokens": 1},
    }}));
    event(json!({"type": "ping"}));
    for (index, block) in blocks.iter().enumerate() {
        let (start, delta) = opened(block);
        event(json!({"type": "content_block_start", "index": index, "content_block": start}));
        for delta in delta {
            event(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        event(json!({"type": "content_block_stop", "index": index}));
    }
    event(json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 9}}));
    event(json!({"type": "message_stop"}));
    out.into_bytes()
}

/// A block as it is announced, and the deltas that fill it.
fn opened(block: &Value) -> (Value, Vec<Value>) {
    match block["type"].as_str() {
        Some("text") => {
            let text = block["text"].as_str().unwrap_or_default();
            let halves =
                text.char_indices().nth(text.chars().count() / 2).map_or((text, ""), |(at, _)| text.split_at(at));
            let delta = |text: &str| json!({"type": "text_delta", "text": text});
            (json!({"type": "text", "text": ""}), vec![delta(halves.0), delta(halves.1)])
        }
        Some("thinking") => (
            json!({"type": "thinking", "thinking": "", "signature": ""}),
            vec![
                json!({"type": "thinking_delta", "thinking": block["thinking"]}),
                json!({"type": "signature_delta", "signature": block["signature"]}),
            ],
        ),
        Some("tool_use") => (
            json!({"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}),
            vec![json!({"type": "input_json_delta", "partial_json": block["input"].to_string()})],
        ),
        _ => (block.clone(), Vec::new()),
    }
}

/// A refusal with this message.
pub fn refusal(status: u16, message: &str) -> Answer {
    let error = json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}});
    let mut tap = ctx_wire::wire(ctx_wire::WireId::Anthropic).tap(status, Some("application/json"), None);
    tap.feed(error.to_string().as_bytes());
    tap.finish(Ending::Complete)
}

pub fn read(stream: &[u8], ending: Ending) -> Answer {
    let mut tap = ctx_wire::wire(ctx_wire::WireId::Anthropic).tap(200, Some("text/event-stream"), None);
    stream.chunks(777).for_each(|piece| tap.feed(piece));
    tap.finish(ending)
}

pub fn blocks(blocks: &[Value], prompt: u64) -> Answer {
    let calls = blocks.iter().any(|block| block["type"] == "tool_use");
    read(&stream(blocks, prompt, if calls { "tool_use" } else { "end_turn" }), Ending::Complete)
}

pub fn text(text: &str, prompt: u64) -> Answer {
    blocks(&[json!({"type": "text", "text": text})], prompt)
}

/// The blocks of the last message of a body: what a client sends back of an answer.
pub fn last_blocks(body: &Value) -> Vec<Value> {
    let messages = body["messages"].as_array().expect("messages");
    messages.last().and_then(|message| message["content"].as_array()).cloned().unwrap_or_default()
}
