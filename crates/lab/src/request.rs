//! A recording as the sent requests: with a head of the original size, and the client's breakpoints.

use crate::needs::Place;
use crate::recording::{Recording, Turn};
use crate::sizes::{Shares, Sizes, prompt};
use ctx_core::{Key, Message};
use ctx_models::CacheRules;
use ctx_models::cache::{Breakpoints, FIVE_MINUTES, ONE_HOUR, Outline, PromptCache, Reading};
use ctx_models::tokens::USUAL;
use ctx_wire::dress::undress;
use ctx_wire::{Opening, body};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

pub struct Script<'r> {
    pub recording: &'r Recording,
    /// Its messages, with every content as a list, so that breakpoints do not change them.
    messages: Vec<String>,
    /// Everything before the first message, by model and cache lifetime in seconds.
    heads: HashMap<(&'r str, u64), String>,
    /// Identifies it regardless of breakpoints.
    head_key: Key,
    /// The messages as read.
    facts: Vec<Message>,
    /// The tokens of each part.
    pub sizes: Sizes,
    /// Tokens before each message.
    before: Vec<f64>,
    /// The cache lifetime of the content that each turn writes, in seconds.
    lifetimes: Vec<u64>,
    /// Whether the provider's counts were recorded.
    pub counted: bool,
    /// Whether the time of each request is known.
    pub timed: bool,
}

/// Agents rarely take more milliseconds than this for a step.
const PAUSE_OF_A_PERSON: i64 = 300_000;

/// The messages of the request before, with their bytes.
#[derive(Default)]
pub struct SeenMessages(Vec<(Vec<u8>, Part)>);

/// A message of a request, as the cache sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Part {
    /// Identifies its content, regardless of breakpoints.
    key: Key,
    tokens: f64,
    /// The number of places it takes in the look-back of a breakpoint.
    places: usize,
    /// It ends with a breakpoint.
    marked: bool,
    /// Its position in the recording.
    position: usize,
}

/// What a provider itself removes from a message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RemovedContent {
    pub blocks: Vec<usize>,
    pub tokens: f64,
    /// The places that are gone from the look-back of a breakpoint.
    pub places: usize,
}

/// A request as the cache sees it.
pub struct Prompt {
    head: Key,
    after: Vec<Key>,
    breakpoints: Breakpoints,
    places: Vec<usize>,
    /// The tokens up to the end of the head, and of each message.
    tokens: Vec<f64>,
    /// The recorded position of each message.
    positions: Vec<usize>,
}

impl Prompt {
    /// The provider's report for it, with this cache lifetime in seconds.
    pub fn send(
        &self,
        cache: &mut PromptCache<Key>,
        rules: &CacheRules,
        model: &str,
        at: u64,
        lifetime: u64,
    ) -> Reading {
        let outline = Outline {
            model: Some(model),
            manner: None,
            head: self.head,
            after: &self.after,
            breakpoints: &self.breakpoints,
            places: &|message| self.places.get(message).copied().unwrap_or(0),
            tokens: &|end| self.tokens.get(end.map_or(0, |end| end + 1)).copied().unwrap_or(0.0),
        };
        cache.take(rules, &outline, at, lifetime)
    }
}

impl Prompt {
    /// The tokens of the whole request.
    pub fn size(&self) -> f64 {
        self.tokens.last().copied().unwrap_or_default()
    }

    /// As if each message ended with a breakpoint: the cache finds the longest beginning that was ever sent.
    pub fn mark_all(&mut self) {
        self.breakpoints.messages = (0..self.after.len()).collect();
    }

    /// Removes content of the recording's messages: every prefix with some of it becomes another, and shorter.
    pub fn remove(&mut self, removed: &BTreeMap<usize, RemovedContent>) {
        let (mut without, mut less): (Option<Key>, f64) = (None, 0.0);
        for (at, position) in self.positions.iter().enumerate() {
            if let Some(content) = removed.get(position) {
                let blocks: Vec<[u8; 8]> = content.blocks.iter().map(|block| block.to_le_bytes()).collect();
                let key = Key::of(blocks.iter().map(|block| &block[..]));
                without = Some(without.map_or(key, |before| before.then(key)));
                less += content.tokens;
                if let Some(places) = self.places.get_mut(at) {
                    *places = places.saturating_sub(content.places);
                }
            }
            if let (Some(without), Some(after)) = (without, self.after.get_mut(at)) {
                *after = after.then(without);
            }
            if let Some(tokens) = self.tokens.get_mut(at + 1) {
                *tokens -= less;
            }
        }
    }

    /// The tokens of its messages from this one of the recording on; with the head if there is none before.
    pub fn tokens_from(&self, message: usize) -> f64 {
        let all = self.size();
        let before = self.positions.iter().take_while(|position| **position < message).count();
        all - if message == 0 { 0.0 } else { self.tokens.get(before).copied().unwrap_or(all) }
    }
}

impl<'r> Script<'r> {
    pub fn of(recording: &'r Recording) -> Script<'r> {
        let read = |json: &RawValue| recording.wire().read(json.get().as_bytes(), ctx_clients::lexicon()).facts;
        let facts: Vec<Message> = recording.messages.iter().map(|json| read(json)).collect();
        let sizes = Sizes::of(recording, &facts);
        let mut before = vec![sizes.head];
        for (at, message) in facts.iter().enumerate() {
            before.push(before.last().copied().unwrap_or(0.0) + sizes.tokens(message, at));
        }
        let lifetimes = lifetimes(recording);
        let tools = tools_of(&facts);
        let lead: Vec<&str> = recording.lead.iter().map(|message| message.get()).collect();
        let chars = (sizes.head / sizes.scale * USUAL.chars_per_token) as usize;
        let with_head = |(model, lifetime)| {
            let head = recording.head.get();
            recording.wire().opening(&Opening { head, model, lead: &lead, tools: &tools, chars, lifetime })
        };
        let kinds = lifetimes.iter().enumerate().map(|(turn, lifetime)| (recording.model_of(turn), *lifetime));
        let kinds: HashSet<(&str, u64)> = kinds.collect();
        let heads = kinds.into_iter().map(|kind| (kind, with_head(kind))).collect();
        let head_key = Key::of([with_head((&*recording.model, FIVE_MINUTES)).as_bytes()]);
        let messages = recording.messages.iter().map(|message| recording.wire().replayed(message.get())).collect();
        let timed = recording.turns.iter().all(|turn| turn.at.is_some());
        let counted = recording.turns.iter().any(|turn| turn.usage.is_some_and(|usage| prompt(&usage) > 0.0));
        Script { recording, messages, heads, head_key, facts, sizes, before, lifetimes, counted, timed }
    }

    /// The request of a turn, as the client sent it.
    pub fn request(&self, turn: usize) -> Vec<u8> {
        let answer = self.recording.turns.get(turn).map_or(0, |turn| turn.answer);
        let messages = self.messages.get(..answer).unwrap_or_default();
        let lifetime = self.lifetime(turn);
        let mut body = self.heads.get(&(self.recording.model_of(turn), lifetime)).cloned().unwrap_or_default();
        body.reserve(messages.iter().map(|message| message.len() + 1).sum::<usize>() + 64);
        for (at, message) in messages.iter().enumerate() {
            if at > 0 {
                body.push(',');
            }
            match at + 1 == answer {
                true => body.push_str(&self.recording.wire().marked(message, lifetime)),
                false => body.push_str(message),
            }
        }
        body.push_str("]}");
        body.into_bytes()
    }

    /// A request as the cache sees it; `None` if it cannot be parsed.
    pub fn prompt(&self, sent: &[u8], seen: &mut SeenMessages) -> Option<Prompt> {
        let wire = self.recording.wire();
        let spans = body::parse(sent, wire.shape()).ok()?;
        let (mut prefix, mut tokens) = (self.head_key, self.sizes.head);
        let breakpoints = Breakpoints { head: wire.cache_lifetime(sent, &spans).is_some(), ..Breakpoints::default() };
        let (after, places) = (Vec::new(), Vec::new());
        let mut prompt =
            Prompt { head: prefix, after, breakpoints, places, tokens: vec![tokens], positions: Vec::new() };
        let messages = spans.messages.iter().filter_map(|span| sent.get(span.clone()));
        // Almost always as in the recording; on some wires a dropped block is a message of its own.
        let mut next = 0_usize;
        for (at, bytes) in messages.enumerate() {
            let part = match seen.0.get(at) {
                Some((before, part)) if before == bytes && part.position == next => *part,
                _ => {
                    let part = self.part(bytes, next);
                    match seen.0.get_mut(at) {
                        Some(before) => *before = (bytes.to_vec(), part),
                        None => seen.0.push((bytes.to_vec(), part)),
                    }
                    part
                }
            };
            next = part.position + 1;
            prefix = prefix.then(part.key);
            tokens += part.tokens;
            prompt.after.push(prefix);
            prompt.places.push(part.places);
            prompt.positions.push(part.position);
            prompt.tokens.push(tokens);
            prompt.breakpoints.messages.extend(part.marked.then_some(at));
        }
        Some(prompt)
    }

    /// A message of a request; `next` is its position in the recording if none is missing before it.
    fn part(&self, bytes: &[u8], next: usize) -> Part {
        let read = self.recording.wire().read(bytes, ctx_clients::lexicon());
        let (bare, _) = undress(bytes, &read.cuts);
        let is_next = self.facts.get(next).is_some_and(|message| message.key == read.facts.key);
        let position = if is_next { next } else { self.sizes.position(&read.facts).unwrap_or(next) };
        let (tokens, places) = (self.sizes.tokens(&read.facts, position), read.facts.cache_places());
        Part { key: Key::of([&*bare]), tokens, places, marked: read.marked, position }
    }

    /// The messages of the request before this one.
    pub fn sent_before(&self, turn: usize) -> usize {
        turn.checked_sub(1).and_then(|before| self.recording.turns.get(before)).map_or(0, |turn| turn.answer)
    }

    /// The cache lifetime of the content that a turn writes, in seconds.
    pub fn lifetime(&self, turn: usize) -> u64 {
        self.lifetimes.get(turn).copied().unwrap_or(FIVE_MINUTES)
    }

    /// Tokens of a request as recorded.
    pub fn size(&self, turn: usize) -> f64 {
        let answer = self.recording.turns.get(turn).map_or(0, |turn| turn.answer);
        self.before.get(answer).copied().unwrap_or(self.sizes.head)
    }

    /// Tokens of a reply: the recorded count, or those of its content if that is more. Clients often record the count
    /// at the beginning of a stream.
    pub fn output(&self, turn: usize) -> f64 {
        let answer = self.recording.answer(turn);
        let before = |at: usize| self.before.get(at).copied().unwrap_or_default();
        let seen = before(answer.end) - before(answer.start);
        let usage = self.recording.turns.get(turn).and_then(|turn| turn.usage);
        seen.max(usage.map_or(0.0, |usage| usage.output as f64))
    }

    /// The messages as read.
    pub fn facts(&self) -> &[Message] {
        &self.facts
    }

    /// Tokens before a message.
    pub fn before(&self, message: usize) -> f64 {
        self.before.get(message).copied().unwrap_or(self.sizes.head)
    }

    /// Tokens of a block.
    pub fn tokens(&self, Place { message, block }: Place) -> f64 {
        let found = self.facts.get(message).and_then(|message| message.blocks.get(block));
        found.map_or(0.0, |block| self.sizes.block(block, message))
    }

    /// The composition of the recording's messages.
    pub fn shares(&self) -> Shares {
        self.sizes.shares(&self.facts)
    }

    /// Tokens of all replies without thinking that was recorded without text.
    pub fn visible_replies(&self) -> f64 {
        let replies = (0..self.recording.turns.len()).flat_map(|turn| self.recording.answer(turn));
        replies.filter_map(|at| Some(self.sizes.visible(self.facts.get(at)?, at))).sum()
    }

    /// The usual seconds from a request to the next: the median, without pauses of a person. 0 if the times are unknown.
    pub fn step_seconds(&self) -> f64 {
        let turns = &self.recording.turns;
        let gaps = turns.iter().zip(turns.iter().skip(1)).filter_map(|(one, next)| Some(next.at? - one.at?));
        let mut gaps: Vec<i64> = gaps.filter(|gap| (1..=PAUSE_OF_A_PERSON).contains(gap)).collect();
        gaps.sort_unstable();
        gaps.get(gaps.len() / 2).map_or(0.0, |gap| *gap as f64 / 1000.0)
    }

    /// The time of a turn; if unknown, right after the previous one.
    pub fn at(&self, turn: usize) -> i64 {
        self.recording.turns.get(turn).and_then(|turn| turn.at).unwrap_or(turn as i64 * 1000)
    }
}

/// The cache lifetime of each turn's content. If it was not recorded, that of the turn before; if it never was, the
/// pauses suggest it.
fn lifetimes(recording: &Recording) -> Vec<u64> {
    let told = |turn: &Turn| {
        let usage = turn.usage.filter(|usage| usage.cache_written > 0)?;
        // Results of the provider's own tools are written for minutes.
        usage.cache_written_1h.map(|long| if long * 2 >= usage.cache_written { ONE_HOUR } else { FIVE_MINUTES })
    };
    let mut lifetime = recording.turns.iter().find_map(told).unwrap_or_else(|| guessed_lifetime(recording));
    let of_turn = |turn| {
        lifetime = told(turn).unwrap_or(lifetime);
        lifetime
    };
    recording.turns.iter().map(of_turn).collect()
}

/// A cache read after several minutes means a lifetime of an hour.
fn guessed_lifetime(recording: &Recording) -> u64 {
    const PAUSE: i64 = (FIVE_MINUTES * 1000) as i64 + 100_000;
    let pairs = recording.turns.iter().zip(recording.turns.iter().skip(1));
    let is_long = pairs
        .filter_map(|(before, turn)| Some((turn.at? - before.at?, turn.usage?)))
        .any(|(gap, usage)| gap > PAUSE && usage.cache_read as f64 > 0.8 * prompt(&usage));
    if is_long { ONE_HOUR } else { FIVE_MINUTES }
}

/// The tools that are called in it: a provider refuses calls of others, and session files do not list the tools.
fn tools_of(facts: &[Message]) -> Vec<String> {
    let blocks = facts.iter().flat_map(|facts| &facts.blocks);
    let calls = blocks.filter(|block| block.kind == ctx_core::Kind::ToolUse);
    let names: BTreeSet<String> = calls.filter_map(|block| Some(block.tool.as_ref()?.to_string())).collect();
    names.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{Labels, Usage};
    use ctx_wire::WireId;

    #[test]
    fn what_was_written_for_how_long_is_as_recorded_or_as_the_pauses_tell() {
        let turn = |at: i64, read: u64, long: Option<u64>| Turn {
            at: Some(at * 60_000),
            usage: Some(Usage { cache_read: read, cache_written: 100, cache_written_1h: long, ..Usage::default() }),
            ..Turn::default()
        };
        let lives = |turns: Vec<Turn>| {
            let nothing = || serde_json::value::RawValue::from_string("{}".into()).expect("JSON");
            let (lead, messages) = (Vec::new(), Vec::new());
            let (name, model, wire) = ("r".into(), "m".into(), WireId::Anthropic);
            lifetimes(&Recording {
                name,
                wire,
                model,
                head: nothing(),
                lead,
                messages,
                turns,
                labels: Labels::default(),
            })
        };
        let silent = Turn::default();
        assert_eq!(
            lives(vec![silent, turn(1, 0, Some(90)), turn(2, 900, Some(0))]),
            [ONE_HOUR, ONE_HOUR, FIVE_MINUTES]
        );
        assert_eq!(
            lives(vec![turn(0, 0, Some(0)), turn(9, 900, None)]),
            [FIVE_MINUTES, FIVE_MINUTES],
            "what is told counts"
        );
        assert_eq!(
            lives(vec![turn(0, 0, None), turn(9, 900, None)]),
            [ONE_HOUR, ONE_HOUR],
            "it was read after minutes"
        );
        assert_eq!(lives(vec![turn(0, 0, None), turn(9, 0, None)]), [FIVE_MINUTES, FIVE_MINUTES]);
    }
}
