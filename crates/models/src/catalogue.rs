//! The provider's models as dated data: prices, windows, and what their caches ask for. The table is `anthropic.json`;
//! a person may say otherwise. A model that is not in it takes the figures of the nearest one of its family, and
//! whoever shows them says so; one of another house has none.

use crate::price::Price;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

const TABLE: &str = include_str!("anthropic.json");

/// What the cache costs where nothing else is known, in input tokens.
pub const WRITE_5M: f64 = 1.25;
pub const WRITE_1H: f64 = 2.0;
pub const READ: f64 = 0.1;

/// All that is known of models.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Models {
    /// The day that the table is of.
    pub as_of: String,
    /// Seconds that a cache may live, the shortest first.
    pub lifetimes: Vec<u64>,
    /// A mark finds what was written at most so many blocks before it, itself included.
    pub look_back: usize,
    #[serde(rename = "models")]
    pub list: Vec<Model>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Model {
    pub name: String,
    /// All tokens that it takes and gives at once, and those that it gives.
    pub window: Option<u64>,
    pub max_output: Option<u64>,
    #[serde(flatten)]
    pub price: Option<Price>,
    /// A prompt that is longer costs more.
    #[serde(default)]
    pub dearer: Option<Dearer>,
    /// What is shorter than this is not cached, and nobody says so.
    pub minimum: Option<u64>,
    /// Seconds that its cache lives, whatever is asked for; and how far a mark looks back, if not as far as usual.
    #[serde(default)]
    pub cache_seconds: Option<u64>,
    #[serde(default)]
    pub look_back: Option<usize>,
    /// Whether the provider clears results and thinking for it if asked, and whether it compacts.
    #[serde(default)]
    pub clearing: bool,
    #[serde(default)]
    pub compaction: bool,
    /// Its thinking is bound to all that stands before it.
    #[serde(default)]
    pub bound_thinking: bool,
    /// What a person has set, by name.
    #[serde(skip)]
    pub overridden: Vec<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Dearer {
    /// Tokens of the prompt.
    pub above: u64,
    pub times: f64,
}

/// What is known of a name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lookup<'a> {
    Listed(&'a Model),
    /// It is not listed; this one of its family is the nearest.
    Nearest(&'a Model),
    Unknown,
}

/// What a person sets of one model; the rest stays.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Setting {
    pub input: Option<f64>,
    pub output: Option<f64>,
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
    pub clearing: Option<bool>,
    pub compaction: Option<bool>,
    pub bound_thinking: Option<bool>,
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

impl Model {
    /// For a prompt of so many tokens.
    pub fn price(&self, prompt: u64) -> Option<Price> {
        let times = self.dearer.filter(|dearer| prompt > dearer.above).map_or(1.0, |dearer| dearer.times);
        self.price.map(|price| price.times(times))
    }
}

impl Models {
    /// The table as it comes.
    pub fn listed() -> &'static Models {
        static LISTED: LazyLock<Models> = LazyLock::new(|| {
            let none = Models { as_of: String::new(), lifetimes: vec![300, 3600], look_back: 20, list: Vec::new() };
            // A test reads it; nobody can change it afterwards.
            serde_json::from_str(TABLE).unwrap_or(none)
        });
        &LISTED
    }

    /// How far a mark of this model's looks back.
    pub fn look_back_of(&self, name: Option<&str>) -> usize {
        let model = name.and_then(|name| self.of(name).model());
        model.and_then(|model| model.look_back).unwrap_or(self.look_back)
    }

    /// Seconds that the cache of a model lives, where somebody said so.
    pub fn cache_seconds_of(&self, name: Option<&str>) -> Option<u64> {
        self.of(name?).model()?.cache_seconds
    }

    /// What is known of a model, whatever its provider calls it.
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

    /// What an answer to such a prompt costs, and the model that stands in if it is not listed.
    pub fn price(&self, name: &str, prompt: u64) -> Option<(Price, Option<&str>)> {
        let found = self.of(name);
        Some((found.model()?.price(prompt)?, found.stand_in()))
    }

    /// Takes what a person says of a model.
    pub fn set(&mut self, name: &str, setting: &Setting) -> Result<(), &'static str> {
        let (known, listed) = match self.of(name) {
            Lookup::Listed(model) => (model.clone(), true),
            Lookup::Nearest(model) => (Model { name: name.to_owned(), overridden: Vec::new(), ..model.clone() }, false),
            Lookup::Unknown => (Model::new(name), false),
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

impl Model {
    /// Of which nothing is known.
    fn new(name: &str) -> Model {
        Model {
            name: name.to_owned(),
            window: None,
            max_output: None,
            price: None,
            dearer: None,
            minimum: None,
            cache_seconds: None,
            look_back: None,
            clearing: false,
            compaction: false,
            bound_thinking: false,
            overridden: Vec::new(),
        }
    }
}

impl Setting {
    /// The names that a person knows them by, and which are set.
    pub fn names(&self) -> [(&'static str, bool); 15] {
        [
            ("input", self.input.is_some()),
            ("output", self.output.is_some()),
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
            ("clearing", self.clearing.is_some()),
            ("compaction", self.compaction.is_some()),
            ("bound_thinking", self.bound_thinking.is_some()),
        ]
    }

    fn apply(&self, model: &mut Model) -> Result<(), &'static str> {
        let prices = [self.input, self.output, self.write_5m, self.write_1h, self.read];
        if prices.iter().any(Option::is_some) {
            model.price =
                Some(self.price(model.price).ok_or("a model without a price needs both `input` and `output`")?);
        }
        if self.dearer_above.is_some() || self.dearer_times.is_some() {
            let old = model.dearer;
            let above = self.dearer_above.or(old.map(|old| old.above));
            let times = self.dearer_times.or(old.map(|old| old.times));
            let both = above.zip(times).ok_or("`dearer_above` and `dearer_times` belong together")?;
            model.dearer = Some(Dearer { above: both.0, times: both.1 });
        }
        model.window = self.window.or(model.window);
        // Whoever names a smaller window means a smaller output, too.
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

    /// Where only the input has another price, the cache keeps its factors.
    fn price(&self, old: Option<Price>) -> Option<Price> {
        let input = self.input.or(old.map(|old| old.input))?;
        let factor = |of: fn(&Price) -> f64, usual: f64| match old.filter(|old| old.input > 0.0) {
            Some(old) => rounded(input * of(&old) / old.input),
            None => rounded(input * usual),
        };
        Some(Price {
            input,
            output: self.output.or(old.map(|old| old.output))?,
            write_5m: self.write_5m.unwrap_or_else(|| factor(|price| price.write_5m, WRITE_5M)),
            write_1h: self.write_1h.unwrap_or_else(|| factor(|price| price.write_1h, WRITE_1H)),
            read: self.read.unwrap_or_else(|| factor(|price| price.read, READ)),
        })
    }
}

/// To a millionth: nobody wants to read what is lost in dividing.
fn rounded(price: f64) -> f64 {
    (price * 1e6).round() / 1e6
}

/// A name without what providers put around it: `anthropic/`, `us.anthropic.`, `-v1:0`, `@20260901`, a date, `[1m]`.
pub fn bare(name: &str) -> String {
    let name = name.trim().to_ascii_lowercase();
    let name = name.rsplit('/').next().unwrap_or_default();
    let name = name.find("claude").and_then(|at| name.get(at..)).unwrap_or(name);
    let name = name.split(['@', '[', ':']).next().unwrap_or_default();
    let mut name = name.replace('.', "-");
    while let Some((rest, last)) = name.rsplit_once('-') {
        let is_date = last.len() == 8 && last.bytes().all(|byte| byte.is_ascii_digit());
        let is_edition = last.strip_prefix('v').is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        if !is_date && !is_edition && last != "latest" {
            break;
        }
        name.truncate(rest.len());
    }
    name
}

/// The family of a Claude model and its version, wherever the numbers stand.
fn family(bare: &str) -> Option<(&str, Vec<u32>)> {
    let mut words = bare.split('-');
    if words.next() != Some("claude") {
        return None;
    }
    let mut name = None;
    let mut version = Vec::new();
    for word in words {
        match word.parse::<u32>() {
            Ok(number) if version.len() < 2 => version.push(number),
            Ok(_) => {}
            Err(_) => name = name.or(Some(word)),
        }
    }
    Some((name?, version))
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
        assert_eq!((models.list.len(), models.as_of.as_str(), models.look_back), (18, "2026-11-15", 20));
        assert_eq!(models.lifetimes, [300, 3600]);
        for model in &models.list {
            let price = model.price.expect("a price");
            let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
            assert!(near(price.write_5m, 1.25 * price.input) && near(price.write_1h, 2.0 * price.input), "{model:?}");
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
    fn a_person_can_say_otherwise_and_what_was_not_said_stays() {
        let mut models = listed().clone();
        let input = Setting { input: Some(8.0), ..Setting::default() };
        models.set("claude-opus-5-5", &input).expect("set");
        let model = models.of("claude-opus-5-5-20260901").model().expect("listed");
        let price = model.price(1).expect("a price");
        assert_eq!((price.input, price.output, price.read, price.write_1h), (8.0, 20.0, 0.4, 16.0));
        assert_eq!((model.overridden.as_slice(), model.minimum, models.list.len()), (&["input"][..], Some(512), 18));

        let new = Setting { window: Some(300_000), ..Setting::default() };
        models.set("claude-opus-6", &new).expect("set");
        let found = models.of("claude-opus-6");
        assert!(matches!(found, Lookup::Listed(model) if model.window == Some(300_000)), "{found:?}");
        assert_eq!(models.of("claude-opus-6-1").stand_in(), Some("claude-opus-6"));

        let foreign = Setting { input: Some(1.0), output: Some(2.0), ..Setting::default() };
        models.set("gpt-6", &foreign).expect("set");
        let (price, stand_in) = models.price("gpt-6", 5).expect("a price");
        assert_eq!((price.read, price.write_5m, stand_in), (0.1, 1.25, None));
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
