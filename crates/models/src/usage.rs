//! Token counts of one answer, as every provider reports them in some form.

/// Some providers count the tokens of the cache beside the input, others inside it. Here they are inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// All the tokens that the model read.
    pub input: u64,
    /// Those of them that came from the cache, and those that were written to it.
    pub cache_read: u64,
    pub cache_writes: [Option<CacheWrite>; 2],
    pub output: u64,
    /// The part of `output` that was reasoning.
    pub reasoning: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheWrite {
    /// How long the cache keeps it.
    pub seconds: u64,
    pub tokens: u64,
}

impl Usage {
    pub fn written(&self) -> u64 {
        self.cache_writes.iter().flatten().fold(0, |sum, write| sum.saturating_add(write.tokens))
    }

    /// The tokens that the cache holds after the answer.
    pub fn cached(&self) -> u64 {
        self.cache_read.saturating_add(self.written())
    }

    /// The tokens that the cache has no part in.
    pub fn fresh(&self) -> u64 {
        self.input.saturating_sub(self.cached())
    }

    /// Seconds that the cache keeps the end of what was written: what lives longer stands before it.
    pub fn lifetime(&self) -> Option<u64> {
        self.cache_writes.iter().flatten().find(|write| write.tokens > 0).map(|write| write.seconds)
    }

    /// The same answer with other figures of the cache. What is written is kept as long as the answer's own writes are,
    /// in the same shares, or for `lifetime` seconds where it has none.
    pub fn with_cache(&self, read: u64, written: u64, lifetime: u64) -> Usage {
        let input = self.fresh().saturating_add(read).saturating_add(written);
        let cache_writes = match (self.written(), self.cache_writes) {
            (0, _) => [Some(CacheWrite { seconds: lifetime, tokens: written }), None],
            (all, [first, Some(second)]) => {
                let share = (written as f64 * second.tokens as f64 / all as f64).round() as u64;
                let share = share.min(written);
                let first = first.map(|first| CacheWrite { tokens: written - share, ..first });
                [first, Some(CacheWrite { tokens: share, ..second })]
            }
            (_, [first, None]) => [first.map(|first| CacheWrite { tokens: written, ..first }), None],
        };
        Usage { input, cache_read: read, cache_writes, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(short: u64, long: u64) -> Usage {
        let writes = [(300, short), (3600, long)].map(|(seconds, tokens)| Some(CacheWrite { seconds, tokens }));
        Usage { input: 1_000 + short + long, cache_read: 600, cache_writes: writes, output: 7, reasoning: None }
    }

    #[test]
    fn the_cache_is_part_of_the_input() {
        let usage = usage(100, 300);
        assert_eq!((usage.fresh(), usage.cached(), usage.written()), (400, 1_000, 400));
        assert_eq!(usage.lifetime(), Some(300), "what lives shorter stands behind");
        assert_eq!(
            [super::tests::usage(0, 9), super::tests::usage(0, 0)].map(|one| one.lifetime()),
            [Some(3600), None]
        );
    }

    #[test]
    fn other_writes_are_kept_as_long_as_the_answers_own() {
        let tokens = |usage: Usage| usage.cache_writes.map(|write| write.map(|write| (write.seconds, write.tokens)));
        let other = usage(100, 300).with_cache(50, 1_000, 300);
        assert_eq!((other.input, other.cache_read), (1_450, 50));
        assert_eq!(tokens(other), [Some((300, 250)), Some((3600, 750))]);
        assert_eq!(tokens(usage(0, 0).with_cache(0, 9, 900)), [Some((900, 9)), None]);
    }
}
