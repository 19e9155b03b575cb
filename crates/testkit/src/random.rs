//! Random numbers that are the same on every machine and in every run (splitmix64), so that failures are reproducible.

#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`; 0 if `limit` is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        match limit {
            0 => 0,
            limit => (self.number() % limit as u64) as usize,
        }
    }

    /// A number from `low` up to, not including, `high`.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high.saturating_sub(low))
    }

    /// True `percent` times in a hundred.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of the choices; `None` if there are none.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        choices.get(self.below(choices.len()))
    }

    /// `length` letters of the alphabet, one byte each.
    pub fn letters(&mut self, alphabet: &str, length: usize) -> String {
        let letters = alphabet.as_bytes();
        let letter = |random: &mut Self| random.pick(letters).copied().map_or('0', char::from);
        (0..length).map(|_| letter(self)).collect()
    }

    pub fn hex(&mut self, length: usize) -> String {
        self.letters("0123456789abcdef", length)
    }

    /// A version 4 UUID.
    pub fn uuid(&mut self) -> String {
        let variant = self.letters("89ab", 1);
        format!("{}-{}-4{}-{variant}{}-{}", self.hex(8), self.hex(4), self.hex(3), self.hex(3), self.hex(12))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let mut random = Random::new(0);
        assert_eq!(random.number(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(Random::new(7).uuid(), Random::new(7).uuid());
        assert_ne!(Random::new(7).uuid(), Random::new(8).uuid());
    }

    #[test]
    fn limits_are_kept_even_when_empty() {
        let mut random = Random::new(1);
        assert_eq!(random.below(0), 0);
        assert_eq!(random.between(5, 5), 5);
        assert_eq!(random.pick::<u8>(&[]), None);
        assert!((0..1000).all(|_| (3..9).contains(&random.between(3, 9))));
    }
}
