//! What a request of a recording is charged as: its model's price, and what its model's cache and window ask for.

use crate::cache::Terms;
use ctx_core::Key;
use ctx_models::Price;
use ctx_models::{Lookup, Model, Models};

/// Recordings of models that nobody has a price for are charged as this one.
const LIKE: &str = "claude-opus-4-5";
/// Tokens of the shortest prompt that is cached, where a model does not say.
const LEAST: u64 = 1024;

/// What a model is charged as.
#[derive(Debug, Clone, Copy)]
pub struct Charge<'m> {
    model: Option<&'m Model>,
    is_listed: bool,
    window: Option<u64>,
    cache: Key,
    look_back: usize,
}

impl<'m> Charge<'m> {
    /// The model of this name, the nearest of its family, or the usual one.
    pub fn of(models: &'m Models, name: &str) -> Charge<'m> {
        let found = models.of(name);
        let priced = found.model().filter(|model| model.price.is_some());
        let is_listed = priced.is_some() && matches!(found, Lookup::Listed(_));
        let cache = if is_listed { priced.map_or(name, |model| &model.name) } else { name };
        // Some names ask for a larger window: `claude-sonnet-4-5[1m]`.
        let window = priced.filter(|_| is_listed && !name.contains('[')).and_then(|model| model.window);
        let model = priced.or_else(|| models.of(LIKE).model());
        Charge { model, is_listed, window, cache: Key::of([cache.as_bytes()]), look_back: models.look_back }
    }

    /// The model that stands in for one that is not listed.
    pub fn stand_in(&self) -> Option<&'m str> {
        (!self.is_listed).then(|| self.model.map_or("nothing", |model| &model.name))
    }

    /// For a prompt of so many tokens.
    pub fn price(&self, prompt: f64) -> Price {
        let price = self.model.and_then(|model| model.price(prompt.round() as u64));
        price.unwrap_or(Price { input: 0.0, output: 0.0, write_5m: 0.0, write_1h: 0.0, read: 0.0 })
    }

    /// How its cache keeps what lives so long. Every model has a cache of its own.
    pub fn terms(&self, lives: i64) -> Terms {
        let model = self.model;
        let least = model.and_then(|model| model.minimum).unwrap_or(LEAST) as f64;
        // What somebody set for the model counts, whatever was recorded.
        let set = model.and_then(|model| model.cache_seconds).map(|seconds| seconds as i64 * 1000);
        let look_back = model.and_then(|model| model.look_back).unwrap_or(self.look_back);
        Terms { model: self.cache, lives: set.unwrap_or(lives), least, look_back }
    }

    /// The most that it takes, where that is known.
    pub fn window(&self) -> Option<u64> {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_charged_as_itself_as_its_nearest_or_as_the_usual_one() {
        let of = |name| Charge::of(Models::listed(), name);
        assert_eq!((of("claude-opus-4-5-20251101").stand_in(), of("claude-opus-4-5").window()), (None, Some(200_000)));
        assert_eq!((of("claude-haiku-9").stand_in(), of("claude-haiku-9").window()), (Some("claude-haiku-5-5"), None));
        assert_eq!(of("gpt-4o").stand_in(), Some("claude-opus-4-5"));
        assert_eq!((of("claude-sonnet-4-5[1m]").stand_in(), of("claude-sonnet-4-5[1m]").window()), (None, None));
        let haiku = |prompt| of("claude-haiku-5-5").price(prompt).input;
        assert_eq!((haiku(100_000.0), haiku(100_001.0)), (0.10, 0.50), "long prompts are dearer");
    }

    #[test]
    fn every_model_has_a_cache_of_its_own() {
        let cache = |name| Charge::of(Models::listed(), name).terms(1).model;
        assert_eq!(cache("claude-opus-4-5"), cache("claude-opus-4-5-20251101"));
        assert_ne!(cache("gpt-4o"), cache("claude-opus-4-5"), "the price is the same, the cache is not");
    }
}
