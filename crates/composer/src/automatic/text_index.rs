//! An index of the words of a conversation, so that not all of it is read again before each request. A pure function of
//! its messages: it can be dropped at any time.

use super::content::Content;
use super::input::Call;
use ctx_core::policy::extract::{extract, names};
use ctx_core::tokens;
use ctx_core::{Key, ToolRole};
use ctx_wire::body::Body;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Estimated tokens of a sentence that tells where the content of a result is kept.
const KEPT: f64 = 30.0;

#[derive(Debug, Default)]
pub struct TextIndex {
    /// The messages that were met.
    met: Vec<Key>,
    /// Names that stand in what was said, by their hashes; and with those in what was called.
    said: HashSet<u64>,
    spoken: HashSet<u64>,
    /// Those in what was called, by the call.
    called: HashMap<Box<str>, Vec<u64>>,
    /// Estimated tokens that would be left of each result, and of what each call was asked with.
    left: HashMap<Box<str>, f64>,
    input_left: HashMap<Box<str>, f64>,
    /// The file that each call is about, and the command that it runs or what it searches for.
    asked: HashMap<Box<str>, Asked>,
    /// Skills that were called, or begun by a person; commands that are none are among them.
    skills: Vec<Box<str>>,
}

type Asked = (Option<Box<str>>, Option<Box<str>>);

#[derive(Deserialize)]
struct Said<'m> {
    #[serde(borrow, default)]
    role: Cow<'m, str>,
    #[serde(borrow, default)]
    content: Option<&'m RawValue>,
}

impl TextIndex {
    /// Meets the messages of a request, by what identifies each.
    pub fn meet(&mut self, digests: &[Key], body: &Body) {
        if !digests.starts_with(&self.met) {
            *self = TextIndex::default();
        }
        for (at, digest) in digests.iter().enumerate().skip(self.met.len()) {
            self.message(body.message(at));
            self.met.push(*digest);
        }
    }

    fn message(&mut self, message: &[u8]) {
        let Ok(message) = serde_json::from_slice::<Said<'_>>(message) else { return };
        let is_typed = message.role == "user";
        let Some(content) = message.content else { return };
        if let Ok(text) = serde_json::from_str::<String>(content.get()) {
            return self.text(&text, is_typed);
        }
        let blocks = serde_json::from_str::<Vec<&RawValue>>(content.get());
        blocks.into_iter().flatten().for_each(|block| self.block(block.get(), is_typed));
    }

    fn text(&mut self, text: &str, is_typed: bool) {
        self.say(text);
        // A person who types `/name` begins the skill of that name, if there is one.
        if is_typed {
            ctx_clients::lexicon().commands(text).into_iter().for_each(|name| self.begin(name));
        }
    }

    fn begin(&mut self, skill: &str) {
        if !self.skills.iter().any(|known| **known == *skill) {
            self.skills.push(skill.into());
        }
    }

    fn block(&mut self, raw: &str, is_typed: bool) {
        let Ok(block) = &serde_json::from_str::<Value>(raw) else { return };
        match block["type"].as_str() {
            Some("text") => self.text(block["text"].as_str().unwrap_or_default(), is_typed),
            Some("tool_use") => {
                self.ask(block);
                let call: Box<str> = block["id"].as_str().unwrap_or_default().into();
                let input = block["input"].to_string();
                if let Some(long) = Call::of(raw.as_bytes()) {
                    let short = long.short(None, &|name| self.spoken.contains(&hash(name)));
                    let left = tokens::estimate(short.chars().count() as u32, 0) + KEPT;
                    self.input_left.insert(call.clone(), left);
                }
                let names: Vec<u64> = names(&input).map(hash).collect();
                self.spoken.extend(&names);
                self.called.insert(call, names);
            }
            Some("tool_result") => {
                let Some(content) = Content::of(raw.as_bytes()) else { return };
                let left = extract(content.words(), None, |name| self.spoken.contains(&hash(name)));
                let left = tokens::estimate(left.chars().count() as u32, 0) + KEPT;
                self.left.insert(block["tool_use_id"].as_str().unwrap_or_default().into(), left);
            }
            _ => {}
        }
    }

    fn ask(&mut self, block: &Value) {
        let (lexicon, input) = (ctx_clients::lexicon(), &block["input"]);
        let is_skill = block["name"].as_str().is_some_and(|tool| lexicon.role(tool) == ToolRole::Skill);
        if let Some(skill) = lexicon.skills().find_map(|name| input[name].as_str()).filter(|_| is_skill) {
            self.begin(skill);
        }
        let path = lexicon.paths().find_map(|name| input[name].as_str()).map(Into::into);
        let command = lexicon.commands_of_tools().find_map(|name| input[name].as_str()).map(Into::into);
        let id = block["id"].as_str().unwrap_or_default().into();
        self.asked.insert(id, (path, command));
    }

    /// The file that a call is about, and the command that it runs or what it searches for.
    pub fn call(&self, call: &str) -> (Option<&str>, Option<&str>) {
        self.asked.get(call).map_or((None, None), |(path, command)| (path.as_deref(), command.as_deref()))
    }

    pub fn skills(&self) -> Vec<&str> {
        self.skills.iter().map(|skill| &**skill).collect()
    }

    fn say(&mut self, text: &str) {
        let names: Vec<u64> = names(text).map(hash).collect();
        self.said.extend(&names);
        self.spoken.extend(names);
    }

    /// Names that stand in what was said, or in what these calls were asked with.
    pub fn known<'c>(&self, calls: impl Iterator<Item = &'c str>) -> HashSet<u64> {
        let called = calls.filter_map(|call| self.called.get(call)).flatten();
        self.said.iter().chain(called).copied().collect()
    }

    pub fn left(&self, call: &str) -> Option<f64> {
        self.left.get(call).copied()
    }

    /// Whether a result of a message that was met is one that must not go.
    pub fn stays(&self, message: usize, call: &str) -> bool {
        message < self.met.len() && !self.left.contains_key(call)
    }

    pub fn input_left(&self, call: &str) -> Option<f64> {
        self.input_left.get(call).copied()
    }
}

pub fn hash(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn skills_are_begun_by_the_tool_and_by_who_types_their_name() {
        let typed = "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args></command-args>";
        let called = json!([{"type": "tool_use", "id": "t", "name": "Skill", "input": {"skill": "own:deploy"}}]);
        let quoted = json!([{"type": "text", "text": "<command-name>/quoted</command-name>"}]);
        let messages = [("user", json!(typed)), ("assistant", quoted), ("assistant", called), ("user", json!(typed))];
        let mut memory = TextIndex::default();
        for (role, content) in messages {
            memory.message(json!({"role": role, "content": content}).to_string().as_bytes());
        }
        assert_eq!(memory.skills(), ["review", "own:deploy"]);
    }
}
