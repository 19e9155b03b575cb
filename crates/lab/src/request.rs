//! A recording as the sent requests: with a head of the original size, and the client's breakpoints.

use crate::recording::{Recording, Turn, Usage};
use ctx_core::{Key, tokens};
use ctx_models::CacheRules;
use ctx_models::cache::{Breakpoints, FIVE_MINUTES, ONE_HOUR, Outline, PromptCache, Reading};
use ctx_models::tokens::CLAUDE;
use ctx_wire::dress::undress;
use ctx_wire::{Opening, body};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The head of a recording whose size is unknown.
const USUAL_HEAD: f64 = 20_000.0;

pub struct Script<'r> {
    pub recording: &'r Recording,
    /// Its messages, with every content as a list, so that breakpoints do not change them.
    messages: Vec<String>,
    /// Everything before the first message, by model and cache lifetime in seconds.
    heads: HashMap<(&'r str, u64), String>,
    /// Identifies it regardless of breakpoints.
    head_key: Key,
    head_tokens: f64,
    /// Estimated tokens before each message.
    before: Vec<f64>,
    /// The factor from estimates to the provider's counts.
    pub scale: f64,
    /// The cache lifetime of the content that each turn writes, in seconds.
    lifetimes: Vec<u64>,
    /// Whether the provider's counts were recorded.
    pub counted: bool,
    /// Whether the time of each request is known.
    pub timed: bool,
}

/// The data of sent messages, by their bytes.
#[derive(Default)]
pub struct SeenMessages(HashMap<Key, Part>);

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
}

/// A request as the cache sees it.
pub struct Prompt {
    head: Key,
    after: Vec<Key>,
    breakpoints: Breakpoints,
    places: Vec<usize>,
    /// The tokens up to the end of the head, and of each message.
    tokens: Vec<f64>,
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

impl<'r> Script<'r> {
    pub fn of(recording: &'r Recording) -> Script<'r> {
        let mut before = vec![0.0];
        for message in &recording.messages {
            let own =
                tokens::of_message(&recording.wire().read(message.get().as_bytes(), ctx_clients::lexicon()).facts);
            before.push(before.last().copied().unwrap_or(0.0) + own);
        }
        let estimate = |answer: usize| before.get(answer).copied().unwrap_or(0.0);
        let counts: Vec<(f64, f64)> = recording
            .turns
            .iter()
            .filter_map(|turn| Some((estimate(turn.answer), prompt(turn.usage.as_ref()?))))
            .filter(|(_, counted)| *counted > 0.0)
            .collect();
        let (scale, head_tokens) = fit(&counts);
        let lifetimes = lifetimes(recording);
        let tools = tools_of(recording);
        let lead: Vec<&str> = recording.lead.iter().map(|message| message.get()).collect();
        let chars = (head_tokens / scale * CLAUDE.chars_per_token) as usize;
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
        let counted = !counts.is_empty();
        Script { recording, messages, heads, head_key, head_tokens, before, scale, lifetimes, counted, timed }
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
        let (mut prefix, mut tokens) = (self.head_key, self.head_tokens);
        let breakpoints =
            Breakpoints { head: wire.cache_lifetime(sent).is_some(), messages: Vec::new(), ..Breakpoints::default() };
        let (after, places) = (Vec::new(), Vec::new());
        let mut prompt = Prompt { head: prefix, after, breakpoints, places, tokens: vec![tokens] };
        let messages = spans.messages.iter().filter_map(|span| sent.get(span.clone()));
        for (at, bytes) in messages.enumerate() {
            let part = *seen.0.entry(Key::of([bytes])).or_insert_with(|| {
                let read = wire.read(bytes, ctx_clients::lexicon());
                let (bare, _) = undress(bytes, &read.cuts);
                let tokens = tokens::of_message(&read.facts) * self.scale;
                Part { key: Key::of([&*bare]), tokens, places: read.facts.cache_places(), marked: read.marked }
            });
            prefix = prefix.then(part.key);
            tokens += part.tokens;
            prompt.after.push(prefix);
            prompt.places.push(part.places);
            prompt.tokens.push(tokens);
            prompt.breakpoints.messages.extend(part.marked.then_some(at));
        }
        Some(prompt)
    }

    /// The cache lifetime of the content that a turn writes, in seconds.
    pub fn lifetime(&self, turn: usize) -> u64 {
        self.lifetimes.get(turn).copied().unwrap_or(FIVE_MINUTES)
    }

    /// Tokens of a request as recorded.
    pub fn size(&self, turn: usize) -> f64 {
        let answer = self.recording.turns.get(turn).map_or(0, |turn| turn.answer);
        self.head_tokens + self.before.get(answer).copied().unwrap_or(0.0) * self.scale
    }

    /// Tokens of a reply: the recorded count, or an estimate of its content if that is higher. Clients often record the
    /// count at the beginning of a stream.
    pub fn output(&self, turn: usize) -> f64 {
        let messages = self.recording.messages.get(self.recording.answer(turn)).unwrap_or_default();
        let bytes = messages.iter().map(|message| message.get().as_bytes());
        let facts = bytes.map(|message| self.recording.wire().read(message, ctx_clients::lexicon()).facts);
        let seen: f64 = facts.map(|facts| tokens::of_message(&facts)).sum();
        let usage = self.recording.turns.get(turn).and_then(|turn| turn.usage);
        let counted = usage.map_or(0.0, |usage| usage.output as f64);
        (seen * self.scale).max(counted)
    }

    /// The time of a turn; if unknown, right after the previous one.
    pub fn at(&self, turn: usize) -> i64 {
        self.recording.turns.get(turn).and_then(|turn| turn.at).unwrap_or(turn as i64 * 1000)
    }
}

fn prompt(usage: &Usage) -> f64 {
    (usage.input + usage.cache_read + usage.cache_written) as f64
}

/// The scale and the head with which estimates match the provider's counts at the first and the last request.
fn fit(counts: &[(f64, f64)]) -> (f64, f64) {
    let (Some((first, counted_first)), Some((last, counted_last))) = (counts.first(), counts.last()) else {
        return (1.0, USUAL_HEAD);
    };
    let grown = last - first;
    let scale = if grown > 1000.0 { ((counted_last - counted_first) / grown).clamp(0.5, 2.0) } else { 1.0 };
    (scale, (counted_first - first * scale).max(0.0))
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
fn tools_of(recording: &Recording) -> Vec<String> {
    let facts = recording
        .messages
        .iter()
        .map(|message| recording.wire().read(message.get().as_bytes(), ctx_clients::lexicon()).facts);
    let calls = facts.flat_map(|facts| facts.blocks).filter(|block| block.kind == ctx_core::Kind::ToolUse);
    let names: BTreeSet<String> = calls.filter_map(|block| Some(block.tool?.to_string())).collect();
    names.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_wire::WireId;

    #[test]
    fn a_line_is_laid_through_what_was_counted() {
        assert_eq!(fit(&[]), (1.0, USUAL_HEAD));
        assert_eq!(fit(&[(1000.0, 21_500.0), (5000.0, 27_500.0)]), (1.5, 20_000.0));
        assert_eq!(fit(&[(1000.0, 500.0)]), (1.0, 0.0));
    }

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
            lifetimes(&Recording { name, wire, model, head: nothing(), lead, messages, turns })
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
