//! The entries of a provider's cache, derived from its rules and the sent requests.

use super::{CacheRules, End, Outline, Reads, Writes};
use std::cell::LazyCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, Hash, RandomState};
use std::marker::PhantomData;

/// `S` hashes prefixes, as in a `HashMap`.
#[derive(Debug)]
pub struct PromptCache<K, S = RandomState> {
    /// Newest last.
    entries: VecDeque<Entry<K>>,
    most: usize,
    hasher: PhantomData<S>,
}

/// A written prefix. Times are in milliseconds.
#[derive(Debug, Clone)]
struct Entry<K> {
    prefix: K,
    model: Option<String>,
    manner: Option<K>,
    /// As counted by the provider.
    tokens: Option<u64>,
    /// The last use by a request, and the expiry.
    used: u64,
    expires: u64,
    /// The last write by a request, and the guaranteed expiry: whether reading a longer prefix extends it is uncertain.
    written: u64,
    certain: u64,
}

/// The result of a lookup.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    pub end: End,
    pub tokens: f64,
}

/// The tokens of a prompt as the provider would report them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Reading {
    pub read: f64,
    pub written: f64,
    pub input: f64,
}

impl Reading {
    pub fn prompt(&self) -> f64 {
        self.read + self.written + self.input
    }
}

/// A writing request.
#[derive(Debug, Clone)]
pub struct Writer<K> {
    pub model: Option<String>,
    pub manner: Option<K>,
    pub at: u64,
}

impl<K: Copy + Eq + Hash, S: BuildHasher + Default> PromptCache<K, S> {
    /// Tracks at most this many entries, the newest.
    pub fn new(most: usize) -> PromptCache<K, S> {
        PromptCache { entries: VecDeque::new(), most, hasher: PhantomData }
    }

    /// Finds the longest live prefix of a request, and extends it and all shorter ones by `lifetime` seconds: a
    /// forecast assumes the best case.
    pub fn read(&mut self, rules: &CacheRules, outline: &Outline<'_, K>, at: u64, lifetime: u64) -> Option<Hit> {
        let alive = self.alive(rules, outline, at);
        let (hit, _) = self.find(rules, outline, &alive)?;
        let shorter = outline.after.iter().take(hit.end.map_or(0, |end| end + 1)).chain([&outline.head]);
        shorter.filter_map(|prefix| alive.get(prefix)).for_each(|entry| self.refresh(*entry, at, lifetime));
        Some(hit)
    }

    /// The entries that a request may find, by prefix.
    fn alive(&self, rules: &CacheRules, outline: &Outline<'_, K>, at: u64) -> HashMap<K, usize, S> {
        let newest = match rules.reads {
            Reads::AtEntries { newest } => newest,
            Reads::LookBack(_) | Reads::LongestPrefix { .. } => usize::MAX,
        };
        let is_alive = |entry: &Entry<K>| {
            let is_like = entry.manner == outline.manner || entry.prefix == outline.head;
            is_like && entry.model.as_deref() == outline.model && at <= entry.expires
        };
        let first = self.entries.len().saturating_sub(newest);
        let alive = self.entries.iter().enumerate().skip(first).filter(|(_, entry)| is_alive(entry));
        alive.map(|(at, entry)| (entry.prefix, at)).collect()
    }

    /// The longest prefix of a request that it finds, and its entry.
    fn find(&self, rules: &CacheRules, outline: &Outline<'_, K>, alive: &HashMap<K, usize, S>) -> Option<(Hit, usize)> {
        let ends = (0..outline.after.len()).rev().map(Some).chain([None]);
        let mut found = ends.filter_map(|end| Some((end, *alive.get(&outline.prefix(end)?)?)));
        found.find_map(|(end, entry)| {
            let known = self.entries.get(entry)?.tokens;
            // An estimate weighs the whole prompt.
            let tokens = LazyCell::new(|| known.map_or_else(|| (outline.tokens)(end), |tokens| tokens as f64));
            let reaches = rules.reaches(outline, end, || *tokens);
            reaches.then(|| (Hit { end, tokens: rules.reported(*tokens) }, entry))
        })
    }

    fn refresh(&mut self, entry: usize, at: u64, lifetime: u64) {
        if let Some(entry) = self.entries.get_mut(entry) {
            entry.used = at;
            entry.expires = entry.expires.max(at.saturating_add(lifetime * 1000));
        }
    }

    /// Records the prefixes that a request has written, with their lifetime, and their tokens if the provider counted
    /// them.
    pub fn write(&mut self, writer: &Writer<K>, prefixes: &[(K, Option<u64>)], lifetime: u64) {
        let mut before: HashMap<K, (Option<u64>, u64), S> = HashMap::default();
        let written: HashSet<K, S> = prefixes.iter().map(|(prefix, _)| *prefix).collect();
        self.entries.retain(|entry| {
            let is_old =
                written.contains(&entry.prefix) && (&entry.model, entry.manner) == (&writer.model, writer.manner);
            if is_old {
                before.insert(entry.prefix, (entry.tokens, entry.expires));
            }
            !is_old
        });
        let expires = writer.at.saturating_add(lifetime * 1000);
        for (prefix, tokens) in prefixes {
            let (known, lived) = before.get(prefix).copied().unwrap_or_default();
            self.entries.push_back(Entry {
                prefix: *prefix,
                model: writer.model.clone(),
                manner: writer.manner,
                tokens: tokens.or(known),
                used: writer.at,
                // A longer lifetime stays in force.
                expires: expires.max(lived),
                written: writer.at,
                certain: expires,
            });
        }
        self.entries.drain(..self.entries.len().saturating_sub(self.most));
    }

    /// Takes a whole request, and returns the provider's expected report. Extends only the prefix that it reads and
    /// those that it writes: a calculation assumes no more than is certain.
    pub fn take(&mut self, rules: &CacheRules, outline: &Outline<'_, K>, at: u64, lifetime: u64) -> Reading {
        self.entries.retain(|entry| at <= entry.expires);
        let all = (outline.tokens)(outline.last());
        let found = self.find(rules, outline, &self.alive(rules, outline, at));
        let read = found.map_or(0.0, |(hit, _)| hit.tokens);
        found.into_iter().for_each(|(_, entry)| self.refresh(entry, at, lifetime));
        let ends = rules.writes(outline).into_iter().map(|end| (end, (outline.tokens)(end)));
        let ends: Vec<(End, f64)> = ends.filter(|(_, tokens)| *tokens >= rules.minimum as f64).collect();
        let prefixes = ends.iter().filter_map(|(end, _)| Some((outline.prefix(*end)?, None)));
        let prefixes: Vec<(K, Option<u64>)> = prefixes.collect();
        let last = match (rules.writes, ends.last()) {
            (Writes::Everywhere, _) | (_, None) => read,
            (_, Some((_, tokens))) => tokens.max(read),
        };
        let writer = Writer { model: outline.model.map(str::to_owned), manner: outline.manner, at };
        self.write(&writer, &prefixes, lifetime);
        Reading { read, written: last - read, input: all - last }
    }

    /// Sets the lifetime of all entries, in seconds.
    pub fn set_lifetime(&mut self, seconds: u64) {
        for entry in &mut self.entries {
            entry.expires = entry.used.saturating_add(seconds * 1000);
            entry.certain = entry.written.saturating_add(seconds * 1000);
        }
    }

    /// The prefixes that a model's request certainly finds, and their tokens if the provider counted them.
    pub fn certain(&self, model: Option<&str>, at: u64) -> impl Iterator<Item = (K, Option<u64>)> {
        let is_certain = move |entry: &&Entry<K>| entry.model.as_deref() == model && at <= entry.certain;
        self.entries.iter().filter(is_certain).map(|entry| (entry.prefix, entry.tokens))
    }

    /// The prefixes that may have expired. Of several entries for one prefix, the newest counts.
    pub fn doubtful(&self, at: u64) -> impl Iterator<Item = K> {
        let newest: HashMap<K, bool, S> = self.entries.iter().map(|entry| (entry.prefix, at > entry.certain)).collect();
        newest.into_iter().filter(|(_, is_doubtful)| *is_doubtful).map(|(prefix, _)| prefix)
    }
}
