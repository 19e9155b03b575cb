//! Forecast of what the provider reads from its cache: what earlier requests wrote there, as far as a new one begins alike.
//! It is made before the answer, so that the two can be compared.

use crate::conversation::{Conversation, estimate};
use crate::edit::Ground;
use crate::log::{Answered, Arrived, Differs};
use ctx_core::edit::CommitId;
use ctx_core::edit::effect::{Cover, Effect, MessageRef};
use ctx_core::edit::fold::Unit;
use ctx_core::edit::history::Change;
use ctx_core::edit::layout::layout;
use ctx_core::fast_map::{FastSet, Quick};
use ctx_core::message::{Block, Kind, Message};
use ctx_core::{Key, SlotId};
use ctx_models::CacheRules;
use ctx_models::cache::{Breakpoints, Outline, PromptCache, Writer, Writes};
use ctx_wire::body::Body;
use ctx_wire::compose::Placement;
use ctx_wire::envelope::Envelope;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

/// How much is remembered.
const ENTRIES: usize = 128;
const UNDER_WAY: usize = 64;
/// Ends that a request records where it writes at each of them.
const NEWEST: usize = 3;

/// The provider's cache, as far as the requests and answers of a conversation tell.
#[derive(Debug)]
pub struct CacheForecast {
    cache: PromptCache<Key, BuildHasherDefault<Quick>>,
    under_way: HashMap<u32, Asked>,
    /// Seconds that it lives, as far as answers told.
    ttl: Option<u64>,
    /// An answer has told something of the cache.
    told: bool,
    /// Seconds that it lives, as set by a user.
    kept_for: Option<u64>,
    /// Every request writes all of itself, and no answer counts that.
    is_implicit: bool,
}

#[derive(Debug)]
struct Asked {
    writer: Writer<Key>,
    writes: Vec<Key>,
}

/// What is forecast of a request before its answer comes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Forecast {
    pub expects: Option<u64>,
    pub writes: Vec<Key>,
}

impl Default for CacheForecast {
    fn default() -> CacheForecast {
        let (under_way, cache) = (HashMap::new(), PromptCache::new(ENTRIES));
        CacheForecast { cache, under_way, ttl: None, told: false, kept_for: None, is_implicit: false }
    }
}

impl CacheForecast {
    /// A request has been sent.
    pub fn asked(&mut self, arrived: &Arrived, at: u64) {
        if arrived.writes.is_empty() {
            return;
        }
        if self.under_way.len() >= UNDER_WAY {
            // They will not be answered any more.
            self.under_way.clear();
        }
        let Arrived { model, manner, writes, .. } = arrived;
        let writer = Writer { model: model.clone(), manner: *manner, at };
        self.under_way.insert(arrived.request, Asked { writer, writes: writes.clone() });
    }

    /// Sets how many seconds the cache lives, whatever answers tell.
    pub fn keep_for(&mut self, seconds: Option<u64>) {
        self.kept_for = seconds;
        seconds.into_iter().for_each(|seconds| self.cache.set_lifetime(seconds));
    }

    /// Whether something may be there that was written for a model.
    pub fn holds(&self, model: Option<&str>, at: u64) -> bool {
        self.cache.holds(model, at)
    }

    fn lifetime(&self) -> u64 {
        self.kept_for.or(self.ttl).unwrap_or_else(|| CacheRules::default().usual_lifetime())
    }

    /// What it wrote is there from now on.
    pub fn answered(&mut self, answered: &Answered) {
        let Some(usage) = answered.usage.filter(|_| answered.status == 200) else { return };
        let Some(Asked { writer, writes }) = self.under_way.remove(&answered.request) else { return };
        self.told = true;
        self.ttl = usage.ttl().or(self.ttl);
        let cached = if self.is_implicit { usage.prompt() } else { usage.cached() };
        if cached == 0 {
            return;
        }
        // The provider counts up to the last one.
        let mut prefixes: Vec<(Key, Option<u64>)> = writes.into_iter().map(|prefix| (prefix, None)).collect();
        prefixes.last_mut().into_iter().for_each(|last| last.1 = Some(cached));
        self.cache.write(&writer, &prefixes, self.lifetime());
    }

    /// Takes out what may have expired.
    pub fn leave_what_lives(&self, written: &mut FastSet<Key>, at: u64) {
        for prefix in self.cache.doubtful(at) {
            written.remove(&prefix);
        }
    }

    /// The number of tokens that a request should find; none where no answer has told of the cache.
    fn expect(&mut self, rules: &CacheRules, outline: &Outline<'_, Key>, at: u64) -> Option<u64> {
        let lifetime = self.lifetime();
        self.told.then(|| self.cache.read(rules, outline, at, lifetime).map_or(0, |hit| hit.tokens as u64))
    }
}

impl Conversation {
    /// The forecast of the request that is the newest of the path now.
    pub fn forecast(&mut self, body: &Body, envelope: &Envelope, at: u64, rules: &CacheRules) -> Forecast {
        // Composing knows the marks of the messages: the body need not be looked through again.
        let composed = self.composing.sent.get_mut(&self.progress.requests).map(|sent| {
            let after = std::mem::take(&mut sent.after);
            let is_mark = |(_, prefix): &(usize, &Key)| sent.marks.contains(prefix);
            let messages = after.iter().enumerate().filter(is_mark).map(|(at, _)| at).collect();
            let breakpoints = Breakpoints {
                head: body.wire().marks_envelope(body, envelope),
                messages,
                is_explicit: body.wire().is_cache_explicit(body),
            };
            (breakpoints, sent.around, after, Some(std::mem::take(&mut sent.kept)))
        });
        let (breakpoints, head, after, kept) = composed.unwrap_or_else(|| {
            self.own_prefixes();
            let mut prefixes = self.composing.chain.after(envelope.digest, self.composing.chain.digests());
            (body.wire().breakpoints(body, envelope), prefixes.remove(0), prefixes, None)
        });
        let mut forecast = std::mem::take(&mut self.cache.forecast);
        let own =
            |at: usize| self.tree.current().get(at).map_or(1, |node| self.tree.slot_at(*node).message.cache_places());
        let places: &dyn Fn(usize) -> usize = if kept.is_some() { &|_| 1 } else { &own };
        let tokens = |end: Option<usize>| {
            let count = end.map_or(0, |end| end + 1);
            let tokens = self.calibration.tokens(match &kept {
                Some(kept) => self.weigh_first(envelope, kept, (count, after.len())),
                None => estimate(envelope, self.tree.path().take(count).map(|slot| &slot.message)),
            });
            tokens as f64
        };
        let outline = Outline {
            model: envelope.model.as_deref(),
            manner: envelope.manner.key(),
            head,
            after: &after,
            breakpoints: &breakpoints,
            places,
            tokens: &tokens,
        };
        let mut writes: Vec<Key> = rules.writes(&outline).into_iter().filter_map(|end| outline.prefix(end)).collect();
        forecast.is_implicit = rules.writes == Writes::Everywhere;
        if forecast.is_implicit {
            // The head and the newest ends: earlier requests recorded theirs.
            writes.drain(1..writes.len().saturating_sub(NEWEST).max(1));
        }
        let expects = forecast.expect(rules, &outline, at);
        self.cache.forecast = forecast;
        Forecast { expects, writes }
    }

    /// The estimate of the first messages of those that were sent, and of what is before them.
    fn weigh_first(&self, envelope: &Envelope, kept: &Placement, (first, all): (usize, usize)) -> f64 {
        let ground = Ground::of(self, false);
        let view = ground.lay(self.effects(self.history.head()));
        ground.weigh_up_to(&view, envelope, &kept.places(), all).get(first).copied().unwrap_or_default()
    }

    /// The first message of the path that commits change, as people name it.
    pub fn first_changed(&self, commits: &[CommitId]) -> Option<String> {
        // Nearly always.
        if commits.is_empty() {
            return None;
        }
        let effects =
            commits.iter().filter_map(|commit| self.history.get(*commit)).flat_map(|commit| match &commit.change {
                Change::Edit { effects, .. } => effects.as_slice(),
                Change::Revert { .. } | Change::Inherit { .. } => &[],
            });
        let mut changed: FastSet<SlotId> = FastSet::default();
        for effect in effects {
            let mut note = |of: &MessageRef| match of {
                MessageRef::Slot(slot) => drop(changed.insert(*slot)),
                MessageRef::Reply { .. } => {}
            };
            match effect {
                Effect::Results { results, .. } => results.iter().for_each(|result| note(&result.of)),
                Effect::Replace { covers, .. } => covers.iter().for_each(|cover| {
                    if let Cover::Blocks(covered) = cover {
                        note(&covered.of)
                    }
                }),
                _ => {}
            }
        }
        let first = self.tree.path().position(|slot| changed.contains(&slot.id))?;
        self.named(first, None).map(|named| named.place)
    }

    /// The message of the path, or a block of it, as people name it.
    pub fn named(&self, message: usize, block: Option<usize>) -> Option<Differs> {
        let ground = Ground::of(self, false);
        let view = ground.lay(self.effects(self.history.head()));
        let facts = ground.messages.get(message)?;
        let what = match block.and_then(|block| facts.blocks.get(block)) {
            Some(block) => match (block.kind, block.tool.as_deref()) {
                (Kind::ToolUse, Some(tool)) => format!("a call of {tool}"),
                (kind, _) => format!("a block of kind {}", kind.name()),
            },
            None => format!("a message of the {}", facts.role.name()),
        };
        for frame in &view.frames {
            let layout = layout(&view, frame, &ground.messages);
            let is_it = |unit: &Unit| match unit {
                Unit::Source { message: at, block: own } => *at == message && (block.is_none() || *own == block),
                Unit::Made(_) => false,
            };
            for group in &layout.groups {
                if layout.units.get(group.units.clone()).unwrap_or_default().iter().any(|laid| is_it(&laid.unit)) {
                    let block = block.map(|block| format!(".{block}")).unwrap_or_default();
                    return Some(Differs { place: format!("{}#{}{block}", frame.id, group.number), what });
                }
            }
        }
        None
    }
}

/// The first block in which two versions of a message differ, as far as their facts tell.
pub fn first_difference(old: &Message, new: &Message) -> Option<usize> {
    let same = |(one, other): &(&Block, &Block)| {
        (one.kind, one.chars, one.fixed_tokens, &one.tool_use_id, &one.label, one.signature)
            == (other.kind, other.chars, other.fixed_tokens, &other.tool_use_id, &other.label, other.signature)
    };
    let alike = old.blocks.iter().zip(&new.blocks).take_while(same).count();
    (alike < new.blocks.len()).then_some(alike)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_api::requests::Usage;
    use serde_json::json;

    fn key(number: u8) -> Key {
        Key::of([&[number][..]])
    }

    struct Told {
        forecast: CacheForecast,
        request: u32,
        model: &'static str,
        manner: Option<Key>,
    }

    impl Told {
        fn new() -> Told {
            Told { forecast: CacheForecast::default(), request: 0, model: "m", manner: None }
        }

        /// Asks with a mark at the end, and says what was expected; then it is answered.
        fn ask(&mut self, at: u64, path: &[u8], read: u64, written: u64) -> Option<u64> {
            let after: Vec<Key> = path.iter().map(|number| key(*number)).collect();
            let breakpoints = Breakpoints { head: true, messages: vec![path.len() - 1], ..Breakpoints::default() };
            let (head, after) = (key(0), after.as_slice());
            let outline = Outline {
                model: Some(self.model),
                manner: self.manner,
                head,
                after,
                breakpoints: &breakpoints,
                places: &|_| 2,
                tokens: &|_| 50.0,
            };
            let expects = self.forecast.expect(&CacheRules::default(), &outline, at * 1000);
            self.request += 1;
            let writes = vec![head, after[after.len() - 1]];
            let arrived = json!({"request": self.request, "class": "main", "verdict": "next", "known": 0, "new": 1,
                "changed": 0, "bytes": 1, "model": self.model, "manner": self.manner, "writes": writes});
            self.forecast.asked(&serde_json::from_value(arrived).expect("a request"), at * 1000);
            let usage = Usage { cache_read: read, cache_write: written, ..Usage::default() };
            let answered = json!({"request": self.request, "status": 200, "ending": "complete", "usage": usage,
                "total_ms": 1});
            self.forecast.answered(&serde_json::from_value(answered).expect("an answer"));
            expects
        }
    }

    #[test]
    fn what_was_written_is_expected_as_long_as_it_lives_and_the_beginning_is_the_same() {
        let mut told = Told::new();
        assert_eq!(told.ask(1, &[1], 0, 100), None, "nobody can tell yet");
        assert_eq!(told.ask(2, &[1, 2, 3], 100, 40), Some(100));
        assert_eq!(told.ask(3, &[1, 2, 3], 140, 0), Some(140), "the same again");
        assert_eq!(told.ask(4, &[1, 8, 9], 100, 20), Some(100), "another way from there");
        assert_eq!(told.ask(5, &[7, 8], 50, 20), Some(50), "the system prompt is the same");
        assert_eq!(told.ask(299, &[1, 2, 3], 140, 0), Some(140), "it lives on when it is used");
        assert_eq!(told.ask(600, &[1, 2, 3], 0, 140), Some(0), "too long ago");
        told.model = "n";
        assert_eq!(told.ask(601, &[1, 2, 3], 0, 140), Some(0), "each model has its own");
    }

    #[test]
    fn under_another_manner_only_what_stands_before_the_messages_is_expected() {
        let mut told = Told::new();
        told.ask(1, &[1], 0, 100);
        told.manner = Some(key(99));
        assert_eq!(told.ask(2, &[1, 2], 50, 90), Some(50));
        assert_eq!(told.ask(3, &[1, 2, 3], 140, 10), Some(140), "it has a cache of its own");
        told.manner = None;
        assert_eq!(told.ask(4, &[1, 2, 3], 100, 50), Some(100), "and so has the other");
    }

    #[test]
    fn how_long_it_lives_is_what_somebody_said() {
        let mut told = Told::new();
        told.ask(1, &[1], 0, 100);
        told.forecast.keep_for(Some(15));
        assert_eq!(told.ask(10, &[1, 2], 100, 10), Some(100));
        assert_eq!(told.ask(26, &[1, 2, 3], 0, 120), Some(0));
    }

    #[test]
    fn a_mark_reaches_twenty_places_and_no_more() {
        let mut told = Told::new();
        told.ask(1, &[1], 0, 100);
        let near: Vec<u8> = (1..=10).collect();
        assert_eq!(told.ask(2, &near, 100, 1), Some(100));
        let mut told = Told::new();
        told.ask(1, &[1], 0, 100);
        let far: Vec<u8> = (1..=11).collect();
        assert_eq!(told.ask(2, &far, 50, 1), Some(50), "only what the mark before finds");
    }

    #[test]
    fn what_no_mark_kept_alive_is_not_counted_on() {
        let keys = ["old", "marked again", "never told of"].map(|name| Key::of([name.as_bytes()]));
        let mut forecast = CacheForecast::default();
        let mut write = |prefix: Key, manner, at| {
            forecast.cache.write(&Writer { model: None, manner, at }, &[(prefix, None)], 300);
        };
        write(keys[0], None, 0);
        write(keys[1], None, 0);
        write(keys[1], Some(key(1)), 200_000);
        let living = |at: u64| {
            let mut written: FastSet<Key> = keys.into_iter().collect();
            forecast.leave_what_lives(&mut written, at);
            keys.map(|key| written.contains(&key))
        };
        assert_eq!(living(300_000), [true, true, true]);
        assert_eq!(living(300_001), [false, true, true]);
        assert_eq!(living(500_001), [false, false, true]);
    }
}
