//! A day of clients: everything they do, in any order, at the same time. After each request the
//! timeline says what was done, and the store gives back its bytes.

use crate::support::{Headers, House, sides, with};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use testkit::{Random, Session};

/// One client process and its conversation, as it keeps it for itself.
#[derive(Clone)]
struct Client {
    headers: Headers,
    envelope: Value,
    messages: Vec<Value>,
    /// The newest turn as it went out, and a branch that was left.
    sent: Vec<Value>,
    left: Option<Vec<Value>>,
    random: Random,
}

#[derive(Debug, Clone, Copy)]
enum Action {
    Ask,
    CallTool,
    Retry,
    Side(usize),
    Rewind,
    Return,
    Compact(usize),
    ClearResult,
    Fork,
    SubAgent,
    Restart,
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        6 => Just(Action::Ask),
        6 => Just(Action::CallTool),
        2 => Just(Action::Retry),
        3 => (0..7usize).prop_map(Action::Side),
        2 => Just(Action::Rewind),
        2 => Just(Action::Return),
        1 => (0..4usize).prop_map(Action::Compact),
        1 => Just(Action::ClearResult),
        1 => Just(Action::Fork),
        1 => Just(Action::SubAgent),
        2 => Just(Action::Restart),
    ]
}

/// What a request should be found to be: verdict, new and changed messages.
type Expected = (&'static str, u64, u64);

impl Client {
    fn new(seed: u64) -> Client {
        let session = Session::new(seed).lean();
        let mut client = Client {
            headers: session.headers(),
            envelope: session.body_value(),
            messages: Vec::new(),
            sent: Vec::new(),
            left: None,
            random: Random::new(seed + 1000),
        };
        client.ask();
        client
    }

    fn ask(&mut self) {
        let words = format!("question {}", self.random.hex(12));
        self.messages.push(json!({"role": "user", "content": [{"type": "text", "text": words}]}));
    }

    fn answer(&mut self, call: bool) -> String {
        let id = format!("toolu_{}", self.random.hex(12));
        let signature = self.random.hex(40);
        let mut blocks = vec![json!({"type": "thinking", "thinking": "", "signature": signature})];
        blocks.push(match call {
            true => json!({"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": "/a"}}),
            false => json!({"type": "text", "text": "done"}),
        });
        self.messages.push(json!({"role": "assistant", "content": blocks}));
        id
    }

    /// The request, its mark on the last block; a lone text without a mark is a string.
    fn body(&self) -> Value {
        let mut body = self.envelope.clone();
        let last = self.messages.len() - 1;
        let render = |(at, message): (usize, &Value)| {
            let mut message = message.clone();
            let blocks = message["content"].as_array_mut().expect("blocks");
            if at == last {
                blocks.last_mut().expect("a block")["cache_control"] = json!({"type": "ephemeral"});
            } else if blocks.len() == 1 && blocks[0]["type"] == "text" {
                message["content"] = message["content"][0]["text"].clone();
            }
            message
        };
        body["messages"] = self.messages.iter().enumerate().map(render).collect();
        body
    }

    /// Changes the conversation; `None` when this cannot be done now.
    fn act(&mut self, action: Action) -> Option<Expected> {
        let before = self.messages.len();
        match action {
            Action::Ask => {
                self.answer(false);
                self.ask();
                Some(("next", 2, 0))
            }
            Action::CallTool => {
                let id = self.answer(true);
                let output = format!("output {}", self.random.hex(60));
                self.messages.push(
                    json!({"role": "user", "content": [{"tool_use_id": id, "type": "tool_result", "content": output}]}),
                );
                Some(("next", 2, 0))
            }
            Action::Retry => Some(("retry", 0, 0)),
            Action::Rewind => {
                let is_prompt = |message: &Value| message["role"] == "user" && message["content"][0]["type"] == "text";
                let prompt = (1..before).rev().find(|&at| is_prompt(&self.messages[at]))?;
                self.left = Some(self.messages.clone());
                self.messages.truncate(prompt);
                self.ask();
                Some(("rewind", 1, 0))
            }
            Action::Return => {
                self.messages = self.left.take()?;
                self.answer(false);
                self.ask();
                Some(("return", 2, 0))
            }
            Action::Compact(kept) => {
                let kept = (0..=kept.min(before - 1)).rev().find(|kept| {
                    let first = self.messages.get(before - kept);
                    first.is_none_or(|first| first["role"] == "assistant" || first["content"][0]["type"] == "text")
                })?;
                let tail = self.messages.split_off(before - kept);
                let words =
                    format!("This session is being continued from a previous conversation. {}", self.random.hex(9));
                self.messages = vec![json!({"role": "user", "content": [{"type": "text", "text": words}]})];
                self.messages.extend(tail);
                self.answer(false);
                self.ask();
                self.left = None;
                Some(("compaction", 3, 0))
            }
            Action::ClearResult => {
                let is_result = |message: &&mut Value| {
                    message["content"][0]["type"] == "tool_result" && message["content"][0]["content"] != "[cleared]"
                };
                let result = self.messages.iter_mut().find(is_result)?;
                result["content"][0]["content"] = "[cleared]".into();
                self.answer(false);
                self.ask();
                self.left = None;
                Some(("next", 2, 1))
            }
            Action::Side(_) | Action::Fork | Action::SubAgent | Action::Restart => None,
        }
    }

    /// The same history under another name, of a session or of an agent.
    fn renamed(&mut self, header: &str) -> Client {
        let name = self.random.uuid();
        let random = Random::new(self.random.number());
        let mut other = Client { random, ..self.clone() };
        // An agent that starts another one is named as its parent.
        if header == AGENT
            && let Some((_, above)) = self.headers.iter().find(|(name, _)| name == AGENT)
        {
            other.headers = with(other.headers, "x-claude-code-parent-agent-id", above);
        }
        other.headers = with(other.headers, header, &name);
        other
    }
}

const AGENT: &str = "x-claude-code-agent-id";

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_clients_do_it_is_seen_for_what_it_is(actions in vec((0..4usize, action()), 1..50)) {
        let mut house = House::new();
        let mut clients: Vec<(Client, String)> = Vec::new();
        for seed in 0..2 {
            let client = Client::new(seed);
            let ticket = house.send_value(&client.headers, &client.body());
            clients.push((Client { sent: client.messages.clone(), ..client }, ticket.conversation));
        }
        for (step, (who, action)) in actions.into_iter().enumerate() {
            let who = who % clients.len();
            let (mut client, id) = clients[who].clone();
            match action {
                Action::Restart => {
                    house = house.restart();
                    continue;
                }
                Action::Side(which) => {
                    let mut side = sides::all(&Session::new(9).lean(), false).remove(which);
                    if ["suggestion", "btw", "compaction"].contains(&side.name) {
                        let question = side.body["messages"].as_array().and_then(|messages| messages.last()).cloned();
                        let question = question.expect("a question")["content"].as_str().unwrap_or_default().to_owned();
                        side.body = sides::beside(&client.body(), &question);
                    }
                    let headers = with(side.headers, "x-claude-code-session-id", &header(&client.headers, "x-claude-code-session-id"));
                    let headers = match client.headers.iter().find(|(name, _)| name == "x-claude-code-agent-id") {
                        Some((name, agent)) => with(with(headers, name, agent), "x-claude-code-request-class", side.class),
                        None => headers,
                    };
                    let ticket = house.send_value(&headers, &side.body);
                    prop_assert_eq!((&ticket.conversation, ticket.turn), (&id, false), "step {} {}", step, side.name);
                }
                Action::Fork | Action::SubAgent => {
                    if clients.len() == 4 || client.messages.iter().all(|message| message["role"] != "assistant") {
                        continue;
                    }
                    let header = if matches!(action, Action::Fork) { "x-claude-code-session-id" } else { "x-claude-code-agent-id" };
                    let mut other = clients[who].0.renamed(header);
                    other.answer(false);
                    other.ask();
                    let ticket = house.send_value(&other.headers, &other.body());
                    prop_assert!(clients.iter().all(|(_, id)| *id != ticket.conversation));
                    let seen = house.last(&ticket.conversation);
                    prop_assert!(seen.is("fork", [client.sent.len() as u64, 2, 0]), "step {} {:?}", step, seen);
                    other.sent = other.messages.clone();
                    other.left = None;
                    clients.push((other, ticket.conversation));
                }
                _ => {
                    let Some((verdict, new, changed)) = client.act(action) else { continue };
                    let ticket = house.send_value(&client.headers, &client.body());
                    prop_assert_eq!((&ticket.conversation, ticket.turn), (&id, true));
                    let seen = house.last(&id);
                    let known = client.messages.len() as u64 - new;
                    prop_assert!(seen.is(verdict, [known, new, changed]), "step {} {:?}: {:?}", step, action, seen);
                    client.sent = client.messages.clone();
                    clients[who] = (client, id);
                }
            }
            let (client, id) = &clients[who];
            prop_assert!(house.compose(id) == client.body().to_string().into_bytes(), "step {} {:?}", step, action);
        }
        house = house.restart();
        prop_assert_eq!(house.ids().len(), clients.len());
        for (client, id) in &clients {
            prop_assert!(house.compose(id) == client.body().to_string().into_bytes());
            let prompts = client.messages.iter().filter(|message| message["role"] == "user" && message["content"][0]["type"] == "text").count();
            prop_assert_eq!(house.titles(id).len(), prompts);
        }
    }
}

fn header(headers: &Headers, name: &str) -> String {
    headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone()).unwrap_or_default()
}

/// Days are long; `PROPTEST_CASES` may ask for more of them.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(32)
}
