//! The events of an answer in the format of its request: two, then the words, then three.

use super::format::Format;
use serde_json::json;

/// Events around the words.
pub const FRAME: usize = 5;

/// The format that a request with this target expects.
pub fn format_of(target: &str) -> Format {
    let paths = [("/chat/completions", Format::Chat), ("/responses", Format::Responses), (":stream", Format::Gemini)];
    paths.iter().find(|(path, _)| target.contains(path)).map_or(Format::Messages, |(_, format)| *format)
}

pub fn opening(format: Format) -> [String; 2] {
    match format {
        Format::Messages => [named("message_start", START), named("content_block_start", BLOCK)],
        Format::Chat => [chat(r#"{"role":"assistant","content":""}"#, "null", ""), words(format, "I", None)],
        Format::Responses => {
            let created = json!({"type": "response.created", "sequence_number": 0, "response": {"id": "resp_01Sink",
                "object": "response", "status": "in_progress", "model": "gpt-5.5", "output": []}});
            let added = json!({"type": "response.output_item.added", "output_index": 0, "item": {"id": "msg_01Sink",
                "type": "message", "status": "in_progress", "role": "assistant", "content": []}});
            [typed(&created), typed(&added)]
        }
        Format::Gemini => [words(format, "I", None), words(format, " see", None)],
    }
}

/// An event with words, and its time of writing.
pub fn words(format: Format, words: &str, at: Option<u64>) -> String {
    let stamp = at.map(|at| format!(r#","at":{at}"#)).unwrap_or_default();
    let text = json!(words);
    match format {
        Format::Messages => {
            let delta = format!(
                r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{text}}}{stamp}}}"#
            );
            named("content_block_delta", &delta)
        }
        Format::Chat => chat(&format!(r#"{{"content":{text}}}"#), "null", &stamp),
        Format::Responses => {
            let delta = format!(
                r#"{{"type":"response.output_text.delta","item_id":"msg_01Sink","output_index":0,"content_index":0,"delta":{text}{stamp}}}"#
            );
            named("response.output_text.delta", &delta)
        }
        Format::Gemini => {
            let candidate = format!(r#"{{"content":{{"parts":[{{"text":{text}}}],"role":"model"}},"index":0}}"#);
            event(&format!(r#"{{"candidates":[{candidate}],"modelVersion":"gemini-3-pro"{stamp}}}"#))
        }
    }
}

pub fn closing(format: Format) -> [String; 3] {
    match format {
        Format::Messages => CLOSING.map(|(name, data)| named(name, data)),
        Format::Chat => {
            let usage = r#","usage":{"prompt_tokens":31204,"completion_tokens":42,"total_tokens":31246,"prompt_tokens_details":{"cached_tokens":30000}}"#;
            [chat("{}", r#""stop""#, ""), chat("{}", "null", usage), event("[DONE]")]
        }
        Format::Responses => {
            let text = json!({"type": "output_text", "text": "I will look.", "annotations": []});
            let item = json!({"id": "msg_01Sink", "type": "message", "status": "completed", "role": "assistant",
                "content": [text]});
            let done = json!({"type": "response.output_text.done", "item_id": "msg_01Sink", "output_index": 0,
                "content_index": 0, "text": "I will look."});
            let ended = json!({"type": "response.output_item.done", "output_index": 0, "item": item});
            let usage = json!({"input_tokens": 31204, "input_tokens_details": {"cached_tokens": 30000},
                "output_tokens": 42, "total_tokens": 31246});
            let completed = json!({"type": "response.completed", "response": {"id": "resp_01Sink",
                "object": "response", "status": "completed", "model": "gpt-5.5", "output": [item], "usage": usage}});
            [typed(&done), typed(&ended), typed(&completed)]
        }
        Format::Gemini => {
            let last = json!({"candidates": [{"content": {"parts": [{"text": "."}], "role": "model"}, "index": 0,
                "finishReason": "STOP"}], "modelVersion": "gemini-3-pro", "usageMetadata": {"promptTokenCount": 31204,
                "cachedContentTokenCount": 30000, "candidatesTokenCount": 42, "totalTokenCount": 31246}});
            [words(format, " more", None), words(format, " still", None), event(&last.to_string())]
        }
    }
}

fn chat(delta: &str, finish: &str, more: &str) -> String {
    let choice = format!(r#"{{"index":0,"delta":{delta},"finish_reason":{finish}}}"#);
    event(&format!(
        r#"{{"id":"chatcmpl-01Sink","object":"chat.completion.chunk","model":"gpt-5.5","choices":[{choice}]{more}}}"#
    ))
}

fn typed(data: &serde_json::Value) -> String {
    named(data["type"].as_str().unwrap_or_default(), &data.to_string())
}

fn named(name: &str, data: &str) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

fn event(data: &str) -> String {
    format!("data: {data}\n\n")
}

const START: &str = r#"{"type":"message_start","message":{"id":"msg_01Sink","type":"message","role":"assistant","model":"claude-opus-5-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":4,"cache_creation_input_tokens":1200,"cache_read_input_tokens":30000,"output_tokens":1}}}"#;
const BLOCK: &str = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
const CLOSING: [(&str, &str); 3] = [
    ("content_block_stop", r#"{"type":"content_block_stop","index":0}"#),
    (
        "message_delta",
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":42}}"#,
    ),
    ("message_stop", r#"{"type":"message_stop"}"#),
];
