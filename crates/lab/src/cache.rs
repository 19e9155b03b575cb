//! The provider's cache, modelled: what it reads of a request, what it writes, and what is neither (rulebook of the
//! provider: exact prefixes, written at marks only, found by looking back a few blocks, kept for a while).

use ctx_core::Key;
use std::collections::HashMap;

/// One message of a request, as the cache sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// Identifies what it says; where marks stand does not count.
    pub key: Key,
    pub tokens: f64,
    /// How many blocks it counts for when a mark looks back.
    pub blocks: usize,
    /// It ends with a cache mark.
    pub marked: bool,
}

/// What the provider would report.
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

/// How a request is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// Every model has a cache of its own.
    pub model: Key,
    /// For how many milliseconds after it was used.
    pub lives: i64,
    /// Shorter prefixes are not written.
    pub least: f64,
    /// How many blocks a mark looks back, itself included.
    pub look_back: usize,
}

#[derive(Debug, Default)]
pub struct Cache {
    /// The prefixes that were written, and until when each is kept, in milliseconds.
    kept: HashMap<Key, i64>,
}

impl Cache {
    /// Takes a request. The first part is system and tools.
    pub fn take(&mut self, parts: &[Part], now: i64, terms: &Terms) -> Reading {
        self.kept.retain(|_, until| *until >= now);
        let mut prefix = Key::of([b"prompt".as_slice()]).then(terms.model);
        let mut ends: Vec<(Key, f64, usize)> = Vec::with_capacity(parts.len());
        let (mut tokens, mut blocks) = (0.0, 0);
        for part in parts {
            prefix = prefix.then(part.key);
            tokens += part.tokens;
            blocks += part.blocks;
            ends.push((prefix, tokens, blocks));
        }
        let marks: Vec<usize> = (0..parts.len()).filter(|&at| parts[at].marked).collect();
        let found = marks.iter().rev().find_map(|&mark| self.found_from(&ends, mark, terms.look_back));
        let (found, read) = found.map_or((None, 0.0), |(at, read)| (Some(at), read));
        let until = now + terms.lives;
        if let Some((prefix, ..)) = found.and_then(|at| ends.get(at)) {
            self.keep(*prefix, until);
        }
        let written = marks.iter().filter_map(|&mark| ends.get(mark)).filter(|(_, tokens, _)| *tokens >= terms.least);
        let written: Vec<(Key, f64)> = written.map(|(prefix, tokens, _)| (*prefix, *tokens)).collect();
        let last = written.last().map_or(read, |(_, tokens)| tokens.max(read));
        written.into_iter().for_each(|(prefix, _)| self.keep(prefix, until));
        Reading { read, written: last - read, input: tokens - last }
    }

    /// What is kept for longer already stays that long.
    fn keep(&mut self, prefix: Key, until: i64) {
        let kept = self.kept.entry(prefix).or_insert(until);
        *kept = until.max(*kept);
    }

    /// The longest prefix that is kept, as far as a mark looks back.
    fn found_from(&self, ends: &[(Key, f64, usize)], mark: usize, look_back: usize) -> Option<(usize, f64)> {
        let (_, _, here) = ends.get(mark)?;
        let near = (0..=mark).rev().take_while(|&at| ends.get(at).is_some_and(|end| here - end.2 < look_back));
        near.filter_map(|at| Some((at, ends.get(at)?)))
            .find_map(|(at, (prefix, tokens, _))| self.kept.contains_key(prefix).then_some((at, *tokens)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, tokens: f64, marked: bool) -> Part {
        Part { key: Key::of([name.as_bytes()]), tokens, blocks: 1, marked }
    }

    fn terms(model: &str) -> Terms {
        Terms { model: Key::of([model.as_bytes()]), lives: 300_000, least: 1024.0, look_back: 20 }
    }

    fn take_as(cache: &mut Cache, names: &[(&str, bool)], now: i64, terms: &Terms) -> (f64, f64, f64) {
        let parts: Vec<Part> = names.iter().map(|(name, marked)| part(name, 1000.0, *marked)).collect();
        let reading = cache.take(&parts, now, terms);
        (reading.read, reading.written, reading.input)
    }

    fn take(cache: &mut Cache, names: &[(&str, bool)], now: i64) -> (f64, f64, f64) {
        take_as(cache, names, now, &terms("one"))
    }

    #[test]
    fn a_model_does_not_read_what_another_wrote() {
        let mut cache = Cache::default();
        let parts = [("s", true), ("a", true)];
        assert_eq!(take_as(&mut cache, &parts, 0, &terms("one")), (0.0, 2000.0, 0.0));
        assert_eq!(take_as(&mut cache, &parts, 1, &terms("other")), (0.0, 2000.0, 0.0));
        assert_eq!(take_as(&mut cache, &parts, 2, &terms("one")), (2000.0, 0.0, 0.0), "its own is still there");
        assert_eq!(take_as(&mut cache, &parts, 3, &Terms { least: 2048.0, ..terms("third") }), (0.0, 0.0, 2000.0));
    }

    #[test]
    fn what_was_written_for_an_hour_stays_that_long() {
        let mut cache = Cache::default();
        let parts = [("s", true), ("a", true)];
        take_as(&mut cache, &parts, 0, &Terms { lives: 3_600_000, ..terms("one") });
        assert_eq!(take(&mut cache, &parts, 1000), (2000.0, 0.0, 0.0));
        assert_eq!(take(&mut cache, &parts, 3_000_000), (2000.0, 0.0, 0.0));
        assert_eq!(take(&mut cache, &parts, 3_600_001), (0.0, 2000.0, 0.0));
    }

    #[test]
    fn what_was_written_is_read_and_what_is_new_is_written() {
        let mut cache = Cache::default();
        assert_eq!(take(&mut cache, &[("s", true), ("a", false), ("b", true)], 0), (0.0, 3000.0, 0.0));
        assert_eq!(take(&mut cache, &[("s", true), ("a", false), ("b", false), ("c", true)], 1), (3000.0, 1000.0, 0.0));
        // Behind the last mark nothing is written.
        assert_eq!(take(&mut cache, &[("s", true), ("a", true), ("x", false)], 2), (0.0, 2000.0, 1000.0));
    }

    #[test]
    fn an_edit_costs_what_stands_behind_it_once() {
        let mut cache = Cache::default();
        take(&mut cache, &[("s", true), ("a", true)], 0);
        take(&mut cache, &[("s", true), ("a", false), ("b", true)], 0);
        take(&mut cache, &[("s", true), ("a", false), ("b", false), ("c", true)], 0);
        assert_eq!(take(&mut cache, &[("s", true), ("a", false), ("B", false), ("c", true)], 1), (2000.0, 2000.0, 0.0));
        assert_eq!(take(&mut cache, &[("s", true), ("a", false), ("B", false), ("c", true)], 1), (4000.0, 0.0, 0.0));
    }

    #[test]
    fn it_forgets_and_does_not_look_back_for_ever() {
        let mut cache = Cache::default();
        take(&mut cache, &[("s", false), ("a", true)], 0);
        assert_eq!(take(&mut cache, &[("s", false), ("a", true)], 300_000), (2000.0, 0.0, 0.0));
        assert_eq!(take(&mut cache, &[("s", false), ("a", true)], 600_001), (0.0, 2000.0, 0.0));
        let far: Vec<Part> = ["s", "a"]
            .into_iter()
            .map(|name| part(name, 1000.0, false))
            .chain((0..20).map(|at| part(&format!("b{at}"), 10.0, at == 19)))
            .collect();
        assert_eq!(cache.take(&far, 600_002, &terms("one")).read, 0.0, "20 blocks behind what was written");
        let terms = Terms { least: 5000.0, ..terms("one") };
        let reading = Cache::default().take(&[part("s", 4000.0, true)], 0, &terms);
        assert_eq!(reading.input, 4000.0, "too little to be kept");
    }
}
