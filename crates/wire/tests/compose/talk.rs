//! Conversations with all kinds of blocks. Every block holds a word that no other has.

use ctx_core::key::Key;
use ctx_wire::WireId;
use serde_json::{Value, json};
use testkit::Random;
use testkit::fake_provider::thinking_after;

pub struct Talk {
    messages: Vec<Value>,
    /// The newer clients speak in messages of role "system".
    systems: bool,
    pub manual: bool,
    marks: usize,
    words: usize,
}

const MARK: &str = r#"{"type":"ephemeral"}"#;

impl Talk {
    pub fn new(random: &mut Random) -> Talk {
        let mut talk = Talk {
            messages: Vec::new(),
            systems: random.chance(60),
            manual: random.chance(15),
            marks: random.below(3),
            words: 0,
        };
        for _ in 0..random.between(1, 5) {
            talk.prompt(random);
            for _ in 0..random.below(4) {
                talk.step(random);
            }
            if random.chance(85) {
                talk.answer(random);
            }
        }
        talk.prompt(random);
        talk
    }

    fn word(&mut self) -> String {
        self.words += 1;
        format!("<w{}>", self.words)
    }

    fn text(&mut self, random: &mut Random) -> Value {
        let word = self.word();
        let text = match random.below(4) {
            0 => format!("<system-reminder>{word}</system-reminder>"),
            1 => format!("{word} \"quoted\" \\ \n \u{e9}"),
            _ => format!("say {word}"),
        };
        json!({"type": "text", "text": text})
    }

    fn image(&mut self) -> Value {
        let word = self.word();
        json!({"type": "image", "source": {"type": "url", "url": format!("http://host/{word}")}})
    }

    fn push(&mut self, role: &str, blocks: Vec<Value>) {
        self.messages.push(json!({"role": role, "content": blocks}));
    }

    fn system(&mut self, random: &mut Random) {
        if !self.systems {
            return;
        }
        for _ in 0..random.below(3) {
            match random.below(4) {
                0 => self.messages.push(json!({"role": "system", "content": [], "output_config": {"effort": "low"}})),
                1 => {
                    let (one, two) = (self.text(random), self.text(random));
                    self.push("system", vec![one, two]);
                }
                2 => {
                    let word = self.word();
                    self.messages.push(json!({"role": "system", "content": word, "clear_at": "next_user_message"}));
                }
                _ => {
                    let word = self.word();
                    let config = json!({"effort": "high"});
                    self.messages.push(json!({"role": "system", "content": word, "output_config": config}));
                }
            }
        }
    }

    fn prompt(&mut self, random: &mut Random) {
        let mut blocks: Vec<Value> = (0..random.between(1, 4)).map(|_| self.text(random)).collect();
        if random.chance(20) {
            let image = self.image();
            blocks.push(image);
        }
        match &blocks[..] {
            [one] if random.chance(50) => {
                let text = one["text"].clone();
                if !text.is_null() {
                    self.messages.push(json!({"role": "user", "content": text}));
                } else {
                    self.push("user", blocks);
                }
            }
            _ => self.push("user", blocks),
        }
        self.system(random);
    }

    fn thinking(&mut self, random: &mut Random) -> Vec<Value> {
        if random.chance(25) {
            return Vec::new();
        }
        let name = random.hex(8);
        thinking_after(self.body().as_bytes(), "", &name).into_iter().collect()
    }

    fn answer(&mut self, random: &mut Random) {
        let mut blocks = self.thinking(random);
        if random.chance(20) {
            let id = format!("srvtoolu_{}", self.words);
            let word = self.word();
            blocks.push(json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": word}}));
            let word = self.word();
            blocks.push(json!({"type": "web_search_tool_result", "tool_use_id": id, "content": [{"type": "web_search_result", "title": word}]}));
        }
        blocks.push(self.text(random));
        if random.chance(10) {
            let word = self.word();
            blocks.push(json!({"type": "novelty", "of": word}));
        }
        self.push("assistant", blocks);
    }

    fn step(&mut self, random: &mut Random) {
        let mut blocks = self.thinking(random);
        if random.chance(40) {
            blocks.push(self.text(random));
        }
        let count = if random.chance(30) { random.between(2, 5) } else { 1 };
        let (calls, mut results) = self.calls(random, count);
        blocks.extend(calls);
        // Sometimes the answer comes in two messages.
        if random.chance(10) && blocks.len() > 2 {
            let rest = blocks.split_off(blocks.len() - 1);
            self.push("assistant", blocks);
            self.push("assistant", rest);
        } else {
            self.push("assistant", blocks);
        }
        if random.chance(10) {
            results.reverse();
        }
        if random.chance(30) {
            results.push(self.text(random));
        }
        self.push("user", results);
        self.system(random);
    }

    fn calls(&mut self, random: &mut Random, count: usize) -> (Vec<Value>, Vec<Value>) {
        let mut calls = Vec::new();
        let mut results = Vec::new();
        for _ in 0..count {
            let id = format!("toolu_{}", self.words);
            let word = self.word();
            calls.push(json!({"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": word}}));
            let word = self.word();
            let content = match random.below(5) {
                0 => json!([{"type": "text", "text": word}, {"type": "tool_reference", "tool_name": "Later"}]),
                1 => json!([{"type": "text", "text": word}]),
                _ => json!(word),
            };
            let mut result = json!({"tool_use_id": id, "type": "tool_result", "content": content});
            if random.chance(20) {
                result["is_error"] = json!(random.chance(50));
            }
            results.push(result);
        }
        (calls, results)
    }

    /// What the model says to a composed body, and what the user says to that. The signature of the thinking.
    pub fn reply_to(&mut self, random: &mut Random, sent: &[u8]) -> Key {
        let thinking = thinking_after(sent, "", &random.hex(8)).expect("a request");
        let signature = ctx_wire::wire(WireId::Anthropic).signature(thinking["signature"].as_str().unwrap_or_default());
        if random.chance(60) {
            let (calls, results) = self.calls(random, 1);
            self.push("assistant", [vec![thinking], calls].concat());
            self.push("user", results);
        } else {
            let text = self.text(random);
            self.push("assistant", vec![thinking, text]);
            self.prompt(random);
        }
        signature
    }

    pub fn body(&self) -> String {
        let mut messages = self.messages.clone();
        if self.marks > 0 {
            let last = messages
                .iter_mut()
                .rev()
                .find(|message| message.get("clear_at").is_none() && message["content"] != json!([]));
            if let Some(last) = last {
                if last["content"].is_string() {
                    last["content"] = json!([{"type": "text", "text": last["content"].take()}]);
                }
                let block = last["content"].as_array_mut().and_then(|blocks| blocks.last_mut());
                if let Some(block) = block {
                    block["cache_control"] = serde_json::from_str(MARK).expect("a mark");
                }
            }
        }
        let mut system = vec![
            json!({"type": "text", "text": "x-anthropic-billing-header: 1"}),
            json!({"type": "text", "text": "<sys1>"}),
            json!({"type": "text", "text": "<sys2>"}),
        ];
        if self.marks > 1 {
            system[1]["cache_control"] = serde_json::from_str(MARK).expect("a mark");
            system[2]["cache_control"] = serde_json::from_str(MARK).expect("a mark");
        }
        let thinking = match self.manual {
            true => json!({"type": "enabled", "budget_tokens": 1024}),
            false => json!({"type": "adaptive"}),
        };
        let tools = json!([
            {"name": "Bash", "input_schema": {}}, {"name": "Read", "input_schema": {}},
            {"name": "Later", "input_schema": {}, "defer_loading": true}, {"type": "web_search_1", "name": "web_search"},
        ]);
        json!({
            "model": "m", "messages": messages, "system": system, "tools": tools, "max_tokens": 2000, "thinking": thinking,
        })
        .to_string()
    }
}

/// One long tool loop of so many messages and about so many bytes.
pub fn large(count: usize, bytes: usize) -> String {
    let each = bytes / count;
    let source = "    let value = self.read(\"path\")?;\n    // what it means\n";
    let mut messages =
        vec![json!({"role": "user", "content": [{"type": "text", "text": "go"}, {"type": "text", "text": "on"}]})];
    while messages.len() < count {
        let id = format!("toolu_01{:022}", messages.len());
        let signature = format!("{:0>600}", messages.len());
        messages.push(json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "", "signature": signature},
            {"type": "tool_use", "id": id, "name": "Edit", "input": {"new_string": source.repeat(each / 4 / source.len())}},
        ]}));
        let content = source.repeat(each * 3 / 2 / source.len());
        messages
            .push(json!({"role": "user", "content": [{"tool_use_id": id, "type": "tool_result", "content": content}]}));
    }
    let last = messages.last_mut().and_then(|last| last["content"][0].as_object_mut());
    last.expect("a block").insert("cache_control".into(), serde_json::from_str(MARK).expect("a mark"));
    json!({"model": "m", "messages": messages, "system": [{"type": "text", "text": "s"}], "tools": [{"name": "Edit"}],
        "max_tokens": 2000, "thinking": {"type": "adaptive"}})
    .to_string()
}
