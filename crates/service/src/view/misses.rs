//! Explains from the stored records why the provider missed its cache, and checks the cache forecasts.

mod causes;
mod comparison;

use comparison::Comparison;
use ctx_api::cache::{CacheMiss, Cause};
use ctx_api::requests::Usage;
use ctx_core::edit::address::Address;
use ctx_core::edit::history::Change;
use ctx_core::edit::{Commit, CommitId, Effect, FrameId, Operation};
use ctx_core::{Key, SlotId};
use ctx_engine::envelope;
use ctx_engine::log::{AnswerRecord, Differs, OpeningRecord};
use ctx_models::{CacheRules, Models};
use ctx_store::{Hash, Reader, Record};
use ctx_wire::WireId;
use ctx_wire::body::Body;
use ctx_wire::envelope::{Envelope, Manner, Piece};
use serde::Deserialize;
use std::collections::HashMap;

/// The cache figures of an answer, compared with the requests before it.
#[derive(Debug, Clone)]
pub(super) struct CacheAnswer {
    /// The arrival time of its request, and its model.
    pub at: Option<u64>,
    pub model: Option<String>,
    /// It is a turn of the conversation, not side traffic.
    pub turn: bool,
    /// It was changed on its way.
    pub composed: bool,
    pub expects: Option<u64>,
    /// Tokens that the previous turn left in the cache.
    pub held: Option<u64>,
    /// Without operations there would be no miss: they, or a repair of the edited request, caused it.
    pub edited: bool,
    pub miss: Option<CacheMiss>,
}

/// The requests so far, while records are read from the beginning.
#[derive(Default)]
pub(super) struct Story {
    wire: Option<WireId>,
    asked: HashMap<u32, MissedRequest>,
    last: Option<Turn>,
    ttl: Option<u64>,
    /// The lifetime of the cache in seconds that the newest request asked for.
    asked_lifetime: Option<u64>,
    /// The same, if set by the user.
    kept_for: Option<u64>,
    /// The edits since the newest request.
    edited: Vec<Edit>,
    /// The author of the newest commit.
    author: String,
    /// The client's changes in failed requests: later requests no longer differ from those.
    differs: Option<Differs>,
    rewritten: bool,
    /// The places that commits changed, for their reverts.
    places: HashMap<CommitId, Option<String>>,
    /// The frame of each message, for commits whose operations select content without naming it.
    frames: HashMap<SlotId, FrameId>,
    /// Commits made on the arrival of a request, and the first place that they changed. Their records follow it.
    made: HashMap<CommitId, (u32, Option<String>)>,
}

struct Turn {
    asked: MissedRequest,
    usage: Usage,
    /// The repairs of the edited request: rule and description.
    repairs: Vec<(String, String)>,
}

struct MissedRequest {
    at: u64,
    model: Option<String>,
    envelope: Option<Hash>,
    /// The edits since the previous request.
    edited: Vec<Edit>,
    rewritten: bool,
    turn: bool,
    composed: bool,
    marked: bool,
    expects: Option<u64>,
    differs: Option<Differs>,
}

impl MissedRequest {
    /// The first edit by position cuts the cache.
    fn first_edit(&self) -> Option<&Edit> {
        self.edited.iter().min_by_key(|edit| rank(&edit.place))
    }
}

struct Edit {
    place: Option<String>,
    commit: Option<CommitId>,
    author: String,
}

/// The needed fields of [`ctx_engine::log::ArrivalRecord`]: this may be read for every request ever recorded.
#[derive(Deserialize)]
struct Arrival {
    request: u32,
    verdict: String,
    changed: u32,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    composed: bool,
    #[serde(default)]
    expects: Option<u64>,
    #[serde(default)]
    writes: Vec<Key>,
    #[serde(default)]
    differs: Option<Differs>,
    #[serde(default)]
    made: Vec<CommitId>,
    #[serde(default)]
    made_at: Option<String>,
    #[serde(default)]
    turn: Option<Course>,
}

#[derive(Deserialize)]
struct Course {
    envelope: u32,
    current: bool,
}

/// The tools and the system prompt of a stored envelope.
pub(super) struct Around {
    tools: Vec<(String, Key)>,
    system: Vec<Option<Key>>,
    manner: Manner,
}

impl Around {
    fn of(read: &Envelope) -> Around {
        let is_read = |piece: &&Piece| !piece.deferred;
        let tools = read.tools.iter().flatten().filter(is_read).map(|tool| (tool.name.to_string(), tool.key));
        // The provider removes the attribution.
        let system = read.system.iter().map(|piece| (!piece.is_attribution).then_some(piece.key));
        Around { tools: tools.collect(), system: system.collect(), manner: read.manner.clone() }
    }

    /// The tools and the system prompt of a stored envelope.
    pub fn stored(store: &dyn Reader, wire: WireId, envelope: Hash) -> Option<Around> {
        let find = |hash: Hash| store.blob(hash).ok().flatten();
        let bytes = envelope::unpack(&find(envelope)?, b"", find)?.bytes;
        Some(Around::of(&Body::parse(bytes, ctx_wire::wire(wire)).ok()?.envelope(ctx_clients::lexicon())))
    }

    /// The first changed tool or system block, otherwise the changed settings for thinking and tool choice.
    fn first_difference(&self, new: &Around) -> Option<(Cause, String)> {
        let alike = self.tools.iter().zip(&new.tools).take_while(|(old, new)| old == new).count();
        if alike < self.tools.len().max(new.tools.len()) {
            let tool = new.tools.get(alike).or(self.tools.get(alike));
            return Some((Cause::ToolsChanged, format!("tools/{}", tool.map_or("", |tool| &tool.0))));
        }
        let alike = self.system.iter().zip(&new.system).take_while(|(old, new)| old == new).count();
        if alike < self.system.len().max(new.system.len()) {
            return Some((Cause::SystemChanged, format!("system#{alike}")));
        }
        let member = self.manner.first_difference(&new.manner)?;
        Some((Cause::MannerChanged, member.to_owned()))
    }
}

impl Story {
    /// `kept_for`: the lifetime of the cache in seconds, if set by the user.
    pub fn new(kept_for: Option<u64>) -> Story {
        Story { kept_for, ..Story::default() }
    }

    pub fn with_frames(self, frames: HashMap<SlotId, FrameId>) -> Story {
        Story { frames, ..self }
    }

    /// The frame of a message, if known.
    pub fn frame(&self, slot: SlotId) -> Option<String> {
        self.frames.get(&slot).map(ToString::to_string)
    }

    /// `None` if the record cannot be read.
    pub fn opened(&mut self, record: &Record) -> Option<()> {
        let opened: OpeningRecord = serde_json::from_slice(&record.body).ok()?;
        self.wire = Some(opened.wire);
        Some(())
    }

    /// The client's format.
    pub fn wire(&self) -> Option<WireId> {
        self.wire
    }

    /// `None` if the record cannot be read.
    pub fn arrived(&mut self, record: &Record) -> Option<()> {
        let arrived: Arrival = serde_json::from_slice(&record.body).ok()?;
        let turn = arrived.turn.filter(|turn| turn.current);
        let is_turn = turn.is_some();
        let rewritten = arrived.changed > 0 || !matches!(arrived.verdict.as_str(), "new" | "next" | "retry" | "fork");
        let asked = MissedRequest {
            at: record.at,
            envelope: turn.as_ref().and_then(|turn| record.uses.get(turn.envelope as usize).copied()),
            edited: if is_turn { std::mem::take(&mut self.edited) } else { Vec::new() },
            rewritten: rewritten | (is_turn && std::mem::take(&mut self.rewritten)),
            turn: is_turn,
            model: arrived.model,
            composed: arrived.composed,
            marked: !arrived.writes.is_empty(),
            expects: arrived.expects,
            differs: if is_turn { self.differs.take().or(arrived.differs) } else { None },
        };
        self.asked.insert(arrived.request, asked);
        let (request, place) = (arrived.request, arrived.made_at);
        self.made.extend(arrived.made.into_iter().map(|commit| (commit, (request, place.clone()))));
        Some(())
    }

    pub fn committed(&mut self, commit: &Commit) {
        let place = match &commit.change {
            Change::Edit { effects, .. } if !effects.iter().any(|effect| effect.is_sent()) => return,
            Change::Edit { operations, effects } if operations.iter().any(|one| places(one).is_empty()) => {
                self.first_frame(effects)
            }
            Change::Edit { operations, .. } => first(operations.iter().flat_map(places)),
            Change::Revert { commits, .. } => {
                let places = commits.iter().filter_map(|commit| self.places.get(commit).cloned().flatten());
                let place = first(places);
                // A commit made and reverted between two requests was never sent.
                let was_sent = |commit: &&CommitId| !self.edited.iter().any(|edit| edit.commit == Some(**commit));
                let sent: Vec<CommitId> = commits.iter().filter(was_sent).copied().collect();
                self.edited.retain(|edit| edit.commit.is_none_or(|commit| !commits.contains(&commit)));
                if sent.is_empty() {
                    self.places.insert(commit.id, place);
                    return;
                }
                place
            }
            Change::Inherit { .. } => None,
        };
        let (request, found) = self.made.remove(&commit.id).map_or((None, None), |(at, place)| (Some(at), place));
        let place = found.or(place);
        self.places.insert(commit.id, place.clone());
        self.author.clone_from(&commit.author);
        let (commit, author) = (Some(commit.id), commit.author.clone());
        let new = Edit { place, commit, author };
        match request.and_then(|request| self.asked.get_mut(&request)) {
            Some(asked) => asked.edited.push(new),
            None => self.edited.push(new),
        }
    }

    /// The first frame that effects change. If one of them names no message, the first one is unknown.
    fn first_frame(&self, effects: &[Effect]) -> Option<String> {
        let sent = || effects.iter().filter(|effect| effect.is_sent()).map(Effect::slots);
        let is_known = sent().all(|slots| !slots.is_empty());
        first(sent().flatten().filter_map(|slot| self.frame(slot))).filter(|_| is_known)
    }

    /// Records a checkout of another branch.
    pub fn moved(&mut self) {
        self.edited = vec![Edit { place: None, commit: None, author: String::new() }];
    }

    pub fn model(&self, request: u32) -> Option<&str> {
        self.asked.get(&request)?.model.as_deref()
    }

    /// The lifetime of the cache in seconds.
    pub fn ttl(&self) -> u64 {
        self.kept_for.or(self.ttl).unwrap_or_else(|| CacheRules::default().usual_lifetime())
    }

    /// Evaluates the answer to a request. `around` reads an envelope.
    pub fn answered(
        &mut self,
        answered: &AnswerRecord,
        models: &Models,
        around: impl Fn(Hash) -> Option<Around>,
    ) -> CacheAnswer {
        let asked = self.asked.remove(&answered.request);
        let mut told = CacheAnswer {
            at: asked.as_ref().map(|asked| asked.at),
            model: answered.model.clone().or_else(|| asked.as_ref()?.model.clone()),
            turn: asked.as_ref().is_some_and(|asked| asked.turn),
            composed: asked.as_ref().is_some_and(|asked| asked.composed),
            expects: asked.as_ref().and_then(|asked| asked.expects),
            held: self.last.as_ref().map(|last| last.usage.cached()),
            edited: false,
            miss: None,
        };
        let usage = answered.usage.filter(|_| answered.status == 200);
        let Some(asked) = asked.filter(|asked| asked.turn) else { return told };
        let Some(usage) = usage else {
            self.edited.splice(..0, asked.edited);
            self.differs = asked.differs.or(self.differs.take());
            self.rewritten |= asked.rewritten;
            return told;
        };
        // The request before wrote the cache.
        let asked_for = std::mem::replace(&mut self.asked_lifetime, answered.asked_lifetime);
        let ttl = models.cache_seconds_of(told.model.as_deref(), asked_for).filter(|_| self.kept_for.is_none());
        let ttl = ttl.unwrap_or_else(|| self.ttl());
        self.ttl = answered.ttl().or(self.ttl);
        let below = causes::below_minimum(&asked, &told, &usage, models);
        let now = Turn { asked, usage, repairs: answered.repairs.clone() };
        let miss = match &self.last {
            Some(before) => {
                let comparison = Comparison { before, now: &now, answered, ttl, author: &self.author };
                let found = comparison.explain(around);
                told.edited = found.edited;
                found.miss
            }
            None => causes::first_request(&usage),
        };
        told.miss = below.or(miss);
        self.last = Some(now);
        told
    }
}

/// The ids in an operation, or the id behind which it inserts content.
fn places(operation: &Operation) -> Vec<String> {
    match operation {
        Operation::Add { to, .. } => to.after.iter().cloned().collect(),
        other => other.ids().to_vec(),
    }
}

fn first(places: impl Iterator<Item = String>) -> Option<String> {
    places.min_by_key(|place| rank(&Some(place.clone())))
}

/// The order in which the provider reads.
fn rank(place: &Option<String>) -> (u8, u64, String) {
    let Some(place) = place else { return (3, 0, String::new()) };
    let start = place.split("..").next().unwrap_or_default();
    let number = |text: &str| {
        let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit());
        digits.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
    };
    match start.parse::<Address>() {
        Ok(Address::Tools | Address::Tool(_)) => (0, 0, start.to_owned()),
        Ok(Address::System | Address::SystemBlock(_)) => (1, 0, start.to_owned()),
        _ => (2, number(start), start.to_owned()),
    }
}

/// Whether a forecast was right within five per cent.
pub(super) fn came_true(expects: u64, read: u64) -> bool {
    expects.abs_diff(read) * 20 <= expects.max(read)
}

#[cfg(test)]
mod tests;
