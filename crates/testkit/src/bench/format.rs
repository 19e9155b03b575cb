//! The same conversation in the format of each provider: a question, then one tool call and its result a step.

use crate::Random;
use serde_json::{Value, json};

/// The format of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Messages,
    Chat,
    Responses,
    Gemini,
}

impl Format {
    pub const ALL: [Format; 4] = [Format::Messages, Format::Chat, Format::Responses, Format::Gemini];

    pub fn name(self) -> &'static str {
        match self {
            Format::Messages => "Messages",
            Format::Chat => "Chat",
            Format::Responses => "Responses",
            Format::Gemini => "Gemini",
        }
    }

    /// The head of each request up to the host.
    pub fn head(self, session: &str) -> String {
        let path = match self {
            Format::Messages => "/v1/messages",
            Format::Chat => "/v1/chat/completions",
            Format::Responses => "/v1/responses",
            Format::Gemini => "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
        };
        let own = match self {
            Format::Messages => "Anthropic-Version: 2023-06-01\r\n",
            Format::Chat | Format::Responses | Format::Gemini => "",
        };
        format!(
            "POST {path} HTTP/1.1\r\nContent-Type: application/json\r\n{own}Authorization: Bearer none\r\n\
             X-Session-Id: {session}\r\n"
        )
    }

    /// The body up to and including the question.
    pub fn opening(self, question: &str) -> String {
        let text = Value::from(question);
        match self {
            Format::Messages => {
                let user = json!({"role": "user", "content": question});
                format!(r#"{{"model":"claude-sonnet-4-5","max_tokens":9000,"stream":true,"messages":[{user}"#)
            }
            Format::Chat => {
                let user = json!({"role": "user", "content": question});
                format!(r#"{{"model":"gpt-5.5","stream":true,"messages":[{user}"#)
            }
            Format::Responses => {
                format!(
                    r#"{{"model":"gpt-5.5","stream":true,"store":false,"input":[{{"type":"message","role":"user","content":{text}}}"#
                )
            }
            Format::Gemini => format!(r#"{{"contents":[{{"role":"user","parts":[{{"text":{text}}}]}}"#),
        }
    }

    /// One step: a call and a result of about this length.
    pub fn step(self, random: &mut Random, id: &str, bytes: usize) -> String {
        let path = format!("/home/user/project/{}.rs", random.hex(12));
        let output = text(random, bytes);
        let (call, result) = match self {
            Format::Messages => (
                json!({"role": "assistant", "content": [
                    {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": path}}]}),
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": output}]}),
            ),
            Format::Chat => {
                let function = json!({"name": "read_file", "arguments": json!({"path": path}).to_string()});
                (
                    json!({"role": "assistant", "content": null, "tool_calls": [
                        {"id": id, "type": "function", "function": function}]}),
                    json!({"role": "tool", "tool_call_id": id, "content": output}),
                )
            }
            Format::Responses => (
                json!({"type": "function_call", "call_id": id, "name": "read_file",
                    "arguments": json!({"path": path}).to_string()}),
                json!({"type": "function_call_output", "call_id": id, "output": output}),
            ),
            Format::Gemini => (
                json!({"role": "model", "parts": [
                    {"functionCall": {"name": "read_file", "args": {"path": path, "call": id}}}]}),
                json!({"role": "user", "parts": [
                    {"functionResponse": {"name": "read_file", "response": {"output": output}}}]}),
            ),
        };
        format!(",{call},{result}")
    }
}

/// Lines of a listing.
fn text(random: &mut Random, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 80);
    while text.len() < bytes {
        text.push_str(&format!("    let value_{} = \"{}\";\n", random.below(1000), random.hex(24)));
    }
    text
}
