//! The rules of each provider's cache.

use super::{End, FIVE_MINUTES, HALF_AN_HOUR, ONE_HOUR, Outline};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheRules {
    pub writes: Writes,
    pub reads: Reads,
    /// Shorter prefixes are not cached, and no answer says so.
    pub minimum: u64,
    /// The price of a token that is read, in input tokens.
    pub read: f64,
    /// The shortest first; the first one is what a request gets that asks for none.
    pub lifetimes: &'static [Lifetime],
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lifetime {
    pub seconds: u64,
    /// The price of a token that is written, in input tokens.
    pub write: f64,
}

/// Where a request writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// At the breakpoints of the request only.
    AtBreakpoints,
    /// At the end of the input, and at up to so many writes in all at breakpoints, the last ones.
    AtLastInput { most: usize },
    /// Everywhere: any prefix is found later. Writing is not counted.
    Everywhere,
}

/// What a request reads: the longest prefix that is alive and
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// ends less than so many places before a breakpoint of the request,
    LookBack(usize),
    /// was among the newest so many that were written,
    AtEntries { newest: usize },
    /// is not shorter than the minimum, in whole steps of so many tokens.
    LongestPrefix { step: u64 },
}

pub const ANTHROPIC: CacheRules = CacheRules {
    writes: Writes::AtBreakpoints,
    reads: Reads::LookBack(20),
    minimum: 1024,
    read: 0.1,
    lifetimes: &[Lifetime { seconds: FIVE_MINUTES, write: 1.25 }, Lifetime { seconds: ONE_HOUR, write: 2.0 }],
};

/// Models before GPT-5.6. Entries live for five minutes to an hour.
pub const OPENAI: CacheRules = CacheRules {
    writes: Writes::Everywhere,
    reads: Reads::LongestPrefix { step: 128 },
    minimum: 1024,
    read: 0.1,
    lifetimes: &[Lifetime { seconds: FIVE_MINUTES, write: 1.0 }],
};

/// GPT-5.6 and later.
pub const OPENAI_BREAKPOINTS: CacheRules = CacheRules {
    writes: Writes::AtLastInput { most: 4 },
    reads: Reads::AtEntries { newest: 80 },
    minimum: 1024,
    read: 0.1,
    lifetimes: &[Lifetime { seconds: HALF_AN_HOUR, write: 1.25 }],
};

/// The implicit cache; how long it lives is not published.
pub const GEMINI: CacheRules = CacheRules {
    writes: Writes::Everywhere,
    reads: Reads::LongestPrefix { step: 1 },
    minimum: 4096,
    read: 0.1,
    lifetimes: &[Lifetime { seconds: FIVE_MINUTES, write: 1.0 }],
};

impl Default for CacheRules {
    /// The rules for a model of which nothing is known.
    fn default() -> CacheRules {
        ANTHROPIC
    }
}

impl CacheRules {
    /// Seconds that a cache lives if nothing else is asked for.
    pub fn usual_lifetime(&self) -> u64 {
        self.lifetimes.first().map_or(0, |lifetime| lifetime.seconds)
    }

    /// The number of places that a breakpoint looks back, itself included, where that is the rule.
    pub fn look_back(&self) -> Option<usize> {
        match self.reads {
            Reads::LookBack(places) => Some(places),
            Reads::AtEntries { .. } | Reads::LongestPrefix { .. } => None,
        }
    }

    /// The ends at which a request writes, the shortest first.
    pub fn writes<K: Copy>(&self, outline: &Outline<'_, K>) -> Vec<End> {
        let head = outline.breakpoints.head.then_some(None);
        let messages = outline.breakpoints.messages.iter().filter(|at| **at < outline.after.len());
        let mut ends: Vec<End> = head.into_iter().chain(messages.map(|at| Some(*at))).collect();
        match self.writes {
            Writes::AtBreakpoints => {}
            Writes::AtLastInput { most } => {
                if ends.last() != Some(&outline.last()) {
                    ends.push(outline.last());
                }
                ends.drain(..ends.len().saturating_sub(most));
            }
            Writes::Everywhere => ends = std::iter::once(None).chain((0..outline.after.len()).map(Some)).collect(),
        }
        ends
    }

    /// Whether a request finds a prefix that ends there, if it is alive.
    pub(super) fn reaches<K: Copy>(&self, outline: &Outline<'_, K>, end: End) -> bool {
        let look_back = match self.reads {
            Reads::LookBack(places) => places,
            Reads::AtEntries { .. } => return true,
            Reads::LongestPrefix { .. } => return (outline.tokens)(end) >= self.minimum as f64,
        };
        if end.is_none() && outline.breakpoints.head {
            return true;
        }
        let next = end.map_or(0, |end| end + 1);
        // The nearest one behind it.
        let Some(breakpoint) = outline.breakpoints.messages.iter().find(|at| **at + 1 >= next) else { return false };
        let mut places = 0;
        (next..=*breakpoint).all(|message| {
            places += (outline.places)(message);
            places < look_back
        })
    }

    /// The number of tokens that are reported as read of a prefix of so many.
    pub(super) fn reported(&self, tokens: f64) -> f64 {
        match self.reads {
            Reads::LongestPrefix { step } => tokens - tokens % step.max(1) as f64,
            Reads::LookBack(_) | Reads::AtEntries { .. } => tokens,
        }
    }
}
