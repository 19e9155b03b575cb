//! Prompt caches of the providers: where a request writes, what a later one reads, for how long and at what price.
//!
//! [`CacheRules`] are data, one set per provider with exceptions per model. [`PromptCache`] simulates them: the
//! forecast, the audit and the lab share it.

mod prompt_cache;
mod rules;

pub use prompt_cache::{Hit, PromptCache, Reading, Writer};
pub use rules::{
    ANTHROPIC, CacheRules, DEEPSEEK, GEMINI, GEMINI_2, GLM, KIMI, KIMI_WRITES, Lifetime, OPENAI, OPENAI_BREAKPOINTS,
    OPENAI_DAY, OPENAI_TWELVE_HOURS, PREFIX, QWEN, Reads, Writes,
};

/// Seconds.
pub const FIVE_MINUTES: u64 = 300;
pub const HALF_AN_HOUR: u64 = 1800;
pub const ONE_HOUR: u64 = 3600;
pub const TWELVE_HOURS: u64 = 12 * ONE_HOUR;
pub const ONE_DAY: u64 = 24 * ONE_HOUR;

/// The end of a prefix: the head (tools and system prompt), or a message.
pub type End = Option<usize>;

/// The breakpoints of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Breakpoints {
    /// In the tools or the system prompt.
    pub head: bool,
    /// The messages, in order.
    pub messages: Vec<usize>,
    /// The provider sets none itself.
    pub is_explicit: bool,
}

/// A request as a cache sees it. `K` identifies a prefix.
#[derive(Clone, Copy)]
pub struct Outline<'a, K> {
    /// Every model has its own cache.
    pub model: Option<&'a str>,
    /// Settings under which messages are cached; the head is independent of them.
    pub manner: Option<K>,
    /// The prefix that ends with the head, and the prefixes that end with each message.
    pub head: K,
    pub after: &'a [K],
    pub breakpoints: &'a Breakpoints,
    /// The number of places that a message takes in a breakpoint's look-back.
    pub places: &'a dyn Fn(usize) -> usize,
    /// The number of tokens up to an end.
    pub tokens: &'a dyn Fn(End) -> f64,
}

impl<K: Copy> Outline<'_, K> {
    pub fn prefix(&self, end: End) -> Option<K> {
        end.map_or(Some(self.head), |message| self.after.get(message).copied())
    }

    /// The end of the whole request.
    pub fn last(&self) -> End {
        self.after.len().checked_sub(1)
    }
}

#[cfg(test)]
mod tests;
