//! The recorded conversation: the requests of an agent and the answers of a model, as data.
//!
//! `recording.json` holds all words of the provider's format and of the agent; this file only puts its parts together.

use serde::Deserialize;
use serde_json::{Map, Value};

/// Approximately: bytes per token.
const BYTES: usize = 4;

#[derive(Deserialize)]
pub struct Recording {
    pub target: String,
    pub headers: Map<String, Value>,
    /// The members of every request besides its messages.
    head: Map<String, Value>,
    /// Members to add to the last block of each request.
    breakpoint: Map<String, Value>,
    /// An answer with places for content, end and figures.
    answer: Value,
    turns: Vec<Vec<Exchange>>,
}

/// One request of the agent, and its answer.
#[derive(Deserialize)]
struct Exchange {
    sent: Value,
    answer: Value,
    stop: String,
}

/// Figures of an answer, in tokens.
struct Usage {
    read: usize,
    written: usize,
    output: usize,
}

impl Recording {
    pub fn load() -> serde_json::Result<Self> {
        serde_json::from_str(include_str!("recording.json"))
    }

    pub fn turns(&self) -> usize {
        self.turns.len()
    }

    /// The number of requests in a turn.
    pub fn requests(&self, turn: usize) -> usize {
        self.turns.get(turn).map_or(0, Vec::len)
    }

    /// The body of a request: everything said before, and this message.
    pub fn body(&self, turn: usize, number: usize) -> Vec<u8> {
        let before = self.turns.iter().take(turn).flatten();
        let here = self.turns.get(turn).into_iter().flatten();
        let mut messages: Vec<Value> = before
            .chain(here.clone().take(number))
            .flat_map(|exchange| [exchange.sent.clone(), exchange.answer.clone()])
            .collect();
        messages.extend(here.skip(number).take(1).map(|exchange| self.marked(&exchange.sent)));
        let mut body = self.head.clone();
        body.insert("messages".to_owned(), Value::Array(messages));
        Value::Object(body).to_string().into_bytes()
    }

    /// The message with a breakpoint at its end.
    fn marked(&self, message: &Value) -> Value {
        let mut message = message.clone();
        let last = message.get_mut("content").and_then(Value::as_array_mut).and_then(|blocks| blocks.last_mut());
        if let Some(last) = last.and_then(Value::as_object_mut) {
            last.extend(self.breakpoint.clone());
        }
        message
    }

    /// The answer to a request that arrived as `body`, if the provider has cached the one before.
    pub fn answer(&self, turn: usize, number: usize, body: &[u8], before: &[u8]) -> Vec<u8> {
        let Some(exchange) = self.turns.get(turn).and_then(|turn| turn.get(number)) else { return Vec::new() };
        let content = exchange.answer.get("content").cloned().unwrap_or_default().to_string();
        let (body, before) = (self.prompt(body), self.prompt(before));
        let cached = body.bytes().zip(before.bytes()).take_while(|(new, old)| new == old).count();
        let usage = Usage {
            read: cached / BYTES,
            written: body.len().saturating_sub(cached) / BYTES,
            output: content.len() / BYTES,
        };
        let places = [
            ("{content}", content),
            ("{stop}", Value::from(exchange.stop.clone()).to_string()),
            ("{new}", "4".to_owned()),
            ("{read}", usage.read.to_string()),
            ("{written}", usage.written.to_string()),
            ("{output}", usage.output.to_string()),
        ];
        let mut answer = self.answer.to_string();
        for (place, value) in places {
            answer = answer.replacen(&format!("\"{place}\""), &value, 1);
        }
        answer.into_bytes()
    }

    /// A request as the provider caches it: tools and system prompt first, and without breakpoints.
    fn prompt(&self, body: &[u8]) -> String {
        let Ok(Value::Object(mut body)) = serde_json::from_slice(body) else { return String::new() };
        let messages = body.remove("messages");
        let mut prompt = Value::Array([Value::Object(body)].into_iter().chain(messages).collect());
        self.unmark(&mut prompt);
        prompt.to_string()
    }

    fn unmark(&self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.unmark(item)),
            Value::Object(members) => {
                members.retain(|name, _| !self.breakpoint.contains_key(name));
                members.values_mut().for_each(|member| self.unmark(member));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_contains_the_one_before_and_its_answer() {
        let recording = Recording::load().expect("a recording");
        assert!((12..=20).contains(&recording.turns()), "{}", recording.turns());
        let mut messages = 0;
        for turn in 0..recording.turns() {
            for number in 0..recording.requests(turn) {
                let body: Value = serde_json::from_slice(&recording.body(turn, number)).expect("json");
                let count = body["messages"].as_array().expect("messages").len();
                assert_eq!(count, messages + 1);
                messages = count + 1;
                let last = &body["messages"][count - 1]["content"];
                assert!(
                    last.as_array().and_then(|blocks| blocks.last()).expect("a block")["cache_control"].is_object()
                );
            }
        }
    }

    #[test]
    fn an_answer_has_no_open_place() {
        let recording = Recording::load().expect("a recording");
        let body = recording.body(0, 1);
        let answer: Value = serde_json::from_slice(&recording.answer(0, 1, &body, b"")).expect("json");
        assert!(answer["content"].is_array() && answer["stop_reason"] == "tool_use", "{answer}");
        assert!(!answer.to_string().contains("\"{"), "{answer}");
    }

    #[test]
    fn a_moved_breakpoint_changes_nothing_that_is_cached() {
        let recording = Recording::load().expect("a recording");
        let usage = |body: &[u8], before: &[u8]| {
            let answer: Value = serde_json::from_slice(&recording.answer(0, 2, body, before)).expect("json");
            let tokens = |name: &str| answer["usage"][name].as_u64().expect("a number");
            (tokens("cache_read_input_tokens"), tokens("cache_creation_input_tokens"))
        };
        let (first, second) = (recording.body(0, 1), recording.body(0, 2));
        let (read, written) = usage(&first, b"");
        assert!(read == 0 && written > 1000, "{read} {written}");
        let (again, new) = usage(&second, &first);
        assert!(written.abs_diff(again) <= 1 && new > 0, "{again} of {written} read, {new} written");
    }
}
