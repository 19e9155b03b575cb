//! The wire on small requests.

mod compose;
mod people;
mod reading;
mod tap;
mod ties;

use super::*;
use ctx_core::edit::effect::{BlockRef, Cover, Effect, EffectId, FrameRef, MessageRef, NewResult, Place, Why};
use ctx_core::edit::effect::{FrameKey, NewMessage};
use ctx_core::edit::fold::{Source, fold};
use ctx_core::edit::history::CommitId;
use ctx_core::key::Key;
use ctx_core::message::Message;
use ctx_core::tree::SlotId;

/// A request with effects laid over it.
struct Case {
    body: Body,
    facts: Vec<Message>,
    effects: Vec<Effect>,
}

/// The items that are sent, and the rules of the repairs.
struct Done {
    text: String,
    items: Vec<String>,
    rules: Vec<&'static str>,
    dropped: usize,
}

impl Case {
    fn of(items: &[&str]) -> Case {
        Case::body(&format!(r#"{{"model":"m","input":[{}]}}"#, items.join(",")))
    }

    fn body(text: &str) -> Case {
        let body = Body::parse(text.as_bytes().to_vec(), &Responses).unwrap();
        let count = body.spans().messages.len();
        let facts = (0..count).map(|at| body.read_message(at, ctx_clients::lexicon()).facts).collect();
        Case { body, facts, effects: Vec::new() }
    }

    fn effect(mut self, effect: Effect) -> Case {
        self.effects.push(effect);
        self
    }

    fn covers(&self, at: &[(usize, usize)]) -> Vec<Cover> {
        let cover = |&(message, block): &(usize, usize)| {
            let facts: &Message = &self.facts[message];
            let named = facts.blocks.get(block).map(|facts| BlockRef::of(block as u32, facts));
            Cover::blocks(MessageRef::Slot(SlotId(message as u64)), facts.key, named.into_iter().collect())
        };
        at.iter().map(cover).collect()
    }

    /// Deletes blocks (item, block).
    fn delete(self, at: &[(usize, usize)]) -> Case {
        let covers = self.covers(at);
        self.effect(Effect::Replace { why: Why::Deleted, covers, by: Vec::new() })
    }

    /// Deletes items of one block.
    fn delete_items(self, at: &[usize]) -> Case {
        let blocks: Vec<(usize, usize)> = at.iter().map(|at| (*at, 0)).collect();
        self.delete(&blocks)
    }

    fn replace(self, at: (usize, usize), role: Option<Role>, content: Vec<Content>) -> Case {
        let covers = self.covers(&[at]);
        self.effect(Effect::Replace { why: Why::Edited, covers, by: vec![NewMessage { role, content }] })
    }

    fn result(self, at: usize, text: &str) -> Case {
        let block = BlockRef::of(0, &self.facts[at].blocks[0]);
        let results = vec![NewResult { of: MessageRef::Slot(SlotId(at as u64)), block, text: text.into() }];
        self.effect(Effect::Results { results, summarized: false })
    }

    /// Inserts messages behind the frame that an item opens.
    fn insert_behind(self, opening: usize, messages: Vec<NewMessage>) -> Case {
        let frame = FrameRef { key: FrameKey::Opened(SlotId(opening as u64)), until: None };
        self.effect(Effect::Insert { number: 1, messages, to: Place::After(frame), title: None })
    }

    fn compose(&self) -> Done {
        let messages: Vec<&Message> = self.facts.iter().collect();
        let digests: Vec<Key> = (0..messages.len()).map(|at| Key::of([self.body.message(at)])).collect();
        let envelope = self.body.envelope(ctx_clients::lexicon());
        let slots: Vec<SlotId> = (0..messages.len() as u64).map(SlotId).collect();
        let system: Vec<Key> = envelope.system.iter().map(|piece| piece.key).collect();
        let tools: Vec<&str> = envelope.tools.iter().flatten().map(|tool| &*tool.name).collect();
        let source = Source {
            slots: &slots,
            messages: &messages,
            system: &system,
            tools: &tools,
            numbers: &ctx_core::Numbers::default(),
            replies: ctx_core::Replies::none(),
            seams: &[],
        };
        let id = |index: usize| EffectId { commit: CommitId(1), index: index as u32 };
        let view = fold(&source, self.effects.iter().enumerate().map(|(at, effect)| (id(at), effect)).collect());
        let composed = Responses.compose(
            &Input {
                body: &self.body,
                envelope: &envelope,
                messages: &messages,
                digests: &digests,
                around: envelope.digest,
                paused: None,
                bound: &|_| None,
                written: &|_| false,
                next: None,
                memo: &crate::compose::Memo::default(),
                under: None,
            },
            &view,
        );
        let text = String::from_utf8(composed.bytes(self.body.bytes())).unwrap();
        let sent = Body::parse(text.clone().into_bytes(), &Responses).unwrap_or_else(|error| panic!("{error}: {text}"));
        let count = sent.spans().messages.len();
        Done {
            items: (0..count).map(|at| String::from_utf8(sent.message(at).to_vec()).unwrap()).collect(),
            rules: composed.repairs.iter().map(|repair| repair.rule).collect(),
            dropped: composed.thinking_dropped,
            text,
        }
    }
}

fn facts(item: &str) -> Message {
    Responses.read(item.as_bytes(), ctx_clients::lexicon()).facts
}

fn user(text: &str) -> String {
    format!(r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{text}"}}]}}"#)
}

/// A text of the assistant; an empty id means none.
fn says(id: &str, text: &str) -> String {
    let content = format!(r#"[{{"type":"output_text","text":"{text}"}}]"#);
    format!(r#"{{"type":"message",{}"role":"assistant","content":{content},"phase":"commentary"}}"#, member(id))
}

fn thinks(id: &str) -> String {
    format!(r#"{{{}"type":"reasoning","summary":[],"encrypted_content":"blob of {id}"}}"#, member(id))
}

fn call(id: &str, call: &str) -> String {
    let rest = r#""name":"look","arguments":"{\"path\":\"/a\"}","namespace":"n""#;
    format!(r#"{{"type":"function_call",{}"call_id":"{call}",{rest}}}"#, member(id))
}

fn output(call: &str) -> String {
    format!(r#"{{"type":"function_call_output","call_id":"{call}","output":"of {call}"}}"#)
}

fn member(id: &str) -> String {
    if id.is_empty() { String::new() } else { format!(r#""id":"{id}","#) }
}
