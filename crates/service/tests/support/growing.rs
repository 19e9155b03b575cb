//! A long conversation of the stock client's shape, rendered cheaply: only the last message is
//! written anew for each request.

use serde_json::{Value, json};
use testkit::Random;

pub struct Growing {
    random: Random,
    head: String,
    /// All messages but the last, without marks, each followed by a comma.
    settled: String,
    last: Value,
    tail: String,
    pub messages: usize,
}

impl Growing {
    pub fn new(seed: u64) -> Growing {
        let tools: Vec<Value> = (0..12)
            .map(|number| json!({"name": format!("Tool{number}"), "description": "does ".repeat(400), "input_schema": {}}))
            .collect();
        let system = json!([
            {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.325.abc; cc_entrypoint=cli;"},
            {"type": "text", "text": "You are a coding agent. ".repeat(200), "cache_control": {"type": "ephemeral"}},
        ]);
        let mut growing = Growing {
            random: Random::new(seed),
            head: r#"{"model":"claude-opus-5-5","messages":["#.into(),
            settled: String::new(),
            last: Value::Null,
            tail: format!(r#"],"system":{system},"tools":{},"max_tokens":128000,"stream":true}}"#, Value::from(tools)),
            messages: 0,
        };
        let question = growing.words(60);
        growing.push(json!({"role": "user", "content": [{"type": "text", "text": question}]}));
        growing
    }

    /// Words that do not compress better than code does.
    fn words(&mut self, count: usize) -> String {
        const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz0123456789_";
        let words: Vec<String> = (0..count)
            .map(|_| {
                let length = self.random.between(2, 9);
                self.random.letters(LETTERS, length)
            })
            .collect();
        words.join(" ")
    }

    fn push(&mut self, message: Value) {
        let before = std::mem::replace(&mut self.last, message);
        if !before.is_null() {
            self.settled.push_str(&before.to_string());
            self.settled.push(',');
        }
        self.messages += 1;
    }

    /// The model calls a tool and gets a result of about `words` words; now and then it answers and
    /// is asked something new.
    pub fn turn(&mut self, words: usize) {
        let (id, signature, path) = (
            self.random.hex(24),
            self.random.letters("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP0123456789+/", 300),
            self.words(3),
        );
        let thought = json!({"type": "thinking", "thinking": "", "signature": signature});
        if self.random.chance(20) {
            let (answer, question) = (self.words(words / 2), self.words(words / 2));
            self.push(json!({"role": "assistant", "content": [thought, {"type": "text", "text": answer}]}));
            self.push(json!({"role": "user", "content": [{"type": "text", "text": question}]}));
        } else {
            let result = self.words(words);
            self.push(json!({"role": "assistant", "content": [thought, {"type": "tool_use", "id": format!("toolu_{id}"), "name": "Read", "input": {"file_path": path}}]}));
            self.push(json!({"role": "user", "content": [{"tool_use_id": format!("toolu_{id}"), "type": "tool_result", "content": result}]}));
        }
    }

    /// The client replaces its history by a summary, and the human asks something new.
    pub fn compact(&mut self) {
        let question = self.words(30);
        self.settled = format!(
            "{},",
            json!({"role": "user", "content": [{"type": "text", "text": "This session is being continued from a previous conversation that ran out of context.\nThe user wanted a parser.\n"}]})
        );
        self.last = json!({"role": "user", "content": [{"type": "text", "text": question}]});
        self.messages = 2;
    }

    /// The request of the present state, the mark on its last block.
    pub fn body(&self) -> Vec<u8> {
        let mut last = self.last.clone();
        last["content"][0]["cache_control"] = json!({"type": "ephemeral"});
        [self.head.as_str(), &self.settled, &last.to_string(), &self.tail].concat().into_bytes()
    }
}
