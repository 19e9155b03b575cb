//! A user's settings for one model.

use crate::cache::{CacheRules, FIVE_MINUTES, ONE_HOUR};
use crate::model::{Model, Surcharge};
use crate::price::Price;

/// Figures for one model that replace those of the catalogue.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Setting {
    pub input: Option<f64>,
    pub output: Option<f64>,
    /// A write for the shortest lifetime of the cache.
    pub write: Option<f64>,
    pub write_5m: Option<f64>,
    pub write_1h: Option<f64>,
    pub read: Option<f64>,
    pub window: Option<u64>,
    pub max_output: Option<u64>,
    pub minimum: Option<u64>,
    pub cache_seconds: Option<u64>,
    pub look_back: Option<u64>,
    pub dearer_above: Option<u64>,
    pub dearer_times: Option<f64>,
    pub dearer_output_times: Option<f64>,
    pub clearing: Option<bool>,
    pub compaction: Option<bool>,
    pub bound_thinking: Option<bool>,
}

impl Setting {
    /// The names of all settings, and whether each is set.
    pub fn names(&self) -> [(&'static str, bool); 17] {
        [
            ("input", self.input.is_some()),
            ("output", self.output.is_some()),
            ("write", self.write.is_some()),
            ("write_5m", self.write_5m.is_some()),
            ("write_1h", self.write_1h.is_some()),
            ("read", self.read.is_some()),
            ("window", self.window.is_some()),
            ("max_output", self.max_output.is_some()),
            ("minimum", self.minimum.is_some()),
            ("cache_seconds", self.cache_seconds.is_some()),
            ("look_back", self.look_back.is_some()),
            ("dearer_above", self.dearer_above.is_some()),
            ("dearer_times", self.dearer_times.is_some()),
            ("dearer_output_times", self.dearer_output_times.is_some()),
            ("clearing", self.clearing.is_some()),
            ("compaction", self.compaction.is_some()),
            ("bound_thinking", self.bound_thinking.is_some()),
        ]
    }

    pub(crate) fn apply(&self, model: &mut Model) -> Result<(), &'static str> {
        let prices = [self.input, self.output, self.write, self.write_5m, self.write_1h, self.read];
        if prices.iter().any(Option::is_some) {
            let price = self.price(model.price, &model.rules);
            let price = price.ok_or("a model without a price needs both `input` and `output`")?;
            model.price = Some(self.with_writes(price)?);
        }
        model.dearer = self.surcharge(model.dearer)?;
        model.window = self.window.or(model.window);
        // A smaller window limits the output, too.
        let fits = |output: u64| self.window.map_or(output, |window| output.min(window));
        model.max_output = self.max_output.or(model.max_output.map(fits));
        if model.window.zip(model.max_output).is_some_and(|(window, output)| output > window) {
            return Err("`max_output` is larger than `window`");
        }
        model.minimum = self.minimum.or(model.minimum);
        model.cache_seconds = self.cache_seconds.or(model.cache_seconds);
        model.look_back = self.look_back.map(|blocks| blocks as usize).or(model.look_back);
        model.clearing = self.clearing.unwrap_or(model.clearing);
        model.compaction = self.compaction.unwrap_or(model.compaction);
        model.bound_thinking = self.bound_thinking.unwrap_or(model.bound_thinking);
        for (name, _) in self.names().into_iter().filter(|(_, set)| *set) {
            if !model.overridden.contains(&name) {
                model.overridden.push(name);
            }
        }
        Ok(())
    }

    /// The new prices. If only the input price changes, the cache keeps its factors.
    fn price(&self, old: Option<Price>, rules: &CacheRules) -> Option<Price> {
        let input = self.input.or(old.map(|old| old.input))?;
        let output = self.output.or(old.map(|old| old.output))?;
        let mut price = match old.filter(|old| old.input > 0.0) {
            Some(old) => Price { output, ..old.with_input(input) },
            None => Price::by_rules(input, output, rules),
        };
        price.read = self.read.unwrap_or(price.read);
        Some(price)
    }

    fn with_writes(&self, mut price: Price) -> Result<Price, &'static str> {
        let own = [(None, self.write), (Some(FIVE_MINUTES), self.write_5m), (Some(ONE_HOUR), self.write_1h)];
        for (seconds, own) in own.into_iter().filter_map(|(seconds, own)| Some((seconds, own?))) {
            let missing =
                "the model's cache does not live for that time; set `write` in place of `write_5m` and `write_1h`";
            *price.write_mut(seconds).ok_or(missing)? = own;
        }
        Ok(price)
    }

    /// The new surcharge. A factor for all prices replaces that of the output, too.
    fn surcharge(&self, old: Option<Surcharge>) -> Result<Option<Surcharge>, &'static str> {
        if self.dearer_above.is_none() && self.dearer_times.is_none() && self.dearer_output_times.is_none() {
            return Ok(old);
        }
        let above = self.dearer_above.or(old.map(|old| old.above));
        let times = self.dearer_times.or(old.map(|old| old.times));
        let (above, times) = above.zip(times).ok_or("`dearer_above` and `dearer_times` belong together")?;
        let kept = old.filter(|_| self.dearer_times.is_none()).and_then(|old| old.output_times);
        Ok(Some(Surcharge { above, times, output_times: self.dearer_output_times.or(kept) }))
    }
}
