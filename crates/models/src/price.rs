//! What the provider charges. The prices themselves are with the other figures of a model, see [`crate::catalogue`].

use crate::catalogue::{Lookup, Models};
use serde::{Deserialize, Serialize};

/// In dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// Of what the cache is given for five minutes, and for an hour.
    pub write_5m: f64,
    pub write_1h: f64,
    /// Of what is read from the cache.
    pub read: f64,
}

/// Tokens of one answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Billed {
    pub input: u64,
    pub read: u64,
    pub write_5m: u64,
    pub write_1h: u64,
    pub output: u64,
}

impl Billed {
    /// All that the model read.
    pub fn prompt(&self) -> u64 {
        [self.input, self.read, self.write_5m, self.write_1h].into_iter().fold(0, u64::saturating_add)
    }
}

impl Price {
    /// Of a model that is listed, for a prompt of so many tokens; none is guessed.
    pub fn of(model: &str, prompt: u64) -> Option<Price> {
        match Models::listed().of(model) {
            Lookup::Listed(model) => model.price(prompt),
            _ => None,
        }
    }

    pub(crate) fn times(self, times: f64) -> Price {
        Price {
            input: self.input * times,
            output: self.output * times,
            write_5m: self.write_5m * times,
            write_1h: self.write_1h * times,
            read: self.read * times,
        }
    }

    /// What an answer cost, in dollars.
    pub fn dollars(&self, billed: &Billed) -> f64 {
        let of = |tokens: u64, price: f64| tokens as f64 * price / 1_000_000.0;
        of(billed.input, self.input)
            + of(billed.read, self.read)
            + of(billed.write_5m, self.write_5m)
            + of(billed.write_1h, self.write_1h)
            + of(billed.output, self.output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_provider_lists_has_a_price_and_nothing_else() {
        let opus = Price { input: 4.0, output: 20.0, write_5m: 5.0, write_1h: 8.0, read: 0.20 };
        assert_eq!(Price::of("claude-opus-5-5", 1), Some(opus));
        assert_eq!(Price::of("claude-opus-5-5-20260901", 1), Some(opus));
        for unknown in ["", "m", "claude-opus-9", "claude-opus-5-5-preview", "gpt-6", "claude-opus-5-5-2026090x"] {
            assert_eq!(Price::of(unknown, 1), None, "{unknown}");
        }
        let haiku = |prompt| Price::of("claude-haiku-5-5", prompt).map(|price| price.input);
        assert_eq!((haiku(100_000), haiku(100_001)), (Some(0.10), Some(0.50)));
    }

    #[test]
    fn an_answer_costs_what_its_tokens_cost() {
        let price = Price::of("claude-sonnet-4-5-20250929", 1).expect("listed");
        let billed =
            Billed { input: 1_000_000, read: 2_000_000, write_5m: 100_000, write_1h: 100_000, output: 200_000 };
        assert!((price.dollars(&billed) - (3.0 + 0.6 + 0.375 + 0.6 + 3.0)).abs() < 1e-9);
    }
}
