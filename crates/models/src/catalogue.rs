//! The catalogue of models as dated data: prices, context windows, and exceptions to their provider's cache rules. The
//! data is one JSON file per provider; users may override it. An unlisted model takes the figures of the nearest one of
//! its family, marked as such; a model of no known family has none.

use crate::cache::{CacheRules, Writes};
use crate::model::Model;
use crate::names::{self, bare, family};
use crate::price::Price;
use crate::provider::{self, Provider};
use crate::setting::Setting;
use std::sync::LazyLock;

/// All models, with the user's settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Models {
    /// The date of the data; the oldest of several files.
    pub as_of: String,
    pub providers: Vec<Provider>,
    pub list: Vec<Model>,
}

/// The entry for a name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lookup<'a> {
    Listed(&'a Model),
    /// Unlisted; this one of its family is the nearest.
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

    /// The model whose figures are used instead of unknown ones.
    pub fn stand_in(self) -> Option<&'a str> {
        match self {
            Lookup::Nearest(model) => Some(&model.name),
            _ => None,
        }
    }
}

impl Models {
    /// The catalogue without settings.
    pub fn listed() -> &'static Models {
        static LISTED: LazyLock<Models> = LazyLock::new(|| {
            let (providers, list) = provider::all();
            let as_of = providers.iter().map(|provider| &provider.as_of).min().cloned().unwrap_or_default();
            Models { as_of, providers, list }
        });
        &LISTED
    }

    /// The cache rules of a model; [`CacheRules::default`] for an unknown one.
    pub fn cache_rules(&self, name: Option<&str>) -> CacheRules {
        self.rules(name, CacheRules::default())
    }

    /// The cache rules of a model: its own, those of the nearest one of its family, or those of its provider. For a
    /// model of no known provider, `fallback`, the rules of its wire.
    pub fn rules(&self, name: Option<&str>, fallback: CacheRules) -> CacheRules {
        let Some(name) = name else { return fallback };
        match self.of(name).model() {
            Some(model) if model.provider.is_some() => model.cache_rules(),
            Some(model) => model.excepted(fallback),
            None => self.provider_rules(&bare(name)).unwrap_or(fallback),
        }
    }

    /// The model whose prices stand in for unknown ones.
    pub fn stand_in(&self) -> Option<&Model> {
        self.of("claude-opus-4-5").model()
    }

    /// The provider's cache rules for an unlisted model.
    fn provider_rules(&self, bare: &str) -> Option<CacheRules> {
        Some(self.provider(names::provider(bare)?)?.rules(&names::version(bare)))
    }

    /// The provider with an id.
    pub fn provider(&self, id: &str) -> Option<&Provider> {
        self.providers.iter().find(|provider| provider.id == id)
    }

    /// The lifetime of a model's cache in seconds, if requests do not choose it by breakpoints: set by the user,
    /// `asked` for by the request, or usual for its provider. None if the provider is unknown.
    pub fn cache_seconds_of(&self, name: Option<&str>, asked: Option<u64>) -> Option<u64> {
        let name = name?;
        let found = self.of(name).model();
        let rules = || match found {
            Some(model) => model.provider.is_some().then(|| model.cache_rules()),
            None => self.provider_rules(&bare(name)),
        };
        let decides = |rules: &CacheRules| rules.writes != Writes::AtBreakpoints;
        let set = found.and_then(|model| model.cache_seconds);
        set.or_else(|| rules().filter(decides).map(|rules| asked.unwrap_or_else(|| rules.usual_lifetime())))
    }

    /// The entry of a model, under any of its names.
    pub fn of(&self, name: &str) -> Lookup<'_> {
        let bare = bare(name);
        if let Some(model) = self.list.iter().find(|model| model.name == name || model.key == bare) {
            return Lookup::Listed(model);
        }
        self.nearest(&bare).map_or(Lookup::Unknown, Lookup::Nearest)
    }

    /// The newest one of its family that is not newer; if all are, the oldest. Models with other cache rules do not
    /// count: their prices would mislead.
    fn nearest(&self, bare: &str) -> Option<&Model> {
        let wanted = family(bare)?;
        let provider = self.provider(names::provider(bare)?)?;
        let generation = |version: &[u32]| provider.generation(version);
        let mut kin: Vec<(Vec<u32>, &Model)> = Vec::new();
        for model in &self.list {
            let related = family(&model.key).filter(|other| other.name == wanted.name);
            let near = |version: &Vec<u32>| {
                wanted.version.is_empty() || version.is_empty() || generation(version) == generation(&wanted.version)
            };
            kin.extend(related.map(|other| other.version).filter(near).map(|version| (version, model)));
        }
        kin.sort_by(|one, other| one.0.cmp(&other.0));
        let not_newer = kin.iter().rev().find(|(other, _)| wanted.version.is_empty() || *other <= wanted.version);
        not_newer.or(kin.first()).map(|(_, model)| *model)
    }

    /// The prices for a prompt of this many tokens, and the substitute if the model is unlisted.
    pub fn price(&self, name: &str, prompt: u64) -> Option<(Price, Option<&str>)> {
        let found = self.of(name);
        Some((found.model()?.price(prompt)?, found.stand_in()))
    }

    /// Applies a user's settings for a model.
    pub fn set(&mut self, name: &str, setting: &Setting) -> Result<(), &'static str> {
        let (known, listed) = match self.of(name) {
            Lookup::Listed(model) => (model.clone(), true),
            Lookup::Nearest(model) => (model.under(name), false),
            Lookup::Unknown => (Model::new(name, names::provider(&bare(name)), self.cache_rules(Some(name))), false),
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
mod tests;
