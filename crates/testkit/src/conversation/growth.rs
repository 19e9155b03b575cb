//! Extends a conversation in the proportions of recorded sessions: mostly tool results, then tool inputs, then text.

use super::{Random, Session, prose};
use serde_json::{Value, json};

impl Session {
    /// One whole turn: a question, a few steps with calls and results, a reply. An open question is answered first.
    /// Afterwards, [`Session::user`] comes next.
    pub fn turn(&mut self) -> &mut Self {
        self.settle();
        let sentences = self.random.between(1, 4);
        let question = prose::paragraph(&mut self.random, sentences);
        self.user(&question);
        for _ in 0..self.random.between(1, 7) {
            self.step();
        }
        let sentences = self.random.between(2, 9);
        let answer = prose::paragraph(&mut self.random, sentences);
        self.assistant(&answer)
    }

    /// Answers everything open.
    fn settle(&mut self) {
        if !self.pending_calls.is_empty() {
            self.results(&[]);
        }
        let mut spoken = self.messages.iter().rev();
        let last = spoken.find(|message| message.role != "system");
        if last.is_some_and(|message| message.role == "user") {
            let answer = prose::sentence(&mut self.random);
            self.assistant(&answer);
        }
    }

    /// One step of a tool loop: calls, some in parallel, and their results.
    pub fn step(&mut self) -> &mut Self {
        let parallel = if self.random.chance(25) { 3 } else { 1 };
        let (calls, outputs): (Vec<_>, Vec<_>) = (0..parallel).map(|_| work(&mut self.random)).unzip();
        let calls: Vec<(&str, Value)> = calls;
        self.assistant_tools(&calls);
        if self.random.chance(10) {
            let text = prose::sentence(&mut self.random);
            self.event(&text);
        }
        let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
        self.results(&outputs)
    }

    /// One call and a result of about this many bytes, for bodies near a given size.
    pub fn step_of(&mut self, bytes: usize) -> &mut Self {
        let path = prose::path(&mut self.random);
        let output = prose::source(&mut self.random, bytes);
        self.assistant_tools(&[("Read", json!({"file_path": path}))]);
        self.results(&[&output])
    }

    /// Adds turns, then a last question, until the body is at least this long. Exceeds it by at most one turn.
    pub fn grow_to(&mut self, bytes: usize) -> &mut Self {
        self.settle();
        let question = prose::sentence(&mut self.random);
        let asked = self.clone().user(&question).body().len();
        let around = asked.saturating_sub(self.message_bytes);
        while self.message_bytes + around < bytes {
            self.turn();
        }
        self.user(&question);
        while self.body().len() < bytes {
            self.step();
        }
        self
    }
}

/// A call and its result.
fn work(random: &mut Random) -> ((&'static str, Value), String) {
    let path = prose::path(random);
    // A few large results make up most of a history.
    let size = match random.below(10) {
        0 => random.between(12_000, 40_000),
        1..=4 => random.between(2000, 8000),
        _ => random.between(40, 1200),
    };
    match random.below(10) {
        0..=4 => (("Read", json!({"file_path": path})), prose::source(random, size)),
        5 | 6 => {
            let command = format!("cargo test -p {} 2>&1 | tail -n 40", prose::name(random));
            let description = prose::sentence(random);
            (("Bash", json!({"command": command, "description": description})), prose::log(random, size))
        }
        7 => (
            ("Grep", json!({"pattern": prose::name(random), "path": path, "output_mode": "content"})),
            prose::log(random, size),
        ),
        _ => {
            let old = prose::source(random, size / 6);
            let new = prose::source(random, size / 5);
            let input = json!({
                "replace_all": false, "file_path": path, "old_string": old, "new_string": new,
            });
            (("Edit", input), format!("The file {path} has been updated."))
        }
    }
}
