//! The known models and their prices.

use ctx_models::cache::{FIVE_MINUTES, ONE_HOUR};
use ctx_models::{CacheRules, Model, Models, Provider, WritePrice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelsView {
    /// The date of the table; the oldest of all providers.
    pub as_of: String,
    /// The providers of the models.
    pub providers: Vec<ModelProviderView>,
    pub models: Vec<ModelView>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelProviderView {
    pub id: String,
    pub name: String,
    /// The date of comparison with the source.
    pub as_of: String,
    pub source: String,
    /// Its cache rules, by version.
    pub caches: Vec<CacheRulesView>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheRulesView {
    /// The version of the first model with these rules; none for all earlier ones.
    pub from: Option<String>,
    /// The possible lifetimes, in seconds.
    pub lifetimes: Vec<u64>,
    /// A breakpoint finds entries written at most this many blocks before it, itself included. None if breakpoints do
    /// not limit that.
    pub look_back: Option<usize>,
    /// Shorter prompts are not cached.
    pub minimum: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelView {
    pub name: String,
    /// The id of its provider; none if the name does not reveal it.
    pub provider: Option<String>,
    /// The limit for input and output together, or for input where the provider limits them separately.
    pub window: Option<u64>,
    /// The limit for output.
    pub max_output: Option<u64>,
    /// In dollars per million tokens; cache writes for five minutes and an hour, and cache reads.
    pub input: Option<f64>,
    pub output: Option<f64>,
    pub write_5m: Option<f64>,
    pub write_1h: Option<f64>,
    pub read: Option<f64>,
    /// Prices of cache writes by lifetime; empty if writes cost the same as input.
    pub writes: Vec<WriteView>,
    /// The prompt size above which the factor applies, to the answer as well.
    pub dearer_above: Option<u64>,
    pub dearer_times: Option<f64>,
    pub dearer_output_times: Option<f64>,
    /// Shorter prompts are not cached.
    pub minimum: Option<u64>,
    /// The lifetime of its cache in seconds, and the look-back of a breakpoint in blocks, if set for this model.
    pub cache_seconds: Option<u64>,
    pub look_back: Option<usize>,
    /// Whether the provider clears results and thinking on request, and whether it compacts.
    pub clearing: bool,
    pub compaction: bool,
    /// Its thinking is bound to everything before it.
    pub bound_thinking: bool,
    /// The date and the source of the prices.
    pub as_of: Option<String>,
    pub source: Option<String>,
    /// Price details that the other fields cannot express, such as peak hours.
    pub note: Option<String>,
    /// The names of settings that override the table.
    pub overridden: Vec<String>,
}

/// The price of a cache write, in dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WriteView {
    /// The lifetime of the write, in seconds.
    pub seconds: u64,
    pub price: f64,
}

impl From<WritePrice> for WriteView {
    fn from(WritePrice { seconds, price }: WritePrice) -> WriteView {
        WriteView { seconds, price }
    }
}

impl From<&Model> for ModelView {
    fn from(model: &Model) -> ModelView {
        let price = model.price;
        let known = model.provider.as_ref().map(|_| model.cache_rules().minimum);
        ModelView {
            name: model.name.clone(),
            provider: model.provider.clone(),
            window: model.window,
            max_output: model.max_output,
            input: price.map(|price| price.input),
            output: price.map(|price| price.output),
            write_5m: price.map(|price| price.write(FIVE_MINUTES)),
            write_1h: price.map(|price| price.write(ONE_HOUR)),
            read: price.map(|price| price.read),
            writes: price.iter().flat_map(|price| price.paid_writes().map(WriteView::from)).collect(),
            dearer_above: model.dearer.map(|dearer| dearer.above),
            dearer_times: model.dearer.map(|dearer| dearer.times),
            dearer_output_times: model.dearer.map(|dearer| dearer.output()),
            minimum: model.minimum.or(known),
            cache_seconds: model.cache_seconds,
            look_back: model.look_back,
            clearing: model.clearing,
            compaction: model.compaction,
            bound_thinking: model.bound_thinking,
            as_of: model.as_of.clone(),
            source: model.source.clone(),
            note: model.note.clone(),
            overridden: model.overridden.iter().map(|name| (*name).to_owned()).collect(),
        }
    }
}

impl From<&Provider> for ModelProviderView {
    fn from(provider: &Provider) -> ModelProviderView {
        let cache = |(from, rules): &(Vec<u32>, CacheRules)| {
            let numbers: Vec<String> = from.iter().map(u32::to_string).collect();
            CacheRulesView {
                from: (!numbers.is_empty()).then(|| numbers.join(".")),
                lifetimes: rules.lifetimes.iter().map(|lifetime| lifetime.seconds).collect(),
                look_back: rules.look_back(),
                minimum: rules.minimum,
            }
        };
        ModelProviderView {
            id: provider.id.clone(),
            name: provider.name.clone(),
            as_of: provider.as_of.clone(),
            source: provider.source.clone(),
            caches: provider.generations().iter().map(cache).collect(),
        }
    }
}

impl From<&Models> for ModelsView {
    fn from(models: &Models) -> ModelsView {
        ModelsView {
            as_of: models.as_of.clone(),
            providers: models.providers.iter().map(ModelProviderView::from).collect(),
            models: models.list.iter().map(ModelView::from).collect(),
        }
    }
}
