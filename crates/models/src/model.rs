//! One model of the catalogue.

use crate::cache::{CacheRules, Reads};
use crate::names::bare;
use crate::price::Price;
use serde::Deserialize;

/// The figures of one model.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    pub name: String,
    /// The name without decoration, for comparison.
    pub(crate) key: String,
    /// The id of its provider, if the name reveals it.
    pub provider: Option<String>,
    /// The limit for input and output together, or for input where the provider limits them separately.
    pub window: Option<u64>,
    /// The limit for output.
    pub max_output: Option<u64>,
    pub price: Option<Price>,
    pub dearer: Option<Surcharge>,
    /// Its provider's cache rules, with the exceptions for this model.
    pub rules: CacheRules,
    pub minimum: Option<u64>,
    pub look_back: Option<usize>,
    /// The fixed lifetime of its cache, in seconds.
    pub cache_seconds: Option<u64>,
    /// Whether the provider clears results and thinking on request, and whether it compacts.
    pub clearing: bool,
    pub compaction: bool,
    /// Its thinking is bound to everything before it.
    pub bound_thinking: bool,
    /// The date and the source of its price.
    pub as_of: Option<String>,
    pub source: Option<String>,
    /// Price details that the other fields cannot express, such as peak hours.
    pub note: Option<String>,
    /// The names of the user's settings.
    pub overridden: Vec<&'static str>,
}

/// A surcharge on long prompts.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Surcharge {
    /// The threshold, in tokens of the prompt.
    pub above: u64,
    pub times: f64,
    /// The factor of the output, if it differs.
    pub output_times: Option<f64>,
}

impl Model {
    /// A model without figures.
    pub(crate) fn new(name: &str, provider: Option<&str>, rules: CacheRules) -> Model {
        Model {
            name: name.to_owned(),
            key: bare(name),
            provider: provider.map(str::to_owned),
            window: None,
            max_output: None,
            price: None,
            dearer: None,
            rules,
            minimum: None,
            look_back: None,
            cache_seconds: None,
            clearing: false,
            compaction: false,
            bound_thinking: false,
            as_of: None,
            source: None,
            note: None,
            overridden: Vec::new(),
        }
    }

    /// The same figures under another name.
    pub(crate) fn under(&self, name: &str) -> Model {
        Model { name: name.to_owned(), key: bare(name), overridden: Vec::new(), ..self.clone() }
    }

    /// The prices for a prompt of this many tokens.
    pub fn price(&self, prompt: u64) -> Option<Price> {
        let dearer = self.dearer.filter(|dearer| prompt > dearer.above);
        self.price.map(|price| dearer.map_or(price, |dearer| price.times(dearer.times, dearer.output())))
    }

    /// The rules of its cache, with its own exceptions.
    pub fn cache_rules(&self) -> CacheRules {
        self.excepted(self.rules)
    }

    /// Rules with the exceptions for this model.
    pub(crate) fn excepted(&self, rules: CacheRules) -> CacheRules {
        CacheRules {
            minimum: self.minimum.unwrap_or(rules.minimum),
            reads: self.look_back.map_or(rules.reads, Reads::LookBack),
            ..rules
        }
    }
}

impl Surcharge {
    /// The factor of the output.
    pub fn output(&self) -> f64 {
        self.output_times.unwrap_or(self.times)
    }
}
