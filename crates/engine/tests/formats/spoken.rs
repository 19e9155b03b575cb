//! What the model reads in a request, in order: who says which marks. Independent of the wires.

use ctx_core::WireId;
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    User,
    Model,
    Call,
    Result,
}

pub type Spoken = Vec<(Speaker, Vec<String>)>;

/// Calls and results count without a mark too; other texts do not, because formats need fillers of their own.
pub fn spoken(wire: WireId, body: &str) -> Spoken {
    let body: Value = serde_json::from_str(body).expect("JSON");
    let mut spoken = Spoken::new();
    let mut say = |speaker: Speaker, value: &Value| {
        let marks = marks(&value.to_string());
        if !marks.is_empty() || matches!(speaker, Speaker::Call | Speaker::Result) {
            spoken.push((speaker, marks));
        }
    };
    let history = match wire {
        WireId::Anthropic | WireId::OpenaiChat => &body["messages"],
        WireId::OpenaiResponses => &body["input"],
        WireId::Gemini => &body["contents"],
        WireId::Custom => &body["items"],
    };
    for message in history.as_array().expect("a history") {
        if wire == WireId::Custom {
            match message["kind"].as_str() {
                Some("call") => say(Speaker::Call, &message["input"]),
                Some("result") => say(Speaker::Result, &message["text"]),
                Some("model") => say(Speaker::Model, &message["text"]),
                _ => say(Speaker::User, &message["text"]),
            }
            continue;
        }
        let speaker = match message["role"].as_str() {
            Some("assistant" | "model") => Speaker::Model,
            _ => Speaker::User,
        };
        let parts = match wire {
            WireId::Gemini => &message["parts"],
            _ => &message["content"],
        };
        match (message["role"].as_str(), message["type"].as_str()) {
            (Some("system"), _) => continue,
            (Some("tool"), _) => say(Speaker::Result, parts),
            (_, Some("function_call")) => say(Speaker::Call, &message["arguments"]),
            (_, Some("function_call_output")) => say(Speaker::Result, &message["output"]),
            _ => match parts {
                Value::Array(parts) => parts.iter().for_each(|part| match part["type"].as_str() {
                    Some("tool_use") => say(Speaker::Call, &part["input"]),
                    Some("tool_result") => say(Speaker::Result, &part["content"]),
                    _ if part.get("functionCall").is_some() => say(Speaker::Call, &part["functionCall"]["args"]),
                    _ if part.get("functionResponse").is_some() => {
                        say(Speaker::Result, &part["functionResponse"]["response"]);
                    }
                    _ => say(speaker, &part["text"]),
                }),
                text => say(speaker, text),
            },
        }
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        calls.for_each(|call| say(Speaker::Call, &call["function"]["arguments"]));
    }
    spoken
}

/// The words between tildes.
fn marks(text: &str) -> Vec<String> {
    let mut parts = text.split('~');
    let mut marks = Vec::new();
    while let (Some(_), Some(mark)) = (parts.next(), parts.next()) {
        marks.push(mark.to_owned());
    }
    marks
}
