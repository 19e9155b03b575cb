//! Token counts of one answer, in a form common to all providers.

/// Some providers count cached tokens beside the input, others inside it. Here they are inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// All tokens that the model read.
    pub input: u64,
    /// The part read from the cache, and the part written to it.
    pub cache_read: u64,
    pub cache_writes: [Option<CacheWrite>; 2],
    pub output: u64,
    /// The part of `output` that was reasoning.
    pub reasoning: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheWrite {
    /// The lifetime of the write.
    pub seconds: u64,
    pub tokens: u64,
}

impl Usage {
    pub fn written(&self) -> u64 {
        self.cache_writes.iter().flatten().fold(0, |sum, write| sum.saturating_add(write.tokens))
    }

    /// The tokens in the cache after the answer.
    pub fn cached(&self) -> u64 {
        self.cache_read.saturating_add(self.written())
    }

    /// The tokens without any part in the cache.
    pub fn fresh(&self) -> u64 {
        self.input.saturating_sub(self.cached())
    }

    /// The lifetime of the end of the written prefix, in seconds: longer lifetimes precede it.
    pub fn lifetime(&self) -> Option<u64> {
        self.cache_writes.iter().flatten().find(|write| write.tokens > 0).map(|write| write.seconds)
    }

    /// The same answer with other cache figures. Writes keep the lifetimes and shares of the answer's own, or
    /// `lifetime` seconds if it has none.
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
