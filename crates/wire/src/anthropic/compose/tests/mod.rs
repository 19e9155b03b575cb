//! Each rule on a small request.

mod bytes;
mod cache;
mod open_loop;
mod paused;
mod rules;
mod settled;
mod stays;
mod thinking;
mod waits;

use super::*;
use crate::anthropic::{Anthropic, envelope, message};
use crate::body::Body;
use crate::compose::{Continuation, Memo, untouched_prefix};
use crate::dress;
use ctx_core::edit::effect::{BlockRef, Cover, Effect, EffectId, MessageRef, NewMessage, NewResult, Why};
use ctx_core::edit::fold::{Source, fold};
use ctx_core::edit::history::CommitId;
use ctx_core::key::Key;
use ctx_core::message::{Message, Role};
use ctx_core::tree::SlotId;
use std::collections::HashMap;

/// A request with effects laid over it.
pub(super) struct Case {
    body: Body,
    facts: Vec<Message>,
    digests: Vec<Key>,
    effects: Vec<Effect>,
    /// The effects under which the paused answer was given.
    then: Option<Vec<Effect>>,
    pub written: Vec<Key>,
    pub next: Option<u32>,
    /// The first message that operations have changed since the previous request.
    pub edited_from: usize,
    pub bound: HashMap<Key, Key>,
}

pub(super) struct Done {
    pub text: String,
    pub composed: ComposedRequest,
    /// The prefix digests of the untouched request.
    pub prefixes: Vec<Key>,
}

fn around() -> Key {
    Key::of([b"around".as_slice()])
}

impl Case {
    /// Builds a case from the messages of a request.
    pub fn of(messages: &[&str]) -> Case {
        let tools = r#"[{"name":"Read","input_schema":{"type":"object"}}]"#;
        Case::body(&format!(r#"{{"model":"m","max_tokens":9,"messages":[{}],"tools":{tools}}}"#, messages.join(",")))
    }

    pub fn body(text: &str) -> Case {
        let body = Body::parse(text.as_bytes().to_vec(), &Anthropic).unwrap();
        let read: Vec<crate::Reading> = (0..body.spans().messages.len())
            .map(|at| message::read(body.message(at), ctx_clients::lexicon()))
            .collect();
        let bare =
            |(at, read): (usize, &crate::Reading)| Key::of([dress::undress(body.message(at), &read.cuts).0.as_slice()]);
        let digests: Vec<Key> = read.iter().enumerate().map(bare).collect();
        let facts: Vec<Message> = read.into_iter().map(|read| read.facts).collect();
        let mut bound = HashMap::new();
        for (message, prefix) in facts.iter().zip(untouched_prefix(around(), &digests)) {
            bound.extend(message.blocks.iter().filter_map(|block| Some((block.signature?, prefix))));
        }
        Case {
            body,
            facts,
            digests,
            effects: Vec::new(),
            then: None,
            written: Vec::new(),
            next: None,
            edited_from: usize::MAX,
            bound,
        }
    }

    fn cover(&self, at: &[(usize, usize)]) -> Vec<Cover> {
        at.iter()
            .map(|&(message, block)| {
                let facts = &self.facts[message];
                let named = facts.blocks.get(block).map(|facts| BlockRef::of(block as u32, facts));
                Cover::blocks(MessageRef::Slot(SlotId(message as u64)), facts.key, named.into_iter().collect())
            })
            .collect()
    }

    /// Deletes blocks (message, block).
    pub fn delete(mut self, at: &[(usize, usize)]) -> Case {
        let covers = self.cover(at);
        self.effects.push(Effect::Replace { why: Why::Deleted, covers, by: Vec::new() });
        self
    }

    /// Deletes messages.
    pub fn delete_messages(self, at: &[usize]) -> Case {
        let blocks = at.iter().flat_map(|&m| (0..self.facts[m].blocks.len().max(1)).map(move |b| (m, b)));
        let blocks: Vec<_> = blocks.collect();
        self.delete(&blocks)
    }

    pub fn replace(mut self, at: &[(usize, usize)], by: &[(Option<Role>, &[&str])]) -> Case {
        let covers = self.cover(at);
        self.effects.push(Effect::Replace { why: Why::Edited, covers, by: made(by) });
        self
    }

    pub fn result(mut self, at: (usize, usize), text: &str) -> Case {
        let block = BlockRef::of(at.1 as u32, &self.facts[at.0].blocks[at.1]);
        let results = vec![NewResult { of: MessageRef::Slot(SlotId(at.0 as u64)), block, text: text.into() }];
        self.effects.push(Effect::Results { results, summarized: false });
        self
    }

    pub fn effect(mut self, effect: Effect) -> Case {
        self.effects.push(effect);
        self
    }

    pub fn under(self, effects: Vec<Effect>) -> Case {
        Case { then: Some(effects), ..self }
    }

    pub fn prefixes(&self) -> Vec<Key> {
        untouched_prefix(around(), &self.digests).collect()
    }

    pub fn compose(&self) -> Done {
        self.compose_with(&Memo::default()).0
    }

    /// Composes with the memo of an earlier request. Returns whether it continued from it.
    pub fn compose_with(&self, memo: &Memo) -> (Done, bool) {
        let messages: Vec<&Message> = self.facts.iter().collect();
        let envelope = envelope::read(self.body.bytes(), self.body.spans(), ctx_clients::lexicon());
        let slots: Vec<SlotId> = (0..messages.len() as u64).map(SlotId).collect();
        let system: Vec<Key> =
            envelope.system.iter().map(|block| Key::of([&self.body.bytes()[block.at.clone()]])).collect();
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
        let id = |index: usize| EffectId { commit: CommitId(1), index: index as u32 };
        let view = fold(&source, self.effects.iter().enumerate().map(|(at, effect)| (id(at), effect)).collect());
        let then = self.then.iter().flatten().enumerate().map(|(at, effect)| (id(at), effect)).collect();
        let then = self.then.as_ref().map(|_| fold(&source, then));
        let input = Input {
            body: &self.body,
            envelope: &envelope,
            messages: &messages,
            digests: &self.digests,
            around: around(),
            paused: then.as_ref(),
            bound: &|signature| self.bound.get(signature).copied(),
            written: &|prefix| self.written.contains(prefix),
            next: self.next,
            memo,
            under: Some(Continuation { number: 1, edited_from: self.edited_from }),
        };
        let continued = go_on(&input, &|| &view);
        let composed = compose(&input, &view);
        let is_continued = continued.is_some();
        assert_eq!(continued.unwrap_or_else(|| composed.clone()), composed);
        assert_eq!(go_on(&input, &|| &view).unwrap_or_else(|| compose(&input, &view)), composed);
        let text = String::from_utf8(composed.bytes(self.body.bytes())).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        (Done { text, composed, prefixes: self.prefixes() }, is_continued)
    }
}

pub(super) fn made(by: &[(Option<Role>, &[&str])]) -> Vec<NewMessage> {
    by.iter()
        .map(|(role, blocks)| NewMessage {
            role: *role,
            content: blocks.iter().map(|block| crate::anthropic::content::restored(block)).collect(),
        })
        .collect()
}

impl Done {
    /// The messages as spelled.
    pub fn messages(&self) -> Vec<String> {
        let body = Body::parse(self.text.clone().into_bytes(), &Anthropic).unwrap();
        (0..body.spans().messages.len()).map(|at| String::from_utf8(body.message(at).to_vec()).unwrap()).collect()
    }

    pub fn rules(&self) -> Vec<&'static str> {
        self.composed.repairs.iter().map(|repair| repair.rule).collect()
    }
}

pub(super) fn user(text: &str) -> String {
    format!(r#"{{"role":"user","content":"{text}"}}"#)
}

pub(super) fn says(text: &str) -> String {
    format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}"#)
}

pub(super) fn system(text: &str) -> String {
    format!(r#"{{"role":"system","content":"{text}"}}"#)
}

pub(super) fn call(id: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"Read","input":{{"file_path":"/{id}"}}}}"#)
}

pub(super) fn result(id: &str) -> String {
    format!(r#"{{"tool_use_id":"{id}","type":"tool_result","content":"of {id}"}}"#)
}

pub(super) fn text(text: &str) -> String {
    format!(r#"{{"type":"text","text":"{text}"}}"#)
}

pub(super) fn thinks(signature: &str) -> String {
    format!(r#"{{"type":"thinking","thinking":"","signature":"{signature}"}}"#)
}

pub(super) fn list(role: &str, blocks: &[String]) -> String {
    format!(r#"{{"role":"{role}","content":[{}]}}"#, blocks.join(","))
}

pub(super) fn strs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}
