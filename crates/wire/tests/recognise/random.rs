//! A small seeded generator: the same seed gives the same conversation on every machine.

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// splitmix64.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    pub fn percent(&mut self, chance: u64) -> bool {
        self.next() % 100 < chance
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// One of the choices, each as often as its weight says.
    pub fn weighted<T: Copy>(&mut self, choices: &[(T, usize)]) -> T {
        let mut at = self.below(choices.iter().map(|(_, weight)| weight).sum());
        let hit = choices.iter().position(|(_, weight)| match at.checked_sub(*weight) {
            Some(rest) => {
                at = rest;
                false
            }
            None => true,
        });
        choices[hit.unwrap_or(0)].0
    }

    pub fn words(&mut self, count: usize) -> String {
        const WORDS: [&str; 48] = [
            "parser", "test", "fix", "the", "a", "module", "file", "error", "when", "reads", "writes", "path", "node",
            "slot", "why", "does", "this", "fail", "on", "windows", "add", "remove", "rename", "function", "cache",
            "token", "stream", "server", "client", "request", "answer", "branch", "merge", "commit", "store", "log",
            "index", "table", "row", "column", "button", "page", "style", "color", "quickly", "slowly", "größer",
            "名前",
        ];
        let words: Vec<&str> = (0..count).map(|_| *self.pick(&WORDS)).collect();
        words.join(" ")
    }

    pub fn hex(&mut self) -> String {
        format!("{:016x}", self.next())
    }
}
