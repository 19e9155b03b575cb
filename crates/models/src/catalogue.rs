//! The catalogue of models as dated data: prices, context windows, and exceptions to the rules of their provider's cache.
//! The data is one JSON file a provider; users may override it. A model that is not listed takes the figures of the nearest
//! one of its family, marked as such; a model of no known family has none.

use crate::cache::{ANTHROPIC, CacheRules, Reads};
use crate::names::{bare, family};
use crate::price::Price;
use crate::setting::Setting;
use serde::Deserialize;
use std::sync::LazyLock;

const TABLE: &str = include_str!("anthropic.json");

#[derive(Debug, Clone, PartialEq)]
pub struct Models {
    /// The day of the data.
    pub as_of: String,
    pub list: Vec<Model>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    pub name: String,
    /// All tokens that it takes and gives at once, and those that it gives.
    pub window: Option<u64>,
    pub max_output: Option<u64>,
    pub price: Option<Price>,
    pub dearer: Option<Surcharge>,
    /// The rules of its provider's cache, and the exceptions for this model.
    pub rules: CacheRules,
    pub minimum: Option<u64>,
    pub look_back: Option<usize>,
    /// Seconds that its cache lives, whatever is asked for.
    pub cache_seconds: Option<u64>,
    /// Whether the provider clears results and thinking for it if asked, and whether it compacts.
    pub clearing: bool,
    pub compaction: bool,
    /// Its thinking is bound to all that stands before it.
    pub bound_thinking: bool,
    /// The names of the settings of a user.
    pub overridden: Vec<&'static str>,
}

/// A long prompt costs more.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Surcharge {
    /// Tokens of the prompt.
    pub above: u64,
    pub times: f64,
}

/// A provider's file.
#[derive(Deserialize)]
struct Table {
    as_of: String,
    models: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    window: u64,
    max_output: u64,
    input: f64,
    output: f64,
    /// The price of a read from the cache in input tokens, where it is not the provider's usual one.
    read_factor: Option<f64>,
    minimum: u64,
    dearer: Option<Surcharge>,
    clearing: bool,
    compaction: bool,
    bound_thinking: bool,
}

/// The entry for a name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lookup<'a> {
    Listed(&'a Model),
    /// It is not listed; this one of its family is the nearest.
    Nearest(&'a Model),
    Unknown,
}

impl<'a> Lookup<'a> {
    pub fn model(self) -> Option<&'a Model> {
        match self {
            Lookup::Listed(model) | Lookup::Nearest(model) => Some(model),
            Lookup::Unknown => None,
        }
    }

    /// The name of the model whose figures stand in for those that are not known.
    pub fn stand_in(self) -> Option<&'a str> {
        match self {
            Lookup::Nearest(model) => Some(&model.name),
            _ => None,
        }
    }
}

impl Row {
    fn model(self, rules: CacheRules) -> Model {
        let rules = CacheRules { read: self.read_factor.unwrap_or(rules.read), ..rules };
        Model {
            price: Some(Price::by_rules(self.input, self.output, &rules)),
            window: Some(self.window),
            max_output: Some(self.max_output),
            dearer: self.dearer,
            minimum: Some(self.minimum),
            clearing: self.clearing,
            compaction: self.compaction,
            bound_thinking: self.bound_thinking,
            ..Model::new(&self.name, rules)
        }
    }
}

impl Model {
    /// A model of which nothing is known but its provider.
    fn new(name: &str, rules: CacheRules) -> Model {
        Model {
            name: name.to_owned(),
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
            overridden: Vec::new(),
        }
    }

    /// The prices for a prompt of so many tokens.
    pub fn price(&self, prompt: u64) -> Option<Price> {
        let times = self.dearer.filter(|dearer| prompt > dearer.above).map_or(1.0, |dearer| dearer.times);
        self.price.map(|price| price.times(times))
    }

    /// The rules of its cache, with its own exceptions.
    pub fn cache_rules(&self) -> CacheRules {
        CacheRules {
            minimum: self.minimum.unwrap_or(self.rules.minimum),
            reads: self.look_back.map_or(self.rules.reads, Reads::LookBack),
            ..self.rules
        }
    }
}

impl Models {
    /// The catalogue without settings.
    pub fn listed() -> &'static Models {
        static LISTED: LazyLock<Models> = LazyLock::new(|| {
            let empty = Table { as_of: String::new(), models: Vec::new() };
            // A test reads the file, which is part of the program.
            let table: Table = serde_json::from_str(TABLE).unwrap_or(empty);
            Models { as_of: table.as_of, list: table.models.into_iter().map(|row| row.model(ANTHROPIC)).collect() }
        });
        &LISTED
    }

    /// The rules of a model's cache; of an unknown one, the usual rules.
    pub fn cache_rules(&self, name: Option<&str>) -> CacheRules {
        name.and_then(|name| self.of(name).model()).map(Model::cache_rules).unwrap_or_default()
    }

    /// Seconds that the cache of a model lives, where a user has set that.
    pub fn cache_seconds_of(&self, name: Option<&str>) -> Option<u64> {
        self.of(name?).model()?.cache_seconds
    }

    /// The entry for a model, whatever its provider calls it.
    pub fn of(&self, name: &str) -> Lookup<'_> {
        let bare = bare(name);
        if let Some(model) = self.list.iter().find(|model| model.name == name || model.name == bare) {
            return Lookup::Listed(model);
        }
        self.nearest(&bare).map_or(Lookup::Unknown, Lookup::Nearest)
    }

    /// The newest one of its family that is not newer; if all are, the oldest.
    fn nearest(&self, bare: &str) -> Option<&Model> {
        let (wanted, version) = family(bare)?;
        let mut kin: Vec<(Vec<u32>, &Model)> = Vec::new();
        for model in &self.list {
            kin.extend(family(&model.name).filter(|(other, _)| *other == wanted).map(|(_, version)| (version, model)));
        }
        kin.sort_by(|one, other| one.0.cmp(&other.0));
        let not_newer = kin.iter().rev().find(|(other, _)| version.is_empty() || *other <= version);
        not_newer.or(kin.first()).map(|(_, model)| *model)
    }

    /// The prices for a prompt of so many tokens, and the model that stands in if this one is not listed.
    pub fn price(&self, name: &str, prompt: u64) -> Option<(Price, Option<&str>)> {
        let found = self.of(name);
        Some((found.model()?.price(prompt)?, found.stand_in()))
    }

    /// Takes in the settings of a user for a model.
    pub fn set(&mut self, name: &str, setting: &Setting) -> Result<(), &'static str> {
        let (known, listed) = match self.of(name) {
            Lookup::Listed(model) => (model.clone(), true),
            Lookup::Nearest(model) => (Model { name: name.to_owned(), overridden: Vec::new(), ..model.clone() }, false),
            Lookup::Unknown => (Model::new(name, CacheRules::default()), false),
        };
        let mut model = known;
        setting.apply(&mut model)?;
        match self.list.iter_mut().find(|other| listed && other.name == model.name) {
            Some(old) => *old = model,
            None => self.list.push(model),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed() -> &'static Models {
        Models::listed()
    }

    #[test]
    fn the_table_is_whole_and_the_caches_factors_are_those_of_the_rules() {
        let models = listed();
        assert_eq!((models.list.len(), models.as_of.as_str()), (18, "2026-11-15"));
        for model in &models.list {
            let price = model.price.expect("a price");
            let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
            let (short, long) = (price.write(300), price.write(3600));
            assert!(near(short, 1.25 * price.input) && near(long, 2.0 * price.input), "{model:?}");
            let read = match model.name.as_str() {
                "claude-opus-5-5" | "claude-sonnet-5-5" => 0.05,
                "claude-fable-5-1" | "claude-mythos-5-1" | "claude-fable-5-2" | "claude-mythos-5-2" => 0.025,
                _ => 0.1,
            };
            assert!(near(price.read, read * price.input), "{model:?}");
            assert!(model.window > model.max_output && model.minimum.is_some_and(|least| least >= 512), "{model:?}");
            assert_eq!(models.of(&model.name), Lookup::Listed(model), "no name stands twice");
        }
    }

    #[test]
    fn a_model_is_known_whatever_its_provider_calls_it() {
        for name in [
            "claude-opus-5-5",
            "claude-opus-5-5-20260901",
            "anthropic/claude-opus-5-5",
            "openrouter/anthropic/claude-opus-5.5",
            "us.anthropic.claude-opus-5-5-20260901-v1:0",
            "claude-opus-5-5@20260901",
            "claude-opus-5-5[1m]",
            "Claude-Opus-5-5-latest",
        ] {
            assert!(matches!(listed().of(name), Lookup::Listed(model) if model.name == "claude-opus-5-5"), "{name}");
        }
    }

    #[test]
    fn an_unknown_one_takes_the_nearest_of_its_family_and_a_foreign_one_nothing() {
        for (name, nearest) in [
            ("claude-opus-9", "claude-opus-5-5"),
            ("claude-opus-5-4", "claude-opus-5"),
            ("claude-3-5-sonnet-20241022", "claude-sonnet-4-5"),
            ("claude-haiku-5-5-preview", "claude-haiku-5-5"),
            ("claude-sonnet", "claude-sonnet-5-5"),
        ] {
            let found = listed().of(name);
            assert_eq!((matches!(found, Lookup::Nearest(_)), found.stand_in()), (true, Some(nearest)), "{name}");
        }
        for name in ["", "m", "gpt-6", "claude", "claude-2-1", "claude-zephyr-6", "opus", "-", "é"] {
            assert_eq!(listed().of(name), Lookup::Unknown, "{name}");
        }
    }

    #[test]
    fn a_listed_model_has_a_price_and_no_other_has_one_of_its_own() {
        let own = |name: &str, prompt| match listed().of(name) {
            Lookup::Listed(model) => model.price(prompt),
            Lookup::Nearest(_) | Lookup::Unknown => None,
        };
        let opus = own("claude-opus-5-5", 1).expect("listed");
        assert_eq!((opus.input, opus.output, opus.read), (4.0, 20.0, 0.20));
        assert_eq!((opus.write(300), opus.write(3600)), (5.0, 8.0));
        assert_eq!(own("claude-opus-5-5-20260901", 1), Some(opus));
        for unknown in ["", "m", "claude-opus-9", "claude-opus-5-5-preview", "gpt-6", "claude-opus-5-5-2026090x"] {
            assert_eq!(own(unknown, 1), None, "{unknown}");
        }
        let haiku = |prompt| own("claude-haiku-5-5", prompt).map(|price| price.input);
        assert_eq!((haiku(100_000), haiku(100_001)), (Some(0.10), Some(0.50)));
    }

    #[test]
    fn a_model_has_the_cache_rules_of_its_provider_with_its_own_exceptions() {
        let rules = |name| listed().cache_rules(Some(name));
        assert_eq!(rules("gpt-6"), ANTHROPIC, "nothing is known of it");
        assert_eq!((rules("claude-opus-4-5").minimum, rules("claude-opus-5-5").minimum), (4096, 512));
        assert_eq!((rules("claude-opus-5-5").read, rules("claude-opus-5").read), (0.05, 0.1));
        let mut models = listed().clone();
        models.set("claude-opus-5", &Setting { look_back: Some(10), ..Setting::default() }).expect("set");
        assert_eq!(models.cache_rules(Some("claude-opus-5")).reads, Reads::LookBack(10));
    }

    #[test]
    fn a_person_can_say_otherwise_and_what_was_not_said_stays() {
        let mut models = listed().clone();
        let input = Setting { input: Some(8.0), ..Setting::default() };
        models.set("claude-opus-5-5", &input).expect("set");
        let model = models.of("claude-opus-5-5-20260901").model().expect("listed");
        let price = model.price(1).expect("a price");
        assert_eq!((price.input, price.output, price.read, price.write(3600)), (8.0, 20.0, 0.4, 16.0));
        assert_eq!((model.overridden.as_slice(), model.minimum, models.list.len()), (&["input"][..], Some(512), 18));

        let new = Setting { window: Some(300_000), ..Setting::default() };
        models.set("claude-opus-6", &new).expect("set");
        let found = models.of("claude-opus-6");
        assert!(matches!(found, Lookup::Listed(model) if model.window == Some(300_000)), "{found:?}");
        assert_eq!(models.of("claude-opus-6-1").stand_in(), Some("claude-opus-6"));

        let foreign = Setting { input: Some(1.0), output: Some(2.0), ..Setting::default() };
        models.set("gpt-6", &foreign).expect("set");
        let (price, stand_in) = models.price("gpt-6", 5).expect("a price");
        assert_eq!((price.read, price.write(300), stand_in), (0.1, 1.25, None));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |name: &str, setting: Setting| listed().clone().set(name, &setting).expect_err("refused");
        assert!(refused("gpt-6", Setting { input: Some(1.0), ..Setting::default() }).contains("`output`"));
        assert!(refused("gpt-6", Setting { dearer_above: Some(1), ..Setting::default() }).contains("together"));
        let both = Setting { window: Some(9), max_output: Some(10), ..Setting::default() };
        assert!(refused("claude-opus-5", both).contains("`max_output`"));
        let mut models = listed().clone();
        models.set("claude-opus-5", &Setting { window: Some(9), ..Setting::default() }).expect("the output fits in");
        assert_eq!(models.of("claude-opus-5").model().and_then(|model| model.max_output), Some(9));
    }
}
