//! A long web search: many large results, few of which are needed again.

use serde_json::{Value, json};

const WORDS: [&str; 48] = [
    "the", "report", "says", "that", "many", "people", "were", "asked", "about", "their", "work", "and", "most", "of",
    "them", "answered", "in", "a", "way", "nobody", "had", "expected", "before", "some", "years", "ago", "it", "was",
    "found", "again", "by", "two", "groups", "which", "did", "not", "know", "each", "other", "so", "more", "is", "to",
    "be", "learned", "from", "water", "light",
];

/// The body of a conversation with `turns` searches. Each search finds ten pages; sometimes one of the newest is
/// opened, rarely an old one.
pub fn searching(turns: usize) -> Value {
    let mut words = Words(7);
    let mut messages = vec![json!({"role": "user", "content": "Find out what is known of it, and keep at it."})];
    for turn in 0..turns {
        let id = format!("toolu_{turn:04}");
        let (name, input) = match turn {
            turn if turn % 5 == 4 => ("WebFetch", json!({"url": url(turn - 1, 3), "prompt": "What does it say?"})),
            turn if turn % 97 == 60 => ("WebFetch", json!({"url": url(turn - 40, 1), "prompt": "What does it say?"})),
            turn => ("WebSearch", json!({"query": format!("{} {}", words.some(3), turn)})),
        };
        let said = json!({"type": "text", "text": format!("I look further: {}.", words.some(12))});
        let call = json!({"type": "tool_use", "id": id, "name": name, "input": input});
        messages.push(json!({"role": "assistant", "content": [said, call]}));
        let pages = (0..10).map(|page| format!("{}\n{}\n{}", words.some(6), url(turn, page), words.some(300)));
        let found = pages.collect::<Vec<_>>().join("\n\n");
        messages
            .push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": found}]}));
    }
    messages.push(json!({"role": "assistant", "content": [{"type": "text", "text": words.some(400)}]}));
    json!({"model": "claude-opus-5-5", "max_tokens": 8000, "messages": messages,
        "tools": [{"name": "WebSearch", "input_schema": {"type": "object"}}, {"name": "WebFetch", "input_schema": {"type": "object"}}]})
}

fn url(turn: usize, page: usize) -> String {
    format!("https://example.org/{turn}/{page}")
}

/// Words in a fixed order.
struct Words(u64);

impl Words {
    fn some(&mut self, count: usize) -> String {
        let mut word = || {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            WORDS[(self.0 >> 33) as usize % WORDS.len()]
        };
        (0..count).map(|_| word()).collect::<Vec<_>>().join(" ")
    }
}
