//! The rules of each provider's cache.

use super::{End, FIVE_MINUTES, HALF_AN_HOUR, ONE_DAY, ONE_HOUR, Outline, TWELVE_HOURS};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheRules {
    pub writes: Writes,
    pub reads: Reads,
    /// Shorter prefixes are not cached, silently.
    pub minimum: u64,
    /// The price of reading a token, in input tokens.
    pub read: f64,
    /// Shortest first; the first is the default.
    pub lifetimes: &'static [Lifetime],
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lifetime {
    pub seconds: u64,
    /// The price of writing a token, in input tokens.
    pub write: f64,
}

/// The positions at which a request writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// Only at the breakpoints of the request.
    AtBreakpoints,
    /// At the end of the input, and at the last breakpoints, up to this many writes in all.
    AtLastInput { most: usize },
    /// Everywhere: any prefix can be found later. Writing is not counted.
    Everywhere,
}

/// What a request reads: the longest live prefix that
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// ends fewer than this many places before a breakpoint of the request,
    LookBack(usize),
    /// is among the newest this many written,
    AtEntries { newest: usize },
    /// is not shorter than the minimum, in whole steps of this many tokens.
    LongestPrefix { step: u64 },
}

pub const ANTHROPIC: CacheRules = CacheRules {
    writes: Writes::AtBreakpoints,
    reads: Reads::LookBack(20),
    minimum: 1024,
    read: 0.1,
    lifetimes: &[Lifetime { seconds: FIVE_MINUTES, write: 1.25 }, Lifetime { seconds: ONE_HOUR, write: 2.0 }],
};

/// Models before GPT-5.5. Entries live for five minutes to an hour.
pub const OPENAI: CacheRules = CacheRules {
    writes: Writes::Everywhere,
    reads: Reads::LongestPrefix { step: 128 },
    minimum: 1024,
    read: 0.1,
    lifetimes: &[Lifetime { seconds: FIVE_MINUTES, write: 1.0 }],
};

/// GPT-5.5.
pub const OPENAI_DAY: CacheRules = CacheRules { lifetimes: &[Lifetime { seconds: ONE_DAY, write: 1.0 }], ..OPENAI };

/// GPT-5.6 and GPT-6.
pub const OPENAI_BREAKPOINTS: CacheRules = CacheRules {
    writes: Writes::AtLastInput { most: 4 },
    reads: Reads::AtEntries { newest: 80 },
    minimum: 1024,
    read: 0.1,
    lifetimes: &[Lifetime { seconds: HALF_AN_HOUR, write: 1.25 }],
};

/// GPT-6.1 and later.
pub const OPENAI_TWELVE_HOURS: CacheRules = CacheRules {
    read: 0.05,
    lifetimes: &[Lifetime { seconds: HALF_AN_HOUR, write: 1.25 }, Lifetime { seconds: TWELVE_HOURS, write: 2.5 }],
    ..OPENAI_BREAKPOINTS
};

/// The implicit cache; its lifetime is not published.
pub const GEMINI: CacheRules = CacheRules {
    writes: Writes::Everywhere,
    reads: Reads::LongestPrefix { step: 1 },
    minimum: 4096,
    read: 0.1,
    lifetimes: &[Lifetime { seconds: FIVE_MINUTES, write: 1.0 }],
};

/// Models before Gemini 3.
pub const GEMINI_2: CacheRules = CacheRules { minimum: 2048, ..GEMINI };

/// The typical automatic cache of a provider that publishes no figures. Discounts range from 50 to 90 percent; with the
/// largest one, no edit seems to pay off too early.
pub const PREFIX: CacheRules = CacheRules {
    writes: Writes::Everywhere,
    reads: Reads::LongestPrefix { step: 1 },
    minimum: 1024,
    read: 0.1,
    lifetimes: &[Lifetime { seconds: FIVE_MINUTES, write: 1.0 }],
};

/// A cache on disk. Entries live for hours to days.
pub const DEEPSEEK: CacheRules = CacheRules {
    reads: Reads::LongestPrefix { step: 64 },
    minimum: 64,
    read: 0.02,
    lifetimes: &[Lifetime { seconds: ONE_HOUR, write: 1.0 }],
    ..PREFIX
};

/// Only the prices are published.
pub const KIMI: CacheRules = CacheRules { read: 0.1, ..PREFIX };

/// Kimi K3.1 Pro.
pub const KIMI_WRITES: CacheRules = CacheRules {
    lifetimes: &[Lifetime { seconds: FIVE_MINUTES, write: 1.0 }, Lifetime { seconds: ONE_HOUR, write: 2.0 }],
    ..KIMI
};

/// The implicit cache.
pub const QWEN: CacheRules = CacheRules { minimum: 1024, read: 0.2, ..PREFIX };

/// Only the prices are published.
pub const GLM: CacheRules = CacheRules { read: 0.19, ..PREFIX };

/// The rules by name, as the providers' files use them.
const NAMED: &[(&str, CacheRules)] = &[
    ("anthropic", ANTHROPIC),
    ("openai", OPENAI),
    ("openai-day", OPENAI_DAY),
    ("openai-breakpoints", OPENAI_BREAKPOINTS),
    ("openai-twelve-hours", OPENAI_TWELVE_HOURS),
    ("gemini", GEMINI),
    ("gemini-2", GEMINI_2),
    ("deepseek", DEEPSEEK),
    ("kimi", KIMI),
    ("kimi-writes", KIMI_WRITES),
    ("qwen", QWEN),
    ("glm", GLM),
    ("prefix", PREFIX),
];

impl Default for CacheRules {
    /// The rules for a model of unknown wire. A caller that knows the wire passes its rules to
    /// [`crate::Models::rules`].
    fn default() -> CacheRules {
        ANTHROPIC
    }
}

impl CacheRules {
    /// The rules with this name.
    pub(crate) fn named(name: &str) -> Option<CacheRules> {
        NAMED.iter().find(|(known, _)| *known == name).map(|(_, rules)| *rules)
    }

    /// The default lifetime, in seconds.
    pub fn usual_lifetime(&self) -> u64 {
        self.lifetimes.first().map_or(0, |lifetime| lifetime.seconds)
    }

    /// The look-back of a breakpoint, itself included, if limited.
    pub fn look_back(&self) -> Option<usize> {
        match self.reads {
            Reads::LookBack(places) => Some(places),
            Reads::AtEntries { .. } | Reads::LongestPrefix { .. } => None,
        }
    }

    /// The ends at which a request writes, shortest first.
    pub fn writes<K: Copy>(&self, outline: &Outline<'_, K>) -> Vec<End> {
        let head = outline.breakpoints.head.then_some(None);
        let messages = outline.breakpoints.messages.iter().filter(|at| **at < outline.after.len());
        let mut ends: Vec<End> = head.into_iter().chain(messages.map(|at| Some(*at))).collect();
        match self.writes {
            Writes::AtBreakpoints => {}
            Writes::AtLastInput { most } => {
                if ends.last() != Some(&outline.last()) && !outline.breakpoints.is_explicit {
                    ends.push(outline.last());
                }
                ends.drain(..ends.len().saturating_sub(most));
            }
            Writes::Everywhere => ends = std::iter::once(None).chain((0..outline.after.len()).map(Some)).collect(),
        }
        ends
    }

    /// Whether a request finds a live prefix with this end and this many tokens.
    pub(super) fn reaches<K: Copy>(&self, outline: &Outline<'_, K>, end: End, tokens: impl FnOnce() -> f64) -> bool {
        let look_back = match self.reads {
            Reads::LookBack(places) => places,
            Reads::AtEntries { .. } => return true,
            Reads::LongestPrefix { .. } => return tokens() >= self.minimum as f64,
        };
        if end.is_none() && outline.breakpoints.head {
            return true;
        }
        let next = end.map_or(0, |end| end + 1);
        // The nearest breakpoint behind it.
        let Some(breakpoint) = outline.breakpoints.messages.iter().find(|at| **at + 1 >= next) else { return false };
        let mut places = 0;
        (next..=*breakpoint).all(|message| {
            places += (outline.places)(message);
            places < look_back
        })
    }

    /// The number of tokens reported as read, for a prefix of this many.
    pub(super) fn reported(&self, tokens: f64) -> f64 {
        match self.reads {
            Reads::LongestPrefix { step } => tokens - tokens % step.max(1) as f64,
            Reads::LookBack(_) | Reads::AtEntries { .. } => tokens,
        }
    }
}
