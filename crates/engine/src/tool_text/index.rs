//! An index of the words of a conversation, so that it is not read completely before each request. A pure function of
//! its messages: it can be dropped at any time.

use crate::tool_text::input::LongInput;
use crate::tool_text::result::words;
use ctx_core::content::{CallInput, Content};
use ctx_core::fast_map::{FastSet, NameMap, Quick};
use ctx_core::message::{Message, Role};
use ctx_core::policy::stub::{StubForm, names, result_stub};
use ctx_core::{Key, ToolRole, tokens};
use ctx_wire::Wire;
use ctx_wire::body::Body;
use serde_json::Value;
use std::cell::{Ref, RefCell};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Estimated tokens of the sentence that names the file of a result.
const KEPT: f64 = 30.0;

#[derive(Debug, Default)]
pub struct TextIndex {
    /// The indexed messages.
    met: Vec<Key>,
    /// Hashes of the names in texts; and of those in texts and calls.
    said: FastSet<u64>,
    spoken: FastSet<u64>,
    calls: NameMap<Box<str>, IndexedCall>,
    /// Skills that were called, or started by a person; may include commands that are not skills.
    skills: Vec<Box<str>>,
    stubs: RefCell<StubNames>,
    /// The form of the stubs whose sizes are indexed.
    form: StubForm,
}

/// A call with its result.
#[derive(Debug, Default)]
pub struct IndexedCall {
    /// Its file, and its command or search pattern.
    path: Option<Box<str>>,
    command: Option<Box<str>>,
    /// Hashes of the names in it.
    names: Vec<u64>,
    /// Estimated tokens that would remain of its result, and of its input.
    pub left: Option<f64>,
    pub input_left: Option<f64>,
    /// The same of the input of a finished edit without the text that it replaced.
    pub unreplaced: Option<f64>,
}

/// The names in the stubs of a conversation, remembered because each request has the stubs of the one before.
#[derive(Debug, Default)]
struct StubNames {
    /// Hashes of the stubs.
    read: FastSet<u64>,
    names: FastSet<u64>,
}

impl StubNames {
    /// Reads the stubs that are new, or all of them if one has gone.
    fn update(&mut self, stubs: &[&str]) {
        let hashes: Vec<u64> = stubs.iter().map(|stub| quick_hash(stub)).collect();
        let known = hashes.iter().filter(|hash| self.read.contains(hash)).count();
        if known < self.read.len() {
            *self = StubNames::default();
        }
        for (stub, hash) in stubs.iter().zip(hashes) {
            if self.read.insert(hash) {
                self.names.extend(names(stub).map(self::hash));
            }
        }
    }
}

/// Names that occur elsewhere, and will remain there.
pub struct KnownNames<'i> {
    said: &'i FastSet<u64>,
    stubs: Option<Ref<'i, StubNames>>,
    others: FastSet<u64>,
}

impl KnownNames<'_> {
    pub fn has(&self, name: &str) -> bool {
        let name = hash(name);
        self.said.contains(&name)
            || self.others.contains(&name)
            || self.stubs.as_ref().is_some_and(|stubs| stubs.names.contains(&name))
    }

    pub fn learn(&mut self, text: &str) {
        self.others.extend(names(text).map(hash));
    }
}

impl TextIndex {
    /// Sizes stubs of this form from now on.
    pub fn use_form(&mut self, form: StubForm) {
        if self.form != form {
            *self = TextIndex { form, ..TextIndex::default() };
        }
    }

    /// Indexes the messages of a request, by their digests; their facts link results to calls.
    pub fn meet(&mut self, digests: &[Key], body: &Body, messages: &[&Message]) {
        if !digests.starts_with(&self.met) {
            *self = TextIndex { form: self.form, ..TextIndex::default() };
        }
        for (at, digest) in digests.iter().enumerate().skip(self.met.len()) {
            self.message(body.wire(), body.message(at), messages.get(at).copied());
            self.met.push(*digest);
        }
    }

    fn message(&mut self, wire: &dyn Wire, message: &[u8], facts: Option<&Message>) {
        let is_typed = wire.glance(message).0 == Role::User;
        let link = |at: usize| facts.and_then(|facts| facts.blocks.get(at)?.tool_use_id.as_deref());
        let contents = wire.contents(message).into_iter().enumerate();
        let contents: Vec<Content> = contents.map(|(at, content)| content.linked(link(at))).collect();
        // A call answered in the same message is one of the provider's own.
        let is_own = |id: &str| contents.iter().any(|content| content.answers() == Some(id));
        for content in &contents {
            match content {
                Content::Text { text } => self.text(text, is_typed),
                Content::Call { id, name, input: CallInput::Json(input) } => {
                    let call = id.as_deref().unwrap_or_default();
                    if !is_own(call) {
                        self.call_made(call, name, input);
                    }
                }
                Content::Result { id, error, .. } => {
                    let Some(words) = words(wire, content) else { continue };
                    if *error || ctx_clients::lexicon().is_failed_result(&words) {
                        self.indexed(id.as_deref().unwrap_or_default()).unreplaced = None;
                    }
                    let left = result_stub(&words, None, self.form, |name| self.spoken.contains(&hash(name)));
                    let left = tokens::estimate(left.chars().count() as u32, 0) + KEPT;
                    self.indexed(id.as_deref().unwrap_or_default()).left = Some(left);
                }
                Content::Image { .. } | Content::Document { .. } | Content::Reasoning { .. } | Content::Raw { .. } => {}
            }
        }
    }

    fn text(&mut self, text: &str, is_typed: bool) {
        self.say(text);
        // A person who types `/name` starts the skill of that name, if there is one.
        if is_typed {
            ctx_clients::lexicon().commands(text).into_iter().for_each(|name| self.begin(name));
        }
    }

    fn begin(&mut self, skill: &str) {
        if !self.skills.iter().any(|known| **known == *skill) {
            self.skills.push(skill.into());
        }
    }

    fn call_made(&mut self, call: &str, tool: &str, input: &str) {
        let value: Value = serde_json::from_str(input).unwrap_or_default();
        self.ask(call, tool, &value);
        if let Some(long) = LongInput::of(input) {
            let short = long.short(None, self.form, &|name| self.spoken.contains(&hash(name)));
            let left = tokens::estimate(short.chars().count() as u32, 0) + KEPT;
            self.indexed(call).input_left = Some(left);
        }
        if let Some(replaced) = LongInput::replaced(input) {
            let left = tokens::estimate(replaced.without().chars().count() as u32, 0);
            self.indexed(call).unreplaced = Some(left);
        }
        let names: Vec<u64> = names(&value.to_string()).map(hash).collect();
        self.spoken.extend(&names);
        self.indexed(call).names = names;
    }

    fn ask(&mut self, call: &str, tool: &str, input: &Value) {
        let lexicon = ctx_clients::lexicon();
        let is_skill = lexicon.role(tool) == ToolRole::Skill;
        if let Some(skill) = lexicon.skills().find_map(|name| input[name].as_str()).filter(|_| is_skill) {
            self.begin(skill);
        }
        let path = lexicon.paths().find_map(|name| input[name].as_str()).map(Into::into);
        let command = lexicon.commands_of_tools().find_map(|name| input[name].as_str()).map(Into::into);
        let indexed = self.indexed(call);
        (indexed.path, indexed.command) = (path, command);
    }

    fn indexed(&mut self, call: &str) -> &mut IndexedCall {
        self.calls.entry(call.into()).or_default()
    }

    /// The file of a call, and its command or search pattern.
    pub fn call(&self, call: &str) -> (Option<&str>, Option<&str>) {
        self.calls.get(call).map_or((None, None), |call| (call.path.as_deref(), call.command.as_deref()))
    }

    pub fn get(&self, call: &str) -> Option<&IndexedCall> {
        self.calls.get(call)
    }

    pub fn skills(&self) -> Vec<&str> {
        self.skills.iter().map(|skill| &**skill).collect()
    }

    fn say(&mut self, text: &str) {
        let names: Vec<u64> = names(text).map(hash).collect();
        self.said.extend(&names);
        self.spoken.extend(names);
    }

    /// The names in texts.
    pub fn said(&self) -> KnownNames<'_> {
        KnownNames { said: &self.said, stubs: None, others: FastSet::default() }
    }

    /// The names in texts, in the inputs of these calls, and in these stubs.
    pub fn known<'c>(&self, calls: impl Iterator<Item = &'c str>, stubs: &[&str]) -> KnownNames<'_> {
        self.stubs.borrow_mut().update(stubs);
        let others = calls.filter_map(|call| self.calls.get(call)).flat_map(|call| &call.names).copied().collect();
        KnownNames { stubs: Some(self.stubs.borrow()), others, ..self.said() }
    }

    /// Whether a message is indexed: a result in it without an estimate must not be cleared.
    pub fn has(&self, message: usize) -> bool {
        message < self.met.len()
    }
}

fn quick_hash(text: &str) -> u64 {
    let mut hasher = Quick::default();
    hasher.write(text.as_bytes());
    hasher.finish()
}

fn hash(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_wire::anthropic::Anthropic;
    use serde_json::json;

    #[test]
    fn skills_are_begun_by_the_tool_and_by_who_types_their_name() {
        let typed = "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args></command-args>";
        let called = json!([{"type": "tool_use", "id": "t", "name": "Skill", "input": {"skill": "own:deploy"}}]);
        let quoted = json!([{"type": "text", "text": "<command-name>/quoted</command-name>"}]);
        let messages = [("user", json!(typed)), ("assistant", quoted), ("assistant", called), ("user", json!(typed))];
        let mut memory = TextIndex::default();
        for (role, content) in messages {
            memory.message(&Anthropic, json!({"role": role, "content": content}).to_string().as_bytes(), None);
        }
        assert_eq!(memory.skills(), ["review", "own:deploy"]);
    }

    #[test]
    fn calls_without_ids_are_known_by_their_links() {
        let wire = ctx_wire::wire(ctx_wire::WireId::Gemini);
        let call = json!({"functionCall": {"name": "read_file", "args": {"file_path": "/a"}}});
        let message = json!({"role": "model", "parts": [call]}).to_string();
        let mut facts = wire.read(message.as_bytes(), ctx_clients::lexicon()).facts;
        ctx_core::links::name_calls(&mut facts, ctx_core::SlotId(1));
        let mut memory = TextIndex::default();
        memory.message(wire, message.as_bytes(), Some(&facts));
        assert_eq!(memory.call("~1.0").0, Some("/a"));
    }
}
