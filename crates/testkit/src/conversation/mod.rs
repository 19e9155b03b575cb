//! Request bodies as stock Claude Code writes them, byte for byte, for a growing conversation.
//!
//! A [`Session`] keeps one conversation and renders its current request: system blocks, tools, metadata, reminders or
//! system messages according to the model family, thinking signed so that the strict fake provider accepts it, and the
//! cache breakpoint on the last block, which moves each turn and changes contents between string and list. A seed
//! determines everything.
//!
//! Words and tools are invented; only the shape is the client's.

mod growth;
mod prose;
mod render;
mod scenery;

pub use crate::random::Random;

use crate::fake_provider::VOLATILE_SYSTEM;
use crate::fake_provider::binding::Prefix;
use crate::fake_provider::json::Fields;
use scenery::Scenery;
use serde_json::{Value, json};

/// The client's format for a model family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Newer models: the client's notes are messages of role "system".
    A,
    /// Older models: they are reminders inside user messages and tool results.
    B,
}

/// A message before rendering: always blocks, without breakpoints.
#[derive(Debug, Clone)]
struct Message {
    role: &'static str,
    blocks: Vec<Value>,
    /// Members next to the content of some system messages.
    output_config: Option<Value>,
}

/// A sub-agent of a session.
#[derive(Debug, Clone)]
struct Agent {
    id: String,
    parent: Option<String>,
}

/// One conversation of a client; see the module for its requests.
#[derive(Debug, Clone)]
pub struct Session {
    random: Random,
    family: Family,
    /// Overrides the family's default.
    model: Option<String>,
    interactive: bool,
    thinking: bool,
    stream: bool,
    hints: bool,
    lean: bool,
    session_id: String,
    device_id: String,
    prompt_id: String,
    /// Of the first user text: part of the attribution.
    fingerprint: String,
    agent: Option<Agent>,
    /// Without the attribution block, which is rendered.
    system: Vec<Value>,
    tools: Vec<Value>,
    messages: Vec<Message>,
    /// Calls of the last assistant message without a result.
    pending_calls: Vec<String>,
    /// Notes of the client for the next user message.
    events: Vec<String>,
    /// Text typed while a tool ran.
    interjections: Vec<String>,
    prefix: Prefix,
    /// The approximate size of the rendered messages.
    message_bytes: usize,
}

impl Session {
    /// A new interactive main conversation of family A with thinking.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut session = Self {
            family: Family::A,
            model: None,
            interactive: true,
            thinking: true,
            stream: true,
            hints: false,
            lean: false,
            session_id: random.uuid(),
            device_id: random.hex(64),
            prompt_id: random.uuid(),
            fingerprint: random.hex(3),
            agent: None,
            system: Vec::new(),
            tools: Vec::new(),
            messages: Vec::new(),
            pending_calls: Vec::new(),
            events: Vec::new(),
            interjections: Vec::new(),
            prefix: Prefix::new([], [], VOLATILE_SYSTEM),
            message_bytes: 0,
            random,
        };
        session.furnish();
        session
    }

    /// Uses the format of this model family. Call it before the first message.
    pub fn family(mut self, family: Family) -> Self {
        self.family = family;
        self.furnish();
        self
    }

    /// A tenth of the usual system prompt and tools, for bodies smaller than the client's first one. Call it before the
    /// first message.
    pub fn lean(mut self) -> Self {
        self.lean = true;
        self.furnish();
        self
    }

    /// Whether replies begin with a signed thinking block.
    pub fn thinking(mut self, thinking: bool) -> Self {
        self.thinking = thinking;
        self
    }

    /// Interactive, or `-p`.
    pub fn interactive(mut self, interactive: bool) -> Self {
        self.interactive = interactive;
        self
    }

    pub fn stream(mut self, stream: bool) -> Self {
        self.stream = stream;
        self
    }

    /// Whether the headers name the class of the request.
    pub fn hints(mut self, hints: bool) -> Self {
        self.hints = hints;
        self
    }

    pub fn model(mut self, model: &str) -> Self {
        self.model = Some(model.to_owned());
        self
    }

    pub fn session_id(&self) -> &str {
        &self.session_id
    }

    pub fn agent_id(&self) -> Option<&str> {
        self.agent.as_ref().map(|agent| agent.id.as_str())
    }

    /// The number of messages, including those of role "system".
    pub fn messages(&self) -> usize {
        self.messages.len()
    }

    /// A sub-agent of this session: the same session id, an agent id, its own conversation.
    pub fn subagent(&mut self) -> Self {
        let mut agent = Self::new(self.random.number());
        agent.session_id.clone_from(&self.session_id);
        agent.device_id.clone_from(&self.device_id);
        agent.prompt_id.clone_from(&self.prompt_id);
        agent.family = self.family;
        agent.model.clone_from(&self.model);
        agent.interactive = self.interactive;
        agent.thinking = self.thinking;
        agent.hints = self.hints;
        agent.lean = self.lean;
        agent.agent =
            Some(Agent { id: format!("a{}", self.random.hex(16)), parent: self.agent_id().map(str::to_owned) });
        agent.furnish();
        agent
    }

    /// The same history under a new session id, as with `--fork-session`.
    pub fn fork(&mut self) -> Self {
        let mut fork = self.clone();
        fork.session_id = self.random.uuid();
        fork.random = Random::new(self.random.number());
        fork
    }

    /// A note of the client for the next user message.
    pub fn event(&mut self, text: &str) -> &mut Self {
        self.events.push(text.to_owned());
        self
    }

    /// Text typed while a tool runs: it is sent with the results.
    pub fn interject(&mut self, text: &str) -> &mut Self {
        self.interjections.push(text.to_owned());
        self
    }

    /// The user's text.
    pub fn user(&mut self, text: &str) -> &mut Self {
        self.prompt_id = self.random.uuid();
        let first = self.messages.is_empty();
        let mut blocks = Vec::new();
        let mut told = std::mem::take(&mut self.events);
        if first {
            let scenery = self.scenery();
            blocks.push(reminder(&scenery.project_notes(&mut self.random)));
            if self.agent.is_none() {
                told.insert(0, scenery.environment(&mut self.random));
            }
        }
        match self.family {
            Family::A => {
                blocks.push(text_block(text));
                self.push("user", blocks);
                if !told.is_empty() {
                    let effort = first.then(|| json!({"effort": "medium"}));
                    self.push_system(&told.join("\n\n"), effort);
                }
            }
            Family::B => {
                blocks.extend(told.iter().map(|text| reminder(text)));
                blocks.push(text_block(text));
                self.push("user", blocks);
            }
        }
        self
    }

    /// A text reply.
    pub fn assistant(&mut self, text: &str) -> &mut Self {
        let mut blocks = self.thoughts();
        blocks.push(text_block(text));
        self.assistant_blocks(blocks)
    }

    /// A reply that calls tools, in parallel if there are several.
    pub fn assistant_tools(&mut self, calls: &[(&str, Value)]) -> &mut Self {
        let mut blocks = self.thoughts();
        for (name, input) in calls {
            let id = self.random.letters(prose::BASE62, 22);
            blocks.push(json!({
                "type": "tool_use", "id": format!("toolu_01{id}"), "name": name, "input": input,
            }));
        }
        self.assistant_blocks(blocks)
    }

    /// A reply as the provider gave it.
    pub fn assistant_blocks(&mut self, blocks: Vec<Value>) -> &mut Self {
        let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
        let ids = calls.filter_map(|call| call["id"].as_str());
        self.pending_calls = ids.map(str::to_owned).collect();
        self.push("assistant", blocks);
        self
    }

    /// The results of the pending calls, in order. A call without one gets an empty output; a result without a call is
    /// ignored.
    pub fn results(&mut self, outputs: &[&str]) -> &mut Self {
        let calls = std::mem::take(&mut self.pending_calls);
        let mut outputs: Vec<String> = outputs.iter().map(|text| (*text).to_owned()).collect();
        outputs.resize(calls.len(), "(no output)".to_owned());
        let typed = std::mem::take(&mut self.interjections);
        let told = std::mem::take(&mut self.events);
        if let (Family::B, Some(last)) = (self.family, outputs.last_mut()) {
            for text in told.iter().chain(&typed) {
                last.truncate(last.trim_end().len());
                last.push_str(&format!("\n\n<system-reminder>\n{text}\n</system-reminder>"));
            }
        }
        let mut blocks: Vec<Value> = Vec::new();
        for (id, output) in calls.iter().zip(outputs) {
            let mut result = json!({"tool_use_id": id, "type": "tool_result", "content": output});
            if self.random.chance(30) {
                result["is_error"] = false.into();
            }
            blocks.push(result);
        }
        if self.family == Family::A {
            blocks.extend(typed.iter().map(|text| text_block(text)));
        }
        if !blocks.is_empty() {
            self.push("user", blocks);
        }
        if self.family == Family::A && !told.is_empty() {
            self.push_system(&told.join("\n\n"), None);
        }
        self
    }

    /// Thinking at the beginning of this family's replies: newer models hide theirs.
    fn thoughts(&mut self) -> Vec<Value> {
        if !self.thinking {
            return Vec::new();
        }
        let thought = match self.family {
            Family::A => String::new(),
            Family::B => prose::paragraph(&mut self.random, 3),
        };
        let mut block = Fields::new();
        block.insert("type".into(), "thinking".into());
        block.insert("thinking".into(), thought.into());
        let name = self.random.hex(8);
        self.prefix.sign(&mut block, &name);
        vec![block.into()]
    }

    fn push_system(&mut self, text: &str, output_config: Option<Value>) {
        self.push("system", vec![text_block(text)]);
        if let Some(message) = self.messages.last_mut() {
            message.output_config = output_config;
        }
    }

    fn push(&mut self, role: &'static str, blocks: Vec<Value>) {
        for block in blocks.iter().filter_map(Value::as_object) {
            self.prefix.feed(Some(role), block);
        }
        let message = Message { role, blocks, output_config: None };
        self.message_bytes += render::message(&message, None).to_string().len() + 1;
        self.messages.push(message);
    }

    fn scenery(&self) -> Scenery {
        Scenery { family: self.family, is_agent: self.agent.is_some(), lean: self.lean }
    }

    /// System and tools of the family, for a new conversation.
    fn furnish(&mut self) {
        let mut random = Random::new(self.random.clone().number());
        let scenery = self.scenery();
        self.system = scenery.system(&mut random);
        self.tools = scenery.tools(&mut random);
        let system = self.system.iter().filter_map(Value::as_object);
        let tools = self.tools.iter().filter_map(Value::as_object);
        let loaded = tools.filter(|tool| !tool.contains_key("defer_loading"));
        self.prefix = Prefix::new(system, loaded, VOLATILE_SYSTEM);
    }
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// Blocks before another text block end with a line break.
fn reminder(text: &str) -> Value {
    text_block(&format!("<system-reminder>\n{text}\n</system-reminder>\n"))
}
