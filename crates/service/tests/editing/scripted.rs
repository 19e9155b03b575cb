//! Turns of the world that are not drawn: for tests of one case.

use crate::world::{Outcome, World};
use ctx_engine::response::Timing;
use serde_json::{Value, json};
use testkit::Random;

impl World {
    /// A question and an answer with a thought; `heard`: the answer passes by us.
    pub fn plain_turn(&mut self, at: usize, heard: bool) -> Outcome {
        if !self.talks[at].client.is_waiting() {
            self.talks[at].client.ask(&mut self.words);
        }
        let (ticket, blocks) = self.request(at, self.plain_script())?;
        if heard {
            self.answered(at, &ticket, &blocks)?;
        }
        self.talks[at].client.answer(blocks);
        Ok(())
    }

    /// The model is asked, or goes on, and calls a tool.
    pub fn call(&mut self, at: usize, id: &str) -> Outcome {
        if !self.talks[at].client.is_waiting() {
            self.talks[at].client.ask(&mut self.words);
        }
        let call = json!({"type": "tool_use", "id": id, "name": "Read", "input": {}});
        let (ticket, blocks) = self.request(at, vec![call])?;
        self.answered(at, &ticket, &blocks)?;
        self.talks[at].client.answer(blocks);
        Ok(())
    }

    /// A question, and the provider searches before it answers.
    pub fn search(&mut self, at: usize, id: &str) -> Outcome {
        self.talks[at].client.ask(&mut self.words);
        let call = json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "how"}});
        let found = json!([{"type": "web_search_result", "title": "so"}]);
        let result = json!({"type": "web_search_tool_result", "tool_use_id": id, "content": found});
        let (ticket, blocks) = self.request(at, vec![call, result, json!({"type": "text", "text": "yes"})])?;
        self.answered(at, &ticket, &blocks)?;
        self.talks[at].client.answer(blocks);
        Ok(())
    }

    /// A question, and the provider pauses while it searches.
    pub fn pause(&mut self, at: usize, id: &str) -> Outcome {
        self.talks[at].client.ask(&mut self.words);
        let call = json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "how"}});
        self.hear(at, vec![json!({"type": "text", "text": "wait"}), call])
    }

    /// The client sends the paused answer back, and it is continued.
    pub fn go_on(&mut self, at: usize, id: &str) -> Outcome {
        let found = json!([{"type": "web_search_result", "title": "so"}]);
        let result = json!({"type": "web_search_tool_result", "tool_use_id": id, "content": found});
        self.hear(at, vec![result, json!({"type": "text", "text": "yes"})])
    }

    fn hear(&mut self, at: usize, script: Vec<Value>) -> Outcome {
        let (ticket, blocks) = self.request(at, script)?;
        self.answered(at, &ticket, &blocks)?;
        self.talks[at].client.answer(blocks);
        Ok(())
    }

    /// The call has a result, and the client a note beside it.
    pub fn result(&mut self, at: usize) {
        self.talks[at].client.note_a_result(&mut self.words);
    }

    /// A question, and the provider cannot be reached.
    pub fn plain_failure(&mut self, at: usize) -> Outcome {
        self.talks[at].client.ask(&mut self.words);
        let (ticket, _) = self.request(at, self.plain_script())?;
        let timing = Timing { at: self.now(), first_byte_ms: None, total_ms: 20 };
        self.service().answered(&ticket, None, None, timing).map_err(|problem| problem.to_string())
    }

    fn plain_script(&self) -> Vec<Value> {
        vec![json!({"type": "thinking", "thinking": ""}), json!({"type": "text", "text": "yes"})]
    }

    pub fn add_fork(&mut self, at: usize) {
        let client = self.talks[at].client.fork(&mut Random::new(2 + self.talks.len() as u64));
        self.add(client, at);
    }

    /// Its client writes a summary of all so far.
    pub fn summarise(&mut self, at: usize) -> bool {
        let talk = &mut self.talks[at];
        // Some of its summaries keep a tail.
        (1..50).any(|seed| {
            let mut client = talk.client.clone();
            let all = client.compact(&mut Random::new(seed), &mut self.words) && client.messages.len() == 1;
            if all {
                talk.client = client;
            }
            all
        })
    }

    pub fn add_agent(&mut self, at: usize) {
        let client = self.talks[at].client.agent(&mut Random::new(3 + self.talks.len() as u64), &mut self.words, true);
        self.add(client, at);
    }
}
