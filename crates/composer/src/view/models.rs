//! What is known of the provider's models.

use crate::Composer;
use crate::conversation::Conversation;
use ctx_models::cache::{FIVE_MINUTES, ONE_HOUR};
use ctx_models::{CacheRules, Lookup, Model, Models};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelsView {
    /// The day that the table is of.
    pub as_of: String,
    /// Seconds that a cache may live.
    pub lifetimes: Vec<u64>,
    /// A cache mark finds what was written at most so many blocks before it, itself included.
    pub look_back: usize,
    pub models: Vec<ModelView>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelView {
    pub name: String,
    /// All tokens that it takes and gives at once, and those that it gives.
    pub window: Option<u64>,
    pub max_output: Option<u64>,
    /// In dollars for a million tokens; the cache is given something for five minutes or an hour, and read.
    pub input: Option<f64>,
    pub output: Option<f64>,
    pub write_5m: Option<f64>,
    pub write_1h: Option<f64>,
    pub read: Option<f64>,
    /// A prompt of more tokens than this costs so many times as much.
    pub dearer_above: Option<u64>,
    pub dearer_times: Option<f64>,
    /// What is shorter than this is not cached.
    pub minimum: Option<u64>,
    /// Seconds that its cache lives, and blocks that a mark looks back, where that was set for it.
    pub cache_seconds: Option<u64>,
    pub look_back: Option<usize>,
    /// The provider clears results and thinking for it if asked, and compacts.
    pub clearing: bool,
    pub compaction: bool,
    /// Its thinking is bound to all that stands before it.
    pub bound_thinking: bool,
    /// What the settings say otherwise than the table.
    pub overridden: Vec<String>,
}

impl From<&Model> for ModelView {
    fn from(model: &Model) -> ModelView {
        let price = model.price;
        ModelView {
            name: model.name.clone(),
            window: model.window,
            max_output: model.max_output,
            input: price.map(|price| price.input),
            output: price.map(|price| price.output),
            write_5m: price.map(|price| price.write(FIVE_MINUTES)),
            write_1h: price.map(|price| price.write(ONE_HOUR)),
            read: price.map(|price| price.read),
            dearer_above: model.dearer.map(|dearer| dearer.above),
            dearer_times: model.dearer.map(|dearer| dearer.times),
            minimum: model.minimum,
            cache_seconds: model.cache_seconds,
            look_back: model.look_back,
            clearing: model.clearing,
            compaction: model.compaction,
            bound_thinking: model.bound_thinking,
            overridden: model.overridden.iter().map(|name| (*name).to_owned()).collect(),
        }
    }
}

impl From<&Models> for ModelsView {
    fn from(models: &Models) -> ModelsView {
        let rules = CacheRules::default();
        ModelsView {
            as_of: models.as_of.clone(),
            lifetimes: rules.lifetimes.iter().map(|lifetime| lifetime.seconds).collect(),
            look_back: rules.look_back().unwrap_or_default(),
            models: models.list.iter().map(ModelView::from).collect(),
        }
    }
}

impl Composer {
    pub fn models(&self) -> ModelsView {
        (&self.models).into()
    }

    /// The context window of a conversation's model. One that is not known is taken for a small one: rather early than
    /// too late.
    pub(crate) fn window_of(&self, conversation: &Conversation) -> u64 {
        const SMALL: u64 = 200_000;
        self.window(conversation.envelope.model.as_deref().unwrap_or_default()).unwrap_or(SMALL)
    }

    /// The context window of a model that is listed.
    pub(crate) fn window(&self, model: &str) -> Option<u64> {
        match self.models.of(model) {
            Lookup::Listed(model) => model.window,
            _ => None,
        }
    }
}
