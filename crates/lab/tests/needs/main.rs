//! Content that later steps relied on.

mod edits;
mod names;
mod recorded;
mod removals;
mod repeats;
mod rereads;

use ctx_lab::needs::{Kind, Place, needs};
use ctx_lab::recording::{Recording, Turn};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// A need: its turn, its text, and its sources as (message, block).
type Told = (usize, String, Vec<(usize, usize)>);

/// A conversation under construction. Each reply is a turn.
struct Talk {
    head: Value,
    messages: Vec<Value>,
}

impl Talk {
    fn new() -> Talk {
        Talk { head: json!({}), messages: vec![json!({"role": "user", "content": "Please."})] }
    }

    fn user(mut self, content: impl Into<Value>) -> Talk {
        self.messages.push(json!({"role": "user", "content": content.into()}));
        self
    }

    fn says(mut self, text: &str) -> Talk {
        self.messages.push(json!({"role": "assistant", "content": [{"type": "text", "text": text}]}));
        self
    }

    /// A call and its result.
    fn call(self, tool: &str, input: Value, result: &str) -> Talk {
        self.calls(&[(tool, input, result)])
    }

    fn calls(mut self, calls: &[(&str, Value, &str)]) -> Talk {
        let count = self.messages.len();
        let id = |index: usize| format!("{count}.{index}");
        let blocks = calls.iter().enumerate().map(
            |(index, (tool, input, _))| json!({"type": "tool_use", "id": id(index), "name": tool, "input": input}),
        );
        self.messages.push(json!({"role": "assistant", "content": blocks.collect::<Vec<_>>()}));
        let results = calls
            .iter()
            .enumerate()
            .map(|(index, (_, _, result))| json!({"type": "tool_result", "tool_use_id": id(index), "content": result}));
        let results: Vec<Value> = results.collect();
        self.user(results)
    }

    fn recording(&self) -> Recording {
        let raw = |value: &Value| RawValue::from_string(value.to_string()).expect("JSON");
        let answers = self.messages.iter().enumerate().filter(|(_, message)| message["role"] == "assistant");
        Recording {
            wire: ctx_wire::WireId::Anthropic,
            lead: Vec::new(),
            name: "talk".into(),
            model: "claude-x".into(),
            head: raw(&self.head),
            messages: self.messages.iter().map(raw).collect(),
            turns: answers.map(|(answer, _)| Turn { answer, ..Turn::default() }).collect(),
            labels: ctx_lab::recording::Labels::default(),
        }
    }

    fn needs(&self, kind: Kind) -> Vec<Told> {
        let place = |place: &Place| (place.message, place.block);
        let needs = needs(&self.recording()).into_iter().filter(|need| need.kind == kind);
        needs.map(|need| (need.turn, need.text, need.sources.iter().map(place).collect())).collect()
    }

    fn names(&self) -> Vec<Told> {
        self.needs(Kind::Name)
    }
}

fn need(turn: usize, text: &str, sources: &[(usize, usize)]) -> Told {
    (turn, text.to_owned(), sources.to_vec())
}
