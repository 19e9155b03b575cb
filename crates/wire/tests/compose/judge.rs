//! One request with effects, and all that must hold for what is made of it.

use crate::effects::id;
use ctx_core::edit::effect::Effect;
use ctx_core::edit::fold::{Source, Unit, View, fold};
use ctx_core::key::Key;
use ctx_core::message::{Kind, Message};
use ctx_core::tree::SlotId;
use ctx_wire::anthropic::Anthropic;
use ctx_wire::anthropic::compose::{compose, go_on};
use ctx_wire::anthropic::{envelope, message};
use ctx_wire::body::Body;
use ctx_wire::compose::{ComposedRequest, Continuation, Input, Memo, untouched_prefix};
use ctx_wire::dress;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use testkit::fake_provider::{Options, check};

pub struct Case {
    body: Body,
    pub facts: Vec<Message>,
    digests: Vec<Key>,
    pub effects: Vec<Effect>,
    pub written: HashSet<Key>,
    pub bound: HashMap<Key, Key>,
}

fn bare(bytes: &[u8]) -> Vec<u8> {
    dress::undress(bytes, &message::read(bytes, ctx_clients::lexicon()).cuts).0
}

impl Case {
    pub fn read(bytes: Vec<u8>) -> Case {
        let body = Body::parse(bytes, &Anthropic).expect("a request");
        let count = body.spans().messages.len();
        let facts: Vec<Message> =
            (0..count).map(|at| message::read(body.message(at), ctx_clients::lexicon()).facts).collect();
        let digests: Vec<Key> = (0..count).map(|at| Key::of([bare(body.message(at)).as_slice()])).collect();
        let mut case =
            Case { body, facts, digests, effects: Vec::new(), written: HashSet::new(), bound: HashMap::new() };
        for (message, prefix) in case.facts.iter().zip(case.prefixes()) {
            case.bound.extend(message.blocks.iter().filter_map(|block| Some((block.signature?, prefix))));
        }
        case
    }

    fn around(&self) -> Key {
        envelope::read(self.body.bytes(), self.body.spans(), ctx_clients::lexicon()).digest
    }

    pub fn prefixes(&self) -> Vec<Key> {
        untouched_prefix(self.around(), &self.digests).collect()
    }

    /// Composes, and holds the result against everything that is promised.
    pub fn judge(&self, name: &str, prints: bool) -> (String, ComposedRequest) {
        let messages: Vec<&Message> = self.facts.iter().collect();
        let envelope = envelope::read(self.body.bytes(), self.body.spans(), ctx_clients::lexicon());
        let slots: Vec<SlotId> = (0..messages.len() as u64).map(SlotId).collect();
        let system: Vec<Key> = envelope.system.iter().map(|block| block.key).collect();
        let tools: Vec<&str> = envelope.tools.iter().flatten().map(|tool| &*tool.name).collect();
        let numbers = ctx_core::Numbers::default();
        let source = Source {
            slots: &slots,
            messages: &messages,
            system: &system,
            tools: &tools,
            numbers: &numbers,
            replies: ctx_core::Replies::none(),
            seams: &[],
        };
        let effects = self.effects.iter().enumerate().map(|(at, effect)| (id(at), effect)).collect();
        let view = fold(&source, effects);
        let memo = Memo::default();
        let input = Input {
            body: &self.body,
            envelope: &envelope,
            messages: &messages,
            digests: &self.digests,
            around: envelope.digest,
            paused: None,
            bound: &|signature| self.bound.get(signature).copied(),
            written: &|prefix| self.written.contains(prefix),
            next: None,
            memo: &memo,
            under: Some(Continuation::unchanged(1)),
        };
        let composed = compose(&input, &view);
        let again = go_on(&input, &|| &view).unwrap_or_else(|| compose(&input, &view));
        assert_eq!(composed, again, "{name}: not the same twice");
        let bytes = composed.bytes(self.body.bytes());
        let text = String::from_utf8(bytes).expect("text");
        if prints {
            println!("{text}\n{:#?}", composed.repairs);
        }
        let value: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
        let manual = value["thinking"]["type"] == "enabled";
        let options = Options { bind_thinking: !manual, tool_search: true, ..Options::strict() };
        if let Err(refused) = check(text.as_bytes(), &options) {
            panic!("{name}: {refused}\n{text}\n{:#?}", composed.repairs);
        }
        server_pairs(name, &value);
        tools_fit(name, &value);
        self.each_once(name, &view, &messages, &value, &composed);
        self.untouched_is_untouched(name, &view, &messages, &text, &composed);
        (text, composed)
    }

    /// What is covered is gone, what is not is there once, unless a repair says why.
    fn each_once(&self, name: &str, view: &View<'_>, messages: &[&Message], sent: &Value, composed: &ComposedRequest) {
        let mut there: HashMap<String, usize> = HashMap::new();
        for block in blocks(sent) {
            *there.entry(essence(block)).or_default() += 1;
        }
        let source: Value = serde_json::from_slice(self.body.bytes()).expect("JSON");
        let told = |id: &str| composed.repairs.iter().any(|repair| repair.what.contains(id));
        let has = |rule: &str| composed.repairs.iter().any(|repair| repair.rule == rule);
        let mut expected: HashMap<String, (usize, usize)> = HashMap::new();
        for laid in view.frames.iter().flat_map(|frame| view.units(frame, messages)) {
            let Unit::Source { message, block: Some(block) } = laid.unit else { continue };
            let facts = &messages[message].blocks[block];
            let mut content = match &source["messages"][message]["content"] {
                Value::String(text) => serde_json::json!({"type": "text", "text": text}),
                list => list[block].clone(),
            };
            if let (Some(text), None) = (view.new_result(&laid), laid.covered) {
                content["content"] = text.into();
            }
            let excused = match facts.kind {
                Kind::Thinking => true,
                _ if has("A13") || has("A26") => true,
                _ => facts.tool_use_id.as_deref().is_some_and(told),
            };
            let (least, most) = expected.entry(essence(&content)).or_default();
            if laid.covered.is_none() {
                *most += 1;
                *least += usize::from(!excused);
            }
        }
        for (what, (least, most)) in expected {
            let found = there.get(&what).copied().unwrap_or(0);
            // What we made may say the same.
            let ours = what.contains("\"made\"");
            assert!(found >= least && (found <= most || ours), "{name}: {found} times: {what}\n{sent}");
        }
    }

    /// A message of which nothing was covered or replaced keeps its bytes, cache marks aside.
    fn untouched_is_untouched(
        &self,
        name: &str,
        view: &View<'_>,
        messages: &[&Message],
        text: &str,
        composed: &ComposedRequest,
    ) {
        let repaired =
            composed.repairs.iter().any(|repair| matches!(repair.rule, "A30" | "A31" | "A33" | "A34" | "A40" | "A13"));
        let torn = self.effects.iter().any(|effect| {
            matches!(
                effect,
                Effect::Split { .. } | Effect::Move { .. } | Effect::Combine { .. } | Effect::Insert { .. }
            )
        });
        if repaired || torn {
            return;
        }
        let sent = Body::parse(text.as_bytes().to_vec(), &Anthropic).expect("a request");
        let sent: HashSet<Vec<u8>> = (0..sent.spans().messages.len()).map(|at| bare(sent.message(at))).collect();
        let mut touched = vec![false; messages.len()];
        for laid in view.frames.iter().flat_map(|frame| view.units(frame, messages)) {
            if let Unit::Source { message, .. } = laid.unit {
                touched[message] |= laid.covered.is_some() || laid.result.is_some();
            }
        }
        for (at, message) in messages.iter().enumerate() {
            let thinks = message.blocks.iter().any(|block| block.kind == Kind::Thinking);
            let may_differ = touched[at] || (thinks && composed.thinking_dropped > 0);
            if !may_differ {
                assert!(sent.contains(&bare(self.body.message(at))), "{name}: message {at} has changed\n{text}");
            }
        }
        if !touched.contains(&true) && composed.repairs.is_empty() && self.written.is_empty() {
            let array = &self.body.bytes()[self.body.spans().array.clone()];
            assert!(text.as_bytes().windows(array.len()).any(|window| window == array), "{name}: messages changed");
        }
    }
}

fn blocks(body: &Value) -> Vec<&Value> {
    let messages = body["messages"].as_array().into_iter().flatten();
    messages
        .flat_map(|message| match &message["content"] {
            Value::Array(blocks) => blocks.iter().collect(),
            text => vec![text],
        })
        .collect()
}

/// A block without its mark, a text without its block.
fn essence(block: &Value) -> String {
    match block {
        Value::Object(fields) if fields.get("type").is_some_and(|kind| kind == "text") => {
            fields.get("text").map(Value::to_string).unwrap_or_default()
        }
        Value::Object(fields) => {
            let mut fields = fields.clone();
            fields.remove("cache_control");
            Value::Object(fields).to_string()
        }
        other => other.to_string(),
    }
}

/// What the fake provider does not look at: the provider's own tools.
fn server_pairs(name: &str, body: &Value) {
    let mut open: Vec<&Value> = Vec::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        if message["role"] == "user" {
            assert!(open.is_empty(), "{name}: {open:?} without a result\n{body}");
        }
        for block in message["content"].as_array().into_iter().flatten() {
            let kind = block["type"].as_str().unwrap_or_default();
            if kind == "server_tool_use" {
                open.push(&block["id"]);
            } else if kind.ends_with("_tool_result") && kind != "tool_result" {
                let at = open.iter().position(|id| **id == block["tool_use_id"]);
                let at = at.unwrap_or_else(|| panic!("{name}: a result without a call: {block}\n{body}"));
                open.remove(at);
            }
        }
    }
    assert!(open.is_empty(), "{name}: {open:?} without a result\n{body}");
}

fn tools_fit(name: &str, body: &Value) {
    let Some(tools) = body["tools"].as_array() else { return };
    let loaded = tools.iter().any(|tool| tool["defer_loading"] != true);
    assert!(tools.is_empty() || loaded, "{name}: no tool is loaded");
    let used = blocks(body).iter().any(|block| block["type"].as_str().is_some_and(|kind| kind.contains("tool_")));
    assert!(!tools.is_empty() || !used, "{name}: tools are used and none is defined");
}
