//! Recorded conversations, where there are any: they stay where they are.

use crate::behaviour::Behaviour;
use crate::client::Client;
use crate::history::What;
use crate::render::{Family, Rendered, Style, Truth, body, marked};
use crate::watch::{Expect, Watch};
use serde_json::{Value, json};

pub struct Conversation {
    pub name: String,
    pub messages: Vec<Value>,
}

/// All of them, or none with a word on why.
pub fn conversations() -> Vec<Conversation> {
    let read = |(name, text): (String, Vec<u8>)| {
        let mut body: Value = serde_json::from_slice(&text).expect("a request body");
        let Value::Array(messages) = body["messages"].take() else { panic!("{name}: no messages") };
        Conversation { name, messages }
    };
    testkit::recorded_conversations().into_iter().map(read).collect()
}

impl Conversation {
    fn is_answer(&self, at: usize) -> bool {
        self.messages[at]["role"] == "assistant"
    }

    /// Sends what was sent: all that stood before each answer, with the mark at the end.
    pub fn replay(&self, watch: &mut Watch) {
        let mark = json!({"type": "ephemeral"});
        let style = Style { family: Family::A, mark: None, streams: true, mark_before_last: false };
        let texts: Vec<String> = self.messages.iter().map(Value::to_string).collect();
        for end in (1..self.messages.len()).filter(|&at| self.is_answer(at)) {
            let mut sent: Vec<&str> = texts[..end].iter().map(String::as_str).collect();
            let last = marked(sent[end - 1], &mark);
            sent[end - 1] = &last;
            let truth = |at: usize| Truth { identity: at as u64, either: false, injected: false };
            let rendered = Rendered { bytes: body(&sent, &style), truth: (0..end).map(truth).collect() };
            watch.turn(&rendered, Behaviour::Turn, Expect::Plain);
        }
    }

    /// Gives a client the last `length` messages as its history, an answer at the end.
    pub fn recall(&self, client: &mut Client, length: usize) {
        let from = self.messages.len().saturating_sub(length);
        let opens = |at: &usize| What::recorded(self.messages[*at].clone()).is_prompt();
        let from = (0..=from).rev().find(opens).unwrap_or(0);
        let end = (0..self.messages.len()).rev().find(|&at| self.is_answer(at)).unwrap_or(0);
        for message in &self.messages[from..=end.max(from)] {
            client.push(What::recorded(message.clone()));
        }
        // Calls without results at the end would not be accepted.
        while client.history.last().is_some_and(|item| has_calls(item.what())) {
            client.history.truncate(client.history.len().saturating_sub(2));
        }
    }
}

fn has_calls(what: &What) -> bool {
    match what {
        What::Recorded { message, .. } => {
            message["content"].as_array().is_some_and(|blocks| blocks.iter().any(|block| block["type"] == "tool_use"))
        }
        _ => false,
    }
}
