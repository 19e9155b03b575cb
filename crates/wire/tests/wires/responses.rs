//! The Responses API: random requests under random effects, judged by rules that share no code with the wire.

use crate::case::Case;
use crate::effects::any;
use ctx_wire::{WireId, wire};
use serde_json::{Value, json};
use testkit::judges::responses::judge;
use testkit::{Random, is_long};

/// Builds the items of one random request.
struct Items {
    list: Vec<Value>,
    has_ids: bool,
    next: usize,
}

impl Items {
    fn number(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    /// Adds an item of the model, with an id where this client sends them.
    fn model(&mut self, prefix: &str, mut item: Value) {
        let number = self.number();
        if self.has_ids {
            item["id"] = format!("{prefix}_{number:032}").into();
        }
        self.list.push(item);
    }

    fn said(&mut self, role: &str, text: &str) {
        let kind = if role == "assistant" { "output_text" } else { "input_text" };
        let item = json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
        match role {
            "assistant" => self.model("msg", item),
            _ => self.list.push(item),
        }
    }

    fn question(&mut self, random: &mut Random) {
        let words = format!("words {}", random.hex(6));
        match random.below(5) {
            0 => self.list.push(json!({"role": "user", "content": words})),
            1 => {
                let picture = json!({"type": "input_image", "image_url": "data:image/png;base64,iVBO"});
                let parts = json!([{"type": "input_text", "text": words}, picture]);
                self.list.push(json!({"type": "message", "role": "user", "content": parts}));
            }
            2 => {
                self.said("developer", "a note of the client");
                self.said("user", &words);
            }
            _ => self.said("user", &words),
        }
    }

    /// Adds reasoning, words and calls, then the results in any order.
    fn step(&mut self, random: &mut Random) {
        for _ in 0..random.below(3) {
            let seal = format!("gAAA{}", random.hex(40));
            let item = json!({"type": "reasoning", "summary": [], "encrypted_content": seal});
            self.model("rs", item);
        }
        if random.chance(30) {
            self.model("ws", json!({"type": "web_search_call", "status": "completed", "action": {"type": "search"}}));
        }
        if random.chance(50) {
            self.said("assistant", "said");
        }
        let mut results: Vec<Value> = (0..random.between(1, 4)).map(|_| self.call(random)).collect();
        if random.chance(30) {
            results.reverse();
        }
        self.list.extend(results);
        if random.chance(10) {
            let seal = format!("gAAA{}", random.hex(40));
            self.model("cmp", json!({"type": "compaction", "encrypted_content": seal}));
        }
    }

    /// Adds a call of some family and returns its result.
    fn call(&mut self, random: &mut Random) -> Value {
        let id = format!("call_{}", self.number());
        let answer = |kind: &str, output: Value| json!({"type": kind, "call_id": id, "output": output});
        match random.below(7) {
            0 => {
                let call = json!({"type": "custom_tool_call", "call_id": id, "name": "patch", "input": "*** Begin"});
                self.model("ctc", call);
                answer("custom_tool_call_output", "found".into())
            }
            1 => {
                let action = json!({"type": "exec", "command": ["ls"]});
                let call = json!({"type": "local_shell_call", "call_id": id, "status": "completed", "action": action});
                self.model("lsh", call);
                answer("function_call_output", "found".into())
            }
            2 => {
                let action = json!({"commands": ["ls"]});
                self.model("sh", json!({"type": "shell_call", "call_id": id, "action": action}));
                let outcome = json!({"type": "exit", "exit_code": 0});
                answer("shell_call_output", json!([{"stdout": "found", "stderr": "", "outcome": outcome}]))
            }
            3 => {
                let action = json!({"type": "screenshot"});
                let call = json!({"type": "computer_call", "call_id": id, "status": "completed", "action": action});
                self.model("cu", call);
                let picture = json!({"type": "computer_screenshot", "image_url": "data:image/png;base64,iVBO"});
                answer("computer_call_output", picture)
            }
            kind => {
                let call =
                    json!({"type": "function_call", "call_id": id, "name": "read", "arguments": "{\"path\":\"/a\"}"});
                self.model("fc", call);
                let text = json!([{"type": "input_text", "text": "found"}]);
                answer("function_call_output", if kind == 4 { text } else { "found".into() })
            }
        }
    }
}

/// A request at random: with and without ids and reasoning, calls of several families in parallel, hosted calls,
/// compactions, an open loop or a request for a compaction at the end.
pub fn anything(random: &mut Random) -> Case {
    let mut items = Items { list: Vec::new(), has_ids: random.chance(60), next: 0 };
    if random.chance(60) {
        items.said("developer", "Be kind.");
    }
    for _ in 0..random.between(1, 5) {
        items.question(random);
        for _ in 0..random.below(4) {
            items.step(random);
        }
        if random.chance(70) {
            items.said("assistant", "done");
        }
    }
    items.said("user", "newest");
    if random.chance(30) {
        items.step(random);
    }
    if random.chance(10) {
        items.list.push(json!({"type": "compaction_trigger"}));
    }
    let tool = json!({"type": "function", "name": "read", "parameters": {"type": "object"}});
    let body = json!({"model": "gpt-5.5", "instructions": "Be brief.", "input": items.list, "store": false,
        "tools": [tool], "tool_choice": "auto"});
    Case::of(body.to_string().as_bytes(), wire(WireId::OpenaiResponses))
}

#[test]
fn whatever_is_done_the_provider_takes_it() {
    let rounds = if is_long() { 30_000 } else { 3_000 };
    // A long run found the last one: a call that only this wire refuses was the last thing that the model could answer.
    for seed in (0..rounds).chain([8_119]) {
        let mut random = Random::new(seed);
        let mut case = anything(&mut random);
        let source: Value = serde_json::from_slice(case.body.bytes()).expect("JSON");
        judge(&source, &source).unwrap_or_else(|error| panic!("the case itself, seed {seed}: {error}\n{source}"));
        for _ in 0..random.between(1, 6) {
            let effect = any(&mut random, &case);
            case.effects.push(effect);
        }
        let (text, composed) = case.compose();
        let sent: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        judge(&sent, &source).unwrap_or_else(|error| {
            panic!("seed {seed}: {error}\n{source}\n{text}\n{:#?}\n{:?}", case.effects, composed.repairs)
        });
    }
}

#[test]
fn breakpoints_of_the_client_count_where_they_are_sent() {
    let said = |text: &str| json!({"role": "user", "content": [{"type": "input_text", "text": text}]});
    let mut input = vec![said("a"), said("b"), said("c")];
    input[1]["content"][0]["prompt_cache_breakpoint"] = json!({"mode": "explicit"});
    let body = json!({"model": "gpt-5.6-sol", "input": input}).to_string();
    let mut case = Case::of(body.as_bytes(), wire(WireId::OpenaiResponses));
    case.effects.push(crate::effects::delete(&case, &[(0, 0)]));
    let (_, composed) = case.compose();
    assert_eq!(composed.marks, [composed.after[0]], "the second message is the first that is sent");
}

#[test]
fn a_text_in_the_place_of_the_input_is_a_message_of_the_user() {
    let body = r#"{"model":"gpt-5.5","input":"say \"hello\" to everyone","store":true}"#;
    let mut case = Case::of(body.as_bytes(), wire(WireId::OpenaiResponses));
    let list = r#"{"input":[{"role":"user","content":"say \"hello\" to everyone"}]}"#;
    let list = Case::of(list.as_bytes(), wire(WireId::OpenaiResponses));
    assert_eq!((case.facts.len(), case.facts[0].key), (1, list.facts[0].key), "in either form the same message");
    assert_eq!(case.facts[0].title.as_deref(), Some("say \"hello\" to everyone"));
    assert_eq!(case.compose().0, body, "untouched");
    let words = ctx_core::Content::text("say goodbye");
    case.effects.push(crate::effects::replace(&case, &[(0, 0)], None, vec![words]));
    let sent: Value = serde_json::from_str(&case.compose().0).expect("JSON");
    let parts = json!([{"type": "input_text", "text": "say goodbye"}]);
    assert_eq!(sent["input"], json!([{"type": "message", "role": "user", "content": parts}]));

    let mut case = Case::of(body.as_bytes(), wire(WireId::OpenaiResponses));
    let messages = vec![ctx_core::edit::NewMessage::text(Some(ctx_core::Role::User), "before")];
    let to = ctx_core::edit::Place::Start;
    case.effects.push(ctx_core::edit::Effect::Insert { number: 1, messages, to, title: None });
    let sent: Value = serde_json::from_str(&case.compose().0).expect("JSON");
    assert_eq!(sent["input"][1], json!({"role": "user", "content": "say \"hello\" to everyone"}));
    judge(&sent, &json!({"input": []})).expect("accepted");
}

#[test]
fn a_text_that_becomes_a_list_is_the_same_conversation() {
    let pieces = |text: &str| {
        let mut arriving = ctx_wire::rope::Arriving::alone();
        arriving.push(text.as_bytes());
        arriving.finish()
    };
    let wire = wire(WireId::OpenaiResponses);
    let first = ctx_wire::body::Body::read(&pieces(r#"{"input":"hello","store":true}"#), wire).expect("a request");
    let next = pieces(r#"{"input":"hello","store":true,"user":"me"}"#);
    let (next, shared) = first.advance(&next).expect("a request");
    assert_eq!((next.spans().messages.len(), shared.messages), (1, 1));
    let list = pieces(r#"{"input":[{"role":"user","content":"hello"},{"role":"user","content":"b"}]}"#);
    assert_eq!(next.advance(&list).expect("a request").0.spans().messages.len(), 2);
}
