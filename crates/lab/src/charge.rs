//! The model whose prices a turn of a recording is charged at.

use ctx_models::{CacheRules, Lookup, Model, Models, Price};

#[derive(Debug, Clone, Copy)]
pub struct Charge<'m> {
    model: Option<&'m Model>,
    is_listed: bool,
    window: Option<u64>,
    /// Every model has its own cache.
    pub cache: &'m str,
}

impl<'m> Charge<'m> {
    /// The model with this name, the nearest of its family, or the default.
    pub fn of(models: &'m Models, name: &'m str) -> Charge<'m> {
        let found = models.of(name);
        let priced = found.model().filter(|model| model.price.is_some());
        let is_listed = priced.is_some() && matches!(found, Lookup::Listed(_));
        let cache = if is_listed { priced.map_or(name, |model| &model.name) } else { name };
        // Some names request a larger window: `claude-sonnet-4-5[1m]`.
        let window = priced.filter(|_| is_listed && !name.contains('[')).and_then(|model| model.window);
        Charge { model: priced.or_else(|| models.stand_in()), is_listed, window, cache }
    }

    /// The substitute for an unlisted model.
    pub fn stand_in(&self) -> Option<&'m str> {
        (!self.is_listed).then(|| self.model.map_or("nothing", |model| &model.name))
    }

    /// The prices for a prompt of this size.
    pub fn price(&self, prompt: f64) -> Price {
        let price = self.model.and_then(|model| model.price(prompt.round() as u64));
        price.unwrap_or_else(|| Price::by_rules(0.0, 0.0, &CacheRules::default()))
    }

    pub fn cache_rules(&self) -> CacheRules {
        self.model.map(Model::cache_rules).unwrap_or_default()
    }

    /// The lifetime of its cache in seconds: a setting for the model takes precedence over the recording.
    pub fn lifetime(&self, recorded: u64) -> u64 {
        self.model.and_then(|model| model.cache_seconds).unwrap_or(recorded)
    }

    /// Its window, if known.
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
        let cache = |name| Charge::of(Models::listed(), name).cache;
        assert_eq!(cache("claude-opus-4-5"), cache("claude-opus-4-5-20251101"));
        assert_ne!(cache("gpt-4o"), cache("claude-opus-4-5"), "the price is the same, the cache is not");
    }
}
