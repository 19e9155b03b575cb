//! A recorded conversation, and what stands in it.

use crate::random::Random;
use ctx_core::WireId;
use ctx_wire::body::Body;
use ctx_wire::wire;
use serde_json::{Value, json};

/// A recorded request: its envelope, and the elements of its history, the leading ones of the system prompt apart.
#[derive(Clone)]
pub struct Recording {
    pub format: WireId,
    pub name: String,
    envelope: Value,
    lead: Vec<Value>,
    pub elements: Vec<Value>,
}

/// The recorded conversations of a client.
pub fn recordings(format: WireId, client: &str) -> Vec<Recording> {
    let read = |(name, bytes): (String, Vec<u8>)| {
        let mut envelope: Value = serde_json::from_slice(&bytes).expect("JSON");
        let body = Body::parse(bytes, wire(format)).expect("a request");
        let Value::Array(mut lead) = envelope[list(format)].take() else { panic!("{name}: no history") };
        let elements = lead.split_off(body.spans().lead.len());
        Recording { format, name, envelope, lead, elements }
    };
    testkit::recorded_bodies(client).into_iter().map(read).collect()
}

fn list(format: WireId) -> &'static str {
    match format {
        WireId::OpenaiResponses => "input",
        WireId::Gemini => "contents",
        _ => "messages",
    }
}

/// Whether the model produced the element.
pub fn is_models(element: &Value) -> bool {
    let kind = element["type"].as_str().unwrap_or_default();
    matches!(element["role"].as_str(), Some("assistant" | "model")) || kind == "reasoning" || kind.ends_with("_call")
}

/// Whether it is a result of a call.
pub fn is_result(element: &Value) -> bool {
    let parts = element["parts"].as_array();
    element["role"] == "tool"
        || element["type"].as_str().is_some_and(|kind| kind.ends_with("_output"))
        || parts.is_some_and(|parts| parts.iter().any(|part| part.get("functionResponse").is_some()))
}

/// Whether the human speaks there.
pub fn is_prompt(element: &Value) -> bool {
    element["role"] == "user" && !is_result(element) && !is_note(element)
}

/// Whether the client speaks in the role of the human.
pub fn is_note(element: &Value) -> bool {
    let words = words(element);
    let notes =
        ["<environment_context>", "# AGENTS.md", "<turn_aborted>", "<session_context>", "<recommended_plugins>"];
    element["role"] == "user" && notes.iter().any(|note| words.starts_with(note))
}

/// The texts of an element, in any form.
pub fn words(element: &Value) -> String {
    match (&element["content"], &element["parts"]) {
        (Value::String(text), _) => text.clone(),
        (Value::Array(parts), _) | (_, Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.filter(|text| !text.starts_with("<system-reminder>")).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

impl Recording {
    /// Where the client had to wait for the model.
    pub fn is_request_end(&self, at: usize) -> bool {
        at > 0 && is_models(&self.elements[at]) && !is_models(&self.elements[at - 1])
    }

    /// The first prompt from `at` on, or the end.
    pub fn prompt_from(&self, at: usize) -> usize {
        let behind = (at..self.elements.len()).find(|at| is_prompt(&self.elements[*at]));
        behind.unwrap_or(self.elements.len())
    }

    /// The request with this history.
    pub fn body<'e>(&'e self, history: impl Iterator<Item = &'e Value>) -> Vec<u8> {
        let mut body = self.envelope.clone();
        body[list(self.format)] = self.lead.iter().chain(history).cloned().collect();
        body.to_string().into_bytes()
    }

    pub fn said(&self, is_model: bool, words: &str) -> Value {
        let role = if is_model { "assistant" } else { "user" };
        match self.format {
            WireId::OpenaiResponses => {
                let kind = if is_model { "output_text" } else { "input_text" };
                json!({"type": "message", "role": role, "content": [{"type": kind, "text": words}]})
            }
            WireId::Gemini => json!({"role": if is_model { "model" } else { role }, "parts": [{"text": words}]}),
            _ => json!({"role": role, "content": words}),
        }
    }

    /// A step of the model with a call, and its result. `has_ids`: the client sends ids of the provider.
    pub fn step(&self, random: &mut Random, has_ids: bool) -> Vec<Value> {
        let (path, output) = (format!("/src/{}.rs", random.words(1)), random.words(6));
        let seal = format!("gAAA{}{}", random.hex(), random.hex());
        let id = format!("call_{}{}", random.hex(), random.hex());
        let arguments = json!({"path": path}).to_string();
        let words = if random.percent(40) { random.words(4) } else { String::new() };
        match self.format {
            WireId::OpenaiResponses => {
                let mut items = vec![json!({"type": "reasoning", "summary": [], "encrypted_content": seal})];
                items.extend((!words.is_empty()).then(|| self.said(true, &words)));
                items.push(json!({"type": "function_call", "name": "read", "arguments": arguments, "call_id": id}));
                for item in items.iter_mut().filter(|_| has_ids) {
                    item["id"] = format!("item_{}{}", random.hex(), random.hex()).into();
                }
                items.push(json!({"type": "function_call_output", "call_id": id, "output": output}));
                items
            }
            WireId::Gemini => {
                let mut call = json!({"name": "read", "args": {"path": path}});
                let mut result = json!({"name": "read", "response": {"output": output}});
                if has_ids {
                    (call["id"], result["id"]) = (id.clone().into(), id.into());
                }
                let mut parts = vec![json!({"functionCall": call, "thoughtSignature": seal})];
                parts.splice(0..0, (!words.is_empty()).then(|| json!({"text": words})));
                vec![
                    json!({"role": "model", "parts": parts}),
                    json!({"role": "user", "parts": [{"functionResponse": result}]}),
                ]
            }
            _ => {
                let call = json!({"id": id, "type": "function", "function": {"name": "read", "arguments": arguments}});
                let content = if words.is_empty() { Value::Null } else { words.into() };
                vec![
                    json!({"role": "assistant", "content": content, "tool_calls": [call],
                        "reasoning_content": random.words(5)}),
                    json!({"role": "tool", "tool_call_id": id, "content": output}),
                ]
            }
        }
    }
}
