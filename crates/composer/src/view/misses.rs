//! Why the provider read something anew that it had in its cache, as far as what is stored tells.

use crate::log::{Answered, Arrived, Usage};
use crate::{Composer, envelope};
use ctx_core::Key;
use ctx_core::edit::history::Change;
use ctx_core::edit::{Commit, Operation};
use ctx_store::{Hash, Record};
use ctx_wire::anthropic::{envelope as wire, request};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;

/// Tokens that were in the provider's cache, or could have been, and were read anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CacheMiss {
    pub cause: Cause,
    /// Where it was edited, if that is the cause and one place is named.
    pub place: Option<String>,
    pub tokens: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Nothing was there yet.
    FirstRequest,
    ModelChanged,
    ToolsChanged,
    SystemChanged,
    /// The conversation was edited.
    Edited,
    /// The client sent its history otherwise than before: it went back, compacted it or wrote it anew.
    HistoryChanged,
    /// It was used too long ago.
    Expired,
    Unknown,
}

/// What is known of the requests so far, while records are read from their beginning.
#[derive(Default)]
pub(super) struct Story {
    asked: HashMap<u32, Asked>,
    last: Option<(Asked, Usage)>,
    ttl: Option<u64>,
    /// Where it was edited since the newest request.
    edited: Option<Option<String>>,
}

#[derive(Clone)]
struct Asked {
    at: u64,
    model: Option<String>,
    envelope: Option<Hash>,
    edited: Option<Option<String>>,
    rewritten: bool,
    turn: bool,
}

impl Story {
    pub fn arrived(&mut self, record: &Record, arrived: &Arrived) {
        let turn = arrived.turn.as_ref().filter(|turn| turn.current);
        let asked = Asked {
            at: record.at,
            model: arrived.model.clone(),
            envelope: turn.and_then(|turn| record.uses.get(turn.envelope as usize).copied()),
            edited: if turn.is_some() { self.edited.take() } else { None },
            rewritten: arrived.changed > 0 || !matches!(arrived.verdict.as_str(), "new" | "next" | "retry" | "fork"),
            turn: turn.is_some(),
        };
        self.asked.insert(arrived.request, asked);
    }

    pub fn committed(&mut self, commit: &Commit) {
        let place = match &commit.change {
            Change::Edit { effects, .. } if !effects.iter().any(|effect| effect.is_sent()) => return,
            Change::Edit { operations, .. } => match operations.as_slice() {
                [one] => one.ids().first().cloned().or_else(|| after(one)),
                _ => None,
            },
            _ => None,
        };
        // Of several edits none is the one.
        self.edited = Some(if self.edited.is_none() { place } else { None });
    }

    /// Another branch is looked at.
    pub fn moved(&mut self) {
        self.edited = Some(None);
    }

    /// The model that a request was for.
    pub fn model(&self, request: u32) -> Option<&str> {
        self.asked.get(&request)?.model.as_deref()
    }

    /// Why the request of this answer missed what it missed. `around` tells what an envelope says.
    pub fn answered(&mut self, answered: &Answered, around: impl Fn(Hash) -> Option<(Key, Key)>) -> Option<CacheMiss> {
        let asked = self.asked.remove(&answered.request).filter(|asked| asked.turn)?;
        let usage = answered.usage.filter(|_| answered.status == 200)?;
        let before = self.last.replace((asked.clone(), usage));
        let ttl = self.ttl;
        self.ttl = usage.ttl().or(ttl);
        let Some((last, held)) = before else {
            let is_new = usage.cached() > 0 && usage.cache_read * 2 < usage.prompt();
            let tokens = usage.prompt() - usage.cache_read;
            return is_new.then_some(CacheMiss { cause: Cause::FirstRequest, place: None, tokens });
        };
        let missed = held.cached().saturating_sub(usage.cache_read);
        // A few blocks may lie behind the mark that was found.
        if missed <= held.cached() / 20 + 100 {
            return None;
        }
        let told = answered.cache_miss_reason.as_deref().unwrap_or_default();
        let differ = || {
            let [one, other] = [last.envelope, asked.envelope].map(|envelope| envelope.and_then(&around));
            one.zip(other).map(|(one, other)| (one.0 != other.0, one.1 != other.1)).unwrap_or_default()
        };
        let is_expired = asked.at.saturating_sub(last.at) > ttl.unwrap_or(300) * 1000;
        let mut place = None;
        let cause = if told == "model_changed" || asked.model != last.model {
            Cause::ModelChanged
        } else if is_expired {
            Cause::Expired
        } else if let Some(edited) = asked.edited {
            place = edited;
            Cause::Edited
        } else {
            match (told, differ()) {
                ("tools_changed", _) | (_, (true, _)) => Cause::ToolsChanged,
                ("system_changed", _) | (_, (_, true)) => Cause::SystemChanged,
                ("messages_changed", _) => Cause::HistoryChanged,
                _ if asked.rewritten => Cause::HistoryChanged,
                _ => Cause::Unknown,
            }
        };
        Some(CacheMiss { cause, place, tokens: missed })
    }
}

/// Where something new was put.
fn after(operation: &Operation) -> Option<String> {
    match operation {
        Operation::Add { to, .. } => to.after.clone(),
        _ => None,
    }
}

impl Composer {
    /// What identifies the tools and the system prompt of a stored envelope.
    pub(super) fn around_of(&self, envelope: Hash) -> Option<(Key, Key)> {
        let find = |hash: Hash| self.store.blob(hash).ok().flatten();
        let bytes = envelope::unpack(&find(envelope)?, b"", find)?.bytes;
        let read = wire::read(&bytes, &request::parse(&bytes).ok()?);
        Some((wire::digest(&[], read.tools.as_deref()), wire::digest(&read.system, None)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_core::edit::CommitId;
    use ctx_core::edit::effect::{Effect, Why};
    use serde_json::json;

    struct Told {
        story: Story,
        clock: u64,
        request: u32,
        model: &'static str,
        envelope: &'static str,
        verdict: &'static str,
    }

    impl Told {
        fn new() -> Told {
            Told { story: Story::default(), clock: 0, request: 0, model: "m", envelope: "e", verdict: "next" }
        }

        /// One exchange, `wait` seconds after the one before.
        fn ask(&mut self, wait: u64, read: u64, written: u64) -> Option<(Cause, Option<String>, u64)> {
            self.clock += wait * 1000;
            self.request += 1;
            let turn = json!({"base": null, "nodes": 0, "slots": [], "versions": [], "envelope": 0, "current": true});
            let arrived = json!({"request": self.request, "class": "main", "verdict": self.verdict, "known": 0,
                "new": 1, "changed": 0, "model": self.model, "bytes": 1, "turn": turn});
            let uses = vec![Hash::of(self.envelope.as_bytes())];
            let body = serde_json::to_vec(&arrived).expect("JSON");
            let record = Record {
                seq: 0,
                conversation: "c".into(),
                at: self.clock,
                kind: "arrived".into(),
                version: 1,
                uses,
                body,
            };
            self.story.arrived(&record, &serde_json::from_value(arrived).expect("a request"));
            let usage = json!({"input": 5, "cache_read": read, "cache_write": written, "output": 1});
            let answered = json!({"request": self.request, "status": 200, "ending": "complete", "usage": usage,
                "total_ms": 1});
            let answered: Answered = serde_json::from_value(answered).expect("an answer");
            let hashes = ["e", "tools", "system"].map(|name| Hash::of(name.as_bytes()));
            let around = |hash: Hash| {
                let other = |at: usize| Key::of([&[u8::from(hash == hashes[at])][..]]);
                Some((other(1), other(2)))
            };
            let miss = self.story.answered(&answered, around)?;
            Some((miss.cause, miss.place, miss.tokens))
        }

        fn edit(&mut self, operation: serde_json::Value) {
            let operations = vec![serde_json::from_value(operation).expect("an operation")];
            let effects = vec![Effect::Replace { why: Why::Deleted, covers: Vec::new(), by: Vec::new() }];
            let commit = Commit {
                id: CommitId(1),
                parent: None,
                at: 1,
                author: "test".into(),
                note: None,
                reasons: Vec::new(),
                change: Change::Edit { operations, effects },
                summary: String::new(),
                tokens_before: 0,
                tokens_after: 0,
            };
            self.story.committed(&commit);
        }
    }

    #[test]
    fn what_is_read_anew_has_a_cause() {
        let mut told = Told::new();
        assert_eq!(told.ask(1, 0, 5000), Some((Cause::FirstRequest, None, 5005)));
        assert_eq!(told.ask(1, 5000, 5000), None);
        assert_eq!(told.ask(400, 0, 11_000), Some((Cause::Expired, None, 10_000)));
        told.edit(json!({"op": "delete", "ids": ["t3"]}));
        assert_eq!(told.ask(1, 4000, 6000), Some((Cause::Edited, Some("t3".into()), 7000)));
        assert_eq!(told.ask(1, 10_000, 100), None, "an edit is paid for once");
        told.envelope = "tools";
        assert_eq!(told.ask(1, 0, 10_100), Some((Cause::ToolsChanged, None, 10_100)));
        told.envelope = "system";
        // Both differ from those before.
        assert_eq!(told.ask(1, 0, 10_100).map(|miss| miss.0), Some(Cause::ToolsChanged));
        told.envelope = "e";
        assert_eq!(told.ask(1, 2000, 8100), Some((Cause::SystemChanged, None, 8100)));
        told.model = "n";
        assert_eq!(told.ask(1, 0, 10_100).map(|miss| miss.0), Some(Cause::ModelChanged));
        told.verdict = "rewind";
        assert_eq!(told.ask(1, 3000, 100).map(|miss| miss.0), Some(Cause::HistoryChanged));
        told.verdict = "next";
        assert_eq!(told.ask(1, 0, 100).map(|miss| miss.0), Some(Cause::Unknown));
    }
}
