//! Forecasts the provider's cache from the requests and answers of a conversation.

use crate::log::{AnswerRecord, ArrivalRecord};
use ctx_core::Key;
use ctx_core::fast_map::{FastMap, FastSet, Quick};
use ctx_models::CacheRules;
use ctx_models::cache::{Outline, PromptCache, Writer, Writes};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

/// The number of remembered entries.
const ENTRIES: usize = 128;
const UNDER_WAY: usize = 64;
/// The number of ends recorded for a request that writes at each of its messages.
const NEWEST: usize = 3;

/// The provider's cache, as inferred from the requests and answers of a conversation.
#[derive(Debug)]
pub struct CacheForecast {
    cache: PromptCache<Key, BuildHasherDefault<Quick>>,
    under_way: HashMap<u32, PendingWrites>,
    /// Its lifetime in seconds, as reported by answers.
    ttl: Option<u64>,
    /// An answer has reported cache use.
    told: bool,
    /// Its lifetime in seconds, unless answers report it.
    kept_for: Option<u64>,
    /// Every request writes all of itself, and answers do not report it.
    is_implicit: bool,
}

#[derive(Debug)]
struct PendingWrites {
    writer: Writer<Key>,
    writes: Vec<Key>,
}

/// The cache forecast of a request, made before its answer comes.
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
    /// Records a sent request.
    pub fn asked(&mut self, arrived: &ArrivalRecord, at: u64) {
        if arrived.writes.is_empty() {
            return;
        }
        if self.under_way.len() >= UNDER_WAY {
            // Their answers will not come any more.
            self.under_way.clear();
        }
        let ArrivalRecord { model, manner, writes, .. } = arrived;
        let writer = Writer { model: model.clone(), manner: *manner, at };
        self.under_way.insert(arrived.request, PendingWrites { writer, writes: writes.clone() });
    }

    /// Sets the lifetime in seconds, overriding answers.
    pub fn keep_for(&mut self, seconds: Option<u64>) {
        self.kept_for = seconds;
        seconds.into_iter().for_each(|seconds| self.cache.set_lifetime(seconds));
    }

    fn lifetime(&self) -> u64 {
        self.kept_for.or(self.ttl).unwrap_or_else(|| CacheRules::default().usual_lifetime())
    }

    /// Adds the content that the answered request wrote.
    pub fn answered(&mut self, answered: &AnswerRecord) {
        let Some(usage) = answered.usage.filter(|_| answered.status == 200) else { return };
        let Some(PendingWrites { writer, writes }) = self.under_way.remove(&answered.request) else { return };
        self.told = true;
        self.ttl = answered.ttl().or(self.ttl);
        let cached = if self.is_implicit { usage.prompt() } else { usage.cached() };
        if cached == 0 {
            return;
        }
        // The provider counts up to the last one.
        let mut prefixes: Vec<(Key, Option<u64>)> = writes.into_iter().map(|prefix| (prefix, None)).collect();
        prefixes.last_mut().into_iter().for_each(|last| last.1 = Some(cached));
        self.cache.write(&writer, &prefixes, self.lifetime());
    }

    /// The digests that a model's request certainly finds, and their tokens if the provider counted them.
    pub fn certain(&self, model: Option<&str>, at: u64) -> FastMap<Key, Option<u64>> {
        self.cache.certain(model, at).collect()
    }

    /// Removes digests that may have expired.
    pub fn leave_what_lives(&self, written: &mut FastSet<Key>, at: u64) {
        for prefix in self.cache.doubtful(at) {
            written.remove(&prefix);
        }
    }

    pub fn of(&mut self, rules: &CacheRules, outline: &Outline<'_, Key>, at: u64) -> Forecast {
        let mut writes: Vec<Key> = rules.writes(outline).into_iter().filter_map(|end| outline.prefix(end)).collect();
        self.is_implicit = rules.writes == Writes::Everywhere;
        if self.is_implicit {
            // The head and the newest ends: earlier requests recorded theirs.
            writes.drain(1..writes.len().saturating_sub(NEWEST).max(1));
        }
        Forecast { expects: self.expect(rules, outline, at), writes }
    }

    /// The tokens that a request should read from the cache; `None` until an answer has reported cache use.
    fn expect(&mut self, rules: &CacheRules, outline: &Outline<'_, Key>, at: u64) -> Option<u64> {
        let lifetime = self.lifetime();
        self.told.then(|| self.cache.read(rules, outline, at, lifetime).map_or(0, |hit| hit.tokens as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_api::requests::Usage;
    use ctx_models::cache::Breakpoints;
    use serde_json::json;

    fn key(number: u8) -> Key {
        Key::of([&[number][..]])
    }

    struct Forecasts {
        forecast: CacheForecast,
        request: u32,
        model: &'static str,
        manner: Option<Key>,
    }

    impl Forecasts {
        fn new() -> Forecasts {
            Forecasts { forecast: CacheForecast::default(), request: 0, model: "m", manner: None }
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
        let mut told = Forecasts::new();
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
        let mut told = Forecasts::new();
        told.ask(1, &[1], 0, 100);
        told.manner = Some(key(99));
        assert_eq!(told.ask(2, &[1, 2], 50, 90), Some(50));
        assert_eq!(told.ask(3, &[1, 2, 3], 140, 10), Some(140), "it has a cache of its own");
        told.manner = None;
        assert_eq!(told.ask(4, &[1, 2, 3], 100, 50), Some(100), "and so has the other");
    }

    #[test]
    fn how_long_it_lives_is_what_somebody_said() {
        let mut told = Forecasts::new();
        told.ask(1, &[1], 0, 100);
        told.forecast.keep_for(Some(15));
        assert_eq!(told.ask(10, &[1, 2], 100, 10), Some(100));
        assert_eq!(told.ask(26, &[1, 2, 3], 0, 120), Some(0));
    }

    #[test]
    fn a_mark_reaches_twenty_places_and_no_more() {
        let mut told = Forecasts::new();
        told.ask(1, &[1], 0, 100);
        let near: Vec<u8> = (1..=10).collect();
        assert_eq!(told.ask(2, &near, 100, 1), Some(100));
        let mut told = Forecasts::new();
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
