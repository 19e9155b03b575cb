//! A client like Claude Code: it keeps its own history, knows of no edits, and sends all of it each time.
//!
//! Every block holds a word that no other block of the world has, so that one can tell what was sent.

mod request;

use crate::spelling::Manner;
use crate::words::Words;
use ctx_core::WireId;
use serde_json::{Map, Value, json};
use testkit::{Random, pdf};

/// Long enough that no title or label reaches the word behind it.
const PAD: &str =
    "please look at this with care and tell what you think of it, and of all that hangs together with it,";

#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub role: &'static str,
    pub blocks: Vec<Value>,
    /// What stands in the object beside role and content.
    more: Map<String, Value>,
}

impl Message {
    pub fn new(role: &'static str, blocks: Vec<Value>) -> Message {
        Message { role, blocks, more: Map::new() }
    }
}

/// How the client writes for a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// What the client has to tell comes as messages of role "system".
    A,
    /// It comes as reminders in user messages.
    B,
}

#[derive(Debug, Clone)]
pub struct Client {
    pub session: String,
    pub agent: Option<String>,
    parent: Option<String>,
    pub family: Family,
    pub messages: Vec<Message>,
    /// Calls of the last answer without a result.
    pub pending: Vec<(String, bool)>,
    /// Calls of the provider's tools that wait for those.
    pub waiting: Vec<String>,
    system: Vec<Value>,
    tools: Vec<Value>,
    /// Where it sets cache marks: nowhere, on its last message, on the system prompt too.
    marks: usize,
    long: bool,
    hinted: bool,
    compacted: bool,
    /// It sends no identification.
    pub nameless: bool,
    pub manner: Manner,
}

impl Client {
    pub fn new(random: &mut Random, words: &mut Words) -> Client {
        let text = |text: String| json!({"type": "text", "text": text});
        let attribution =
            format!("x-anthropic-billing-header: cc_version=2.1.325.{}; cc_entrypoint=cli;", random.hex(3));
        let mut system = vec![
            text(attribution),
            text("You are Claude Code, Anthropic's official CLI for Claude.".into()),
            text(format!("{PAD} {}", words.around())),
        ];
        if random.chance(50) {
            system.push(text(format!("{PAD} {}", words.around())));
        }
        let mut tools: Vec<Value> = ["Bash", "Read", "Edit"]
            .iter()
            .map(|name| json!({"name": name, "description": words.around(), "input_schema": {"type": "object"}}))
            .collect();
        if random.chance(50) {
            tools.push(json!({"name": "Later", "description": words.around(), "input_schema": {"type": "object"}, "defer_loading": true}));
        }
        if random.chance(40) {
            tools.push(web_search());
        }
        Client {
            session: random.uuid(),
            agent: None,
            parent: None,
            family: if random.chance(65) { Family::A } else { Family::B },
            messages: Vec::new(),
            pending: Vec::new(),
            waiting: Vec::new(),
            system,
            tools,
            marks: if random.chance(85) { random.between(1, 3) } else { 0 },
            long: random.chance(20),
            hinted: random.chance(30),
            compacted: false,
            nameless: random.chance(8),
            manner: Manner::ANTHROPIC,
        }
    }

    /// A client like Codex, opencode or a script, whose requests have this format.
    pub fn speaking(wire: WireId, random: &mut Random, words: &mut Words) -> Client {
        let mut client = Client::new(random, words);
        client.manner = Manner::of(wire, random);
        if wire != WireId::Anthropic {
            client.tools.retain(|tool| tool["input_schema"].is_object() && tool["defer_loading"].is_null());
            client.marks = 0;
        }
        client
    }

    /// Another client of this format.
    pub fn another(&self, random: &mut Random, words: &mut Words) -> Client {
        Client::speaking(self.manner.wire, random, words)
    }

    /// A client that continues a recorded conversation, whose thinking another provider signed.
    pub fn recorded(body: &Value, random: &mut Random) -> Client {
        let list = |value: &Value| match value {
            Value::String(text) => vec![json!({"type": "text", "text": text})],
            other => other.as_array().cloned().unwrap_or_default(),
        };
        let mut messages: Vec<Message> = Vec::new();
        for message in body["messages"].as_array().into_iter().flatten() {
            let role = if message["role"] == "user" { "user" } else { "assistant" };
            let mut blocks = list(&message["content"]);
            blocks.retain(|block| !block["type"].as_str().unwrap_or_default().contains("thinking"));
            blocks
                .iter_mut()
                .filter_map(Value::as_object_mut)
                .for_each(|block| drop(block.shift_remove("cache_control")));
            if !blocks.is_empty() {
                messages.push(Message { role, blocks, more: Map::new() });
            }
        }
        while messages.last().is_some_and(|last| last.role == "assistant") {
            messages.pop();
        }
        let mut client = Client::new(random, &mut Words::default());
        client.family = Family::A;
        client.system = list(&body["system"]);
        client.system.insert(0, json!({"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.325.abc;"}));
        client.tools = body["tools"].as_array().cloned().unwrap_or_default();
        (client.marks, client.nameless) = (1, false);
        client.messages = messages;
        client
    }

    /// Without anything that is drawn: newer models, marks on system and messages, a tool of the provider's.
    pub fn plain(&mut self) {
        (self.family, self.marks, self.long, self.hinted, self.nameless) = (Family::A, 2, false, false, false);
        if !self.tools.iter().any(|tool| tool["name"] == "web_search") {
            self.tools.push(web_search());
        }
    }

    /// The result of a call, and something that the client adds to it.
    pub fn note_a_result(&mut self, words: &mut Words) {
        let calls = std::mem::take(&mut self.pending);
        let mut blocks: Vec<Value> = calls
            .iter()
            .map(|(id, _)| json!({"tool_use_id": id, "type": "tool_result", "content": words.said(Some(id))}))
            .collect();
        let note = format!("<system-reminder>\n{PAD} {}\n</system-reminder>\n", words.said(None));
        blocks.push(json!({"type": "text", "text": note}));
        self.push("user", blocks);
    }

    /// The human asks, and nothing else.
    pub fn ask(&mut self, words: &mut Words) {
        let text = format!("{PAD} {}", words.said(None));
        self.push("user", vec![json!({"type": "text", "text": text})]);
    }

    /// The same history under a new session id.
    pub fn fork(&self, random: &mut Random) -> Client {
        Client { session: random.uuid(), agent: None, parent: None, ..self.clone() }
    }

    /// An agent of this session, of its own or with this history.
    pub fn agent(&self, random: &mut Random, words: &mut Words, forked: bool) -> Client {
        let agent = Some(format!("a{}", random.hex(16)));
        let mut client = if forked { self.clone() } else { self.another(random, words) };
        client.session.clone_from(&self.session);
        client.parent.clone_from(&self.agent);
        client.family = self.family;
        Client { agent, ..client }
    }

    fn push(&mut self, role: &'static str, mut blocks: Vec<Value>) {
        if self.manner.wire != WireId::Anthropic {
            blocks.retain(|block| block["type"] != "document" && block["source"]["type"] != "base64");
        }
        self.messages.push(Message::new(role, blocks));
    }

    fn text(random: &mut Random, word: &str) -> Value {
        let text = match random.below(5) {
            0 => format!("<system-reminder>\n{PAD} {word}\n</system-reminder>\n"),
            1 => format!("{PAD} {word} \"quoted\" \\ \n \u{e9}\u{1f600}"),
            _ => format!("{PAD} {word}"),
        };
        json!({"type": "text", "text": text})
    }

    /// What the human types, with what the client adds.
    pub fn user(&mut self, random: &mut Random, words: &mut Words) {
        self.compacted = false;
        let mut blocks: Vec<Value> = (0..random.below(3)).map(|_| Self::text(random, &words.said(None))).collect();
        if random.chance(15) {
            blocks.push(image(words));
        }
        if random.chance(5) {
            blocks.push(json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": words.said(None)}}));
        }
        if random.chance(5) && self.pages() <= 60 {
            blocks.push(pdf(random.between(1, 30), &words.said(None)));
        }
        blocks.push(json!({"type": "text", "text": format!("{PAD} {}", words.said(None))}));
        self.push("user", blocks);
        self.told(random, words);
    }

    /// What the client tells in messages of its own.
    fn told(&mut self, random: &mut Random, words: &mut Words) {
        if !random.chance(35) {
            return;
        }
        if self.manner.wire != WireId::Anthropic {
            return self.push("system", vec![json!({"type": "text", "text": words.told()})]);
        }
        for _ in 0..random.between(1, 3) {
            let mut message = Message::new("system", Vec::new());
            if self.family == Family::A && random.chance(15) {
                message.blocks.push(self.change_of_tools(random, words));
                self.messages.push(message);
                continue;
            }
            match random.below(6) {
                0 => drop(message.more.insert("output_config".into(), json!({"effort": "low"}))),
                1 => {
                    message.blocks.push(json!({"type": "text", "text": words.told()}));
                    message.more.insert("clear_at".into(), "next_user_message".into());
                }
                2 => {
                    message.blocks.push(json!({"type": "text", "text": words.told()}));
                    message.blocks.push(json!({"type": "text", "text": words.told()}));
                }
                _ => message.blocks.push(json!({"type": "text", "text": words.told()})),
            }
            self.messages.push(message);
        }
    }

    /// A tool comes, or one that came goes.
    fn change_of_tools(&self, random: &mut Random, words: &mut Words) -> Value {
        let late = self.late_tools();
        match random.pick(&late).filter(|_| random.chance(30)) {
            Some(tool) => json!({"type": "tool_removal", "tool": {"type": "tool_reference", "name": tool["name"]}}),
            None => {
                let name = format!("New{}", words.number());
                let definition = json!({"name": name, "description": words.around(), "input_schema": {}});
                json!({"type": "tool_addition", "tool": {"type": "tool_definition", "definition": definition}})
            }
        }
    }

    /// The tools that came in the middle.
    fn came(&self) -> Vec<Value> {
        let blocks = self.messages.iter().flat_map(|message| &message.blocks);
        let came = blocks.filter(|block| block["type"] == "tool_addition");
        came.map(|block| block["tool"]["definition"].clone()).collect()
    }

    /// Those that have not gone again.
    fn late_tools(&self) -> Vec<Value> {
        let mut tools: Vec<Value> = Vec::new();
        for block in self.messages.iter().flat_map(|message| &message.blocks) {
            match block["type"].as_str() {
                Some("tool_addition") => tools.push(block["tool"]["definition"].clone()),
                Some("tool_removal") => tools.retain(|tool| tool["name"] != block["tool"]["name"]),
                _ => {}
            }
        }
        tools
    }

    /// The results of the pending calls, with what was typed meanwhile.
    pub fn results(&mut self, random: &mut Random, words: &mut Words) {
        let mut blocks: Vec<Value> = Vec::new();
        for (id, _) in std::mem::take(&mut self.pending) {
            let word = words.said(Some(&id));
            let later = self.tools.iter().any(|tool| tool["name"] == "Later");
            let content = match random.below(8) {
                0 if later => json!([{"type": "text", "text": word}, {"type": "tool_reference", "tool_name": "Later"}]),
                1 => json!([{"type": "text", "text": word}]),
                2 => {
                    json!([{"type": "text", "text": word}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}])
                }
                3 => json!(format!("{word} {}", "line of output\n".repeat(random.between(1, 300)))),
                _ => json!(word),
            };
            let mut result = json!({"tool_use_id": id, "type": "tool_result", "content": content});
            if random.chance(20) {
                result["is_error"] = random.chance(50).into();
            }
            blocks.push(result);
        }
        if random.chance(8) {
            blocks.reverse();
        }
        if !self.waiting.is_empty() {
            return self.push("user", blocks);
        }
        match random.below(20) {
            // Typed while the tool ran.
            0..=2 => blocks.push(json!({"type": "text", "text": format!("{PAD} {}", words.said(None))})),
            3 => blocks.push(json!({"type": "text", "text": format!("[Request interrupted by user for tool use] {PAD} {}", words.said(None))})),
            4 => blocks.push(Self::text(random, &words.said(None))),
            _ => {}
        }
        self.push("user", blocks);
        self.told(random, words);
    }

    /// The human or a tool speaks.
    pub fn speak(&mut self, random: &mut Random, words: &mut Words) {
        if self.pending.is_empty() { self.user(random, words) } else { self.results(random, words) }
    }

    /// What the model will answer, not signed yet.
    pub fn script(&self, random: &mut Random, words: &mut Words) -> Vec<Value> {
        if self.manner.wire != WireId::Anthropic {
            return self.plain_script(random, words);
        }
        let thought = || json!({"type": "thinking", "thinking": ""});
        let mut blocks = Vec::new();
        let found = |id: &str, words: &mut Words| {
            let word = words.said(Some(id));
            json!({"type": "web_search_tool_result", "tool_use_id": id, "content": [{"type": "web_search_result", "title": word}]})
        };
        blocks.extend(self.waiting.iter().map(|id| found(id, words)));
        let thinks = match self.family {
            Family::A => random.chance(75),
            Family::B => self.is_manual(),
        };
        if self.family == Family::A && blocks.is_empty() && random.chance(6) {
            blocks.push(json!({"type": "text", "text": format!("{PAD} {}", words.said(None))}));
            blocks.push(json!({"type": "fallback", "from": {"model": "one"}, "to": {"model": "other"}}));
        }
        if thinks {
            blocks.push(thought());
        }
        let searches = self.tools.iter().any(|tool| tool["name"] == "web_search");
        if searches && random.chance(20) {
            let id = format!("srvtoolu_{}", words.number());
            let word = words.said(Some(&id));
            blocks.push(json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "how", "note": word}}));
            blocks.push(found(&id, words));
        }
        if random.chance(60) {
            blocks.push(json!({"type": "text", "text": format!("{PAD} {}", words.said(None))}));
        }
        if random.chance(10) && (thinks || self.family == Family::A) {
            blocks.push(thought());
        }
        let has_words = blocks.iter().any(|block| block["type"] != "thinking" && block["type"] != "fallback");
        if random.chance(60) || !has_words {
            for _ in 0..if random.chance(35) { random.between(2, 5) } else { 1 } {
                let id = format!("toolu_{}", words.number());
                let late = self.late_tools();
                let late = random.pick(&late).filter(|_| random.chance(50)).map(|tool| tool["name"].clone());
                let name = late.unwrap_or_else(|| ["Read", "Read", "Bash", "Edit"][random.below(4)].into());
                let input = json!({"file_path": "/src/lib.rs", "command": "true", "note": words.said(Some(&id))});
                blocks.push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
            }
            if searches && random.chance(25) {
                let id = format!("srvtoolu_{}", words.number());
                let input = json!({"query": "how", "note": words.said(Some(&id))});
                blocks.push(json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": input}));
            }
        }
        let calls = blocks.iter().any(|block| block["type"] == "tool_use");
        if searches && self.waiting.is_empty() && !calls && random.chance(25) {
            // The provider pauses; the client sends the answer back to have it continued.
            let id = format!("srvtoolu_{}", words.number());
            let input = json!({"query": "how", "note": words.said(Some(&id))});
            blocks.push(json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": input}));
        }
        blocks
    }

    /// A thought, words and calls. The Gemini API signs each step of a model that signs.
    fn plain_script(&self, random: &mut Random, words: &mut Words) -> Vec<Value> {
        let mut blocks = Vec::new();
        if self.manner.wire == WireId::Gemini || random.chance(75) {
            blocks.push(json!({"type": "thinking", "seal": words.number()}));
        }
        let (speaks, calls) = (random.chance(60), random.chance(60));
        if speaks || !calls {
            blocks.push(json!({"type": "text", "text": format!("{PAD} {}", words.said(None))}));
        }
        let count = if random.chance(35) { random.between(2, 5) } else { 1 };
        for _ in 0..if calls { count } else { 0 } {
            let id = format!("toolu_{}", words.number());
            let name = ["Read", "Read", "Bash", "Edit"][random.below(4)];
            let input = json!({"file_path": "/src/lib.rs", "command": "true", "note": words.said(Some(&id))});
            blocks.push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
        }
        blocks
    }

    /// The pages of its PDF documents.
    fn pages(&self) -> usize {
        let blocks = self.messages.iter().flat_map(|message| &message.blocks);
        let data = blocks.filter_map(|block| block["source"]["data"].as_str());
        // A page is 18 bytes, 24 in base64.
        data.map(|data| data.len() / 24).sum()
    }

    /// Whether the last answer goes back to be continued.
    fn is_paused(&self) -> bool {
        let last = self.messages.iter().rfind(|message| message.role != "system");
        last.is_some_and(|last| last.role == "assistant") && self.pending.is_empty() && !self.waiting.is_empty()
    }

    /// An answer came.
    pub fn answer(&mut self, blocks: Vec<Value>) {
        let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
        self.pending = calls.map(|call| (call["id"].as_str().unwrap_or_default().to_owned(), true)).collect();
        let has_result = |id: &Value| blocks.iter().any(|block| block["tool_use_id"] == *id);
        let waiting = blocks.iter().filter(|block| block["type"] == "server_tool_use" && !has_result(&block["id"]));
        self.waiting = waiting.map(|call| call["id"].as_str().unwrap_or_default().to_owned()).collect();
        self.push("assistant", blocks);
    }

    /// Goes back before one of the human's messages. Other models, and other beginnings, cannot read what was thought.
    pub fn rewind(&mut self, random: &mut Random) -> bool {
        let starts: Vec<usize> = (1..self.messages.len()).filter(|&at| self.is_start(at)).collect();
        let Some(&at) = random.pick(&starts) else { return false };
        self.messages.truncate(at);
        self.pending.clear();
        self.waiting.clear();
        true
    }

    /// Whether the human speaks there, and nothing waits for an answer.
    fn is_start(&self, at: usize) -> bool {
        let message = &self.messages[at];
        message.role == "user" && message.blocks.iter().all(|block| block["type"] != "tool_result")
    }

    /// Its own summary and the tail that it keeps.
    pub fn compact(&mut self, random: &mut Random, words: &mut Words) -> bool {
        let starts: Vec<usize> = (1..self.messages.len()).filter(|&at| self.is_start(at)).collect();
        let from = match random.pick(&starts) {
            Some(&at) if random.chance(60) => at,
            _ if self.pending.is_empty() && self.messages.len() > 2 => self.messages.len(),
            _ => return false,
        };
        let tail = self.messages.split_off(from);
        // A tool that came in what is gone is one from the start.
        self.tools.extend(self.came());
        self.messages.clear();
        let text = format!(
            "This session is being continued from a previous conversation that ran out of context.\n{PAD} {}",
            words.said(None)
        );
        self.push("user", vec![json!({"type": "text", "text": text})]);
        self.messages.extend(tail);
        self.forget_thoughts();
        self.compacted = true;
        true
    }

    /// Another model.
    pub fn switch(&mut self) {
        self.family = if self.family == Family::A { Family::B } else { Family::A };
        self.forget_thoughts();
    }

    /// A tool comes or goes.
    pub fn retool(&mut self, words: &mut Words) {
        match self.tools.iter().position(|tool| tool["name"] == "mcp__more") {
            Some(at) => drop(self.tools.remove(at)),
            None => self.tools.push(json!({"name": "mcp__more", "description": words.around(), "input_schema": {}})),
        }
        self.forget_thoughts();
    }

    /// Clears what old tools have said, to save context of its own accord.
    pub fn clear_results(&mut self, random: &mut Random, words: &mut Words) {
        for block in self.messages.iter_mut().flat_map(|message| &mut message.blocks) {
            if block["type"] == "tool_result" && random.chance(40) {
                let word = words.said(block["tool_use_id"].as_str());
                block["content"] = format!("[Old tool result content cleared] {word}").into();
            }
        }
        self.forget_thoughts();
    }

    fn forget_thoughts(&mut self) {
        for message in &mut self.messages {
            message.blocks.retain(|block| block["type"] != "thinking");
        }
    }

    pub fn is_waiting(&self) -> bool {
        let last = self.messages.iter().rfind(|message| message.role != "system");
        last.is_some_and(|message| message.role == "user") || self.is_paused()
    }

    /// Whether the older models may be told to think: not in a tool loop that began without.
    fn is_manual(&self) -> bool {
        let spoken: Vec<&Message> = self.messages.iter().filter(|message| message.role != "system").collect();
        let is_result = |block: &Value| block["type"] == "tool_result";
        let open = spoken.last().is_some_and(|last| last.role == "user" && last.blocks.iter().any(is_result));
        let step = |(at, message): &(usize, &&Message)| {
            message.role == "assistant" || *at == 0 || message.blocks.iter().all(is_result)
        };
        let answers =
            spoken.iter().rev().enumerate().take_while(step).filter(|(_, message)| message.role == "assistant");
        let first =
            |message: &Message| message.blocks.iter().find(|block| block["type"] != "web_search_tool_result").cloned();
        let thinks = |message: &Message| first(message).is_some_and(|block| block["type"] == "thinking");
        !open || answers.into_iter().all(|(_, message)| thinks(message))
    }
}

/// A tool that the provider runs itself.
fn web_search() -> Value {
    json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 8})
}

fn image(words: &mut Words) -> Value {
    json!({"type": "image", "source": {"type": "url", "url": format!("http://host/{}", words.said(None))}})
}
