//! Prices of a model, and the cost of a request under them.

use crate::cache::{CacheRules, Lifetime};
use crate::rates::Rates;
use crate::usage::Usage;

/// In dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// Tokens read from the cache.
    pub read: f64,
    /// Tokens written to the cache, by lifetime, shortest first. A provider without a fee for writing has none: these
    /// tokens cost as much as other input.
    pub writes: [Option<WritePrice>; 2],
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WritePrice {
    pub seconds: u64,
    pub price: f64,
}

impl Price {
    /// Derives the cache prices from input and output by the factors of a cache.
    pub fn by_rules(input: f64, output: f64, rules: &CacheRules) -> Price {
        let write = |at: usize| {
            let Lifetime { seconds, write } = *rules.lifetimes.get(at)?;
            Some(WritePrice { seconds, price: rounded(input * write) })
        };
        Price { input, output, read: rounded(input * rules.read), writes: [write(0), write(1)] }
    }

    /// The same model with another input price; the cache keeps its factors.
    pub fn with_input(self, input: f64) -> Price {
        let moved = |price: f64| rounded(input * price / self.input);
        let write = |write: WritePrice| WritePrice { price: moved(write.price), ..write };
        Price { input, output: self.output, read: moved(self.read), writes: self.writes.map(|one| one.map(write)) }
    }

    /// The prices multiplied, with a separate factor for output.
    pub(crate) fn times(self, times: f64, output: f64) -> Price {
        let write = |write: WritePrice| WritePrice { price: write.price * times, ..write };
        Price {
            input: self.input * times,
            output: self.output * output,
            read: self.read * times,
            writes: self.writes.map(|one| one.map(write)),
        }
    }

    /// The price of a write for this many seconds.
    pub fn write(&self, seconds: u64) -> f64 {
        let mut writes = self.writes.iter().flatten();
        let enough = writes.clone().find(|write| write.seconds >= seconds);
        enough.or(writes.next_back()).map_or(self.input, |write| write.price)
    }

    /// The price of a write for exactly this many seconds, or for the shortest lifetime.
    pub(crate) fn write_mut(&mut self, seconds: Option<u64>) -> Option<&mut f64> {
        let mut writes = self.writes.iter_mut().flatten();
        writes.find(|write| seconds.is_none_or(|seconds| write.seconds == seconds)).map(|write| &mut write.price)
    }

    /// The writes with a price of their own; none if writing is free.
    pub fn paid_writes(&self) -> impl Iterator<Item = WritePrice> {
        let is_paid = self.writes.iter().flatten().any(|write| write.price != self.input);
        self.writes.into_iter().flatten().filter(move |_| is_paid)
    }

    /// The rates of a conversation with this cache lifetime, in seconds.
    pub fn rates(&self, lifetime: u64) -> Rates {
        Rates { fresh: self.input, read: self.read, write: self.write(lifetime) }
    }

    /// The cost of a request and its answer, in dollars.
    pub fn dollars(&self, usage: &Usage) -> f64 {
        let written = usage.cache_writes.iter().flatten().map(|write| (write.seconds, write.tokens as f64));
        let written: f64 = written.map(|(seconds, tokens)| dollars(tokens, self.write(seconds))).sum();
        dollars(usage.fresh() as f64, self.input)
            + dollars(usage.cache_read as f64, self.read)
            + written
            + self.answer(usage.output as f64)
    }

    /// The cost of this many output tokens, in dollars.
    pub fn answer(&self, tokens: f64) -> f64 {
        dollars(tokens, self.output)
    }
}

impl Rates {
    /// The cost of a prompt in dollars, if the rates are dollars per million tokens.
    pub fn prompt(&self, fresh: f64, read: f64, written: f64) -> f64 {
        dollars(fresh, self.fresh) + dollars(read, self.read) + dollars(written, self.write)
    }
}

fn dollars(tokens: f64, price: f64) -> f64 {
    tokens * price / 1_000_000.0
}

/// Rounds to a millionth: the rest is an error of division.
fn rounded(price: f64) -> f64 {
    (price * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Models;
    use crate::cache::{FIVE_MINUTES, GEMINI, ONE_HOUR};
    use crate::usage::CacheWrite;

    #[test]
    fn an_answer_costs_what_its_tokens_cost() {
        let (price, _) = Models::listed().price("claude-sonnet-4-5-20250929", 1).expect("listed");
        let write = |seconds, tokens| Some(CacheWrite { seconds, tokens });
        let usage = Usage {
            input: 3_200_000,
            cache_read: 2_000_000,
            cache_writes: [write(FIVE_MINUTES, 100_000), write(ONE_HOUR, 100_000)],
            output: 200_000,
            reasoning: None,
        };
        assert!((price.dollars(&usage) - (3.0 + 0.6 + 0.375 + 0.6 + 3.0)).abs() < 1e-9);
        assert!((price.rates(300).prompt(1e6, 2e6, 1e5) - (3.0 + 0.6 + 0.375)).abs() < 1e-9);
    }

    #[test]
    fn a_write_costs_by_how_long_it_is_kept() {
        let (price, _) = Models::listed().price("claude-opus-5-5", 1).expect("listed");
        assert_eq!([1, 300, 301, 3600, 9000].map(|seconds| price.write(seconds)), [5.0, 5.0, 8.0, 8.0, 8.0]);
        let free = Price::by_rules(2.0, 10.0, &GEMINI);
        assert_eq!((free.write(60), free.read), (2.0, 0.2), "writing is free, its tokens are input");
    }
}
