//! The providers: one JSON file each, with the models, their prices, and the rules of the cache by version.

use crate::cache::CacheRules;
use crate::model::{Model, Surcharge};
use crate::names::{bare, version};
use crate::price::Price;
use serde::Deserialize;

/// The files, in display order.
const FILES: &[&str] = &[
    include_str!("providers/anthropic.json"),
    include_str!("providers/openai.json"),
    include_str!("providers/google.json"),
    include_str!("providers/deepseek.json"),
    include_str!("providers/moonshot.json"),
    include_str!("providers/alibaba.json"),
    include_str!("providers/zhipu.json"),
    include_str!("providers/mistral.json"),
    include_str!("providers/xai.json"),
];

/// A provider of models.
#[derive(Debug, Clone, PartialEq)]
pub struct Provider {
    pub id: String,
    pub name: String,
    /// The date of comparison with the source.
    pub as_of: String,
    pub source: String,
    /// Its cache rules and the versions from which they apply, oldest first.
    generations: Vec<(Vec<u32>, CacheRules)>,
}

/// A provider's file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    id: String,
    name: String,
    as_of: String,
    source: String,
    cache: Vec<Generation>,
    models: Vec<Row>,
}

/// The cache rules for all models from a version on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Generation {
    #[serde(default)]
    from: Vec<u32>,
    rules: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    window: Option<u64>,
    max_output: Option<u64>,
    input: Option<f64>,
    output: Option<f64>,
    /// The price of a cache read, if it differs from the provider's: in dollars, or in input tokens.
    read: Option<f64>,
    read_factor: Option<f64>,
    minimum: Option<u64>,
    /// The name of the cache rules, if they differ from its generation's.
    cache: Option<String>,
    dearer: Option<Surcharge>,
    #[serde(default)]
    clearing: bool,
    #[serde(default)]
    compaction: bool,
    #[serde(default)]
    bound_thinking: bool,
    as_of: Option<String>,
    source: Option<String>,
    note: Option<String>,
}

impl Provider {
    /// The cache rules for a version; for a name without one, those of the newest models.
    pub fn rules(&self, version: &[u32]) -> CacheRules {
        self.generations.get(self.generation(version)).map(|(_, rules)| *rules).unwrap_or_default()
    }

    /// Its cache rules and the versions from which they apply, oldest first.
    pub fn generations(&self) -> &[(Vec<u32>, CacheRules)] {
        &self.generations
    }

    /// The index of a version's generation.
    pub(crate) fn generation(&self, version: &[u32]) -> usize {
        let begun = self.generations.iter().filter(|(from, _)| version.is_empty() || from.as_slice() <= version);
        begun.count().saturating_sub(1)
    }
}

impl Row {
    fn model(self, provider: &Provider) -> Model {
        let usual = self.cache.as_deref().and_then(CacheRules::named);
        let usual = usual.unwrap_or_else(|| provider.rules(&version(&bare(&self.name))));
        let factor = self.read.zip(self.input).map(|(read, input)| read / input).or(self.read_factor);
        let rules = CacheRules { read: factor.unwrap_or(usual.read), ..usual };
        let price = self.input.zip(self.output).map(|(input, output)| Price::by_rules(input, output, &rules));
        Model {
            price,
            window: self.window,
            max_output: self.max_output,
            dearer: self.dearer,
            minimum: self.minimum,
            clearing: self.clearing,
            compaction: self.compaction,
            bound_thinking: self.bound_thinking,
            as_of: price.map(|_| self.as_of.unwrap_or_else(|| provider.as_of.clone())),
            source: price.map(|_| self.source.unwrap_or_else(|| provider.source.clone())),
            note: self.note,
            ..Model::new(&self.name, Some(&provider.id), rules)
        }
    }
}

/// All providers and their models.
pub(crate) fn all() -> (Vec<Provider>, Vec<Model>) {
    let (mut providers, mut models) = (Vec::new(), Vec::new());
    // Tests read the files, which are part of the program.
    for table in FILES.iter().filter_map(|file| serde_json::from_str::<Table>(file).ok()) {
        let generations = table.cache.into_iter().filter_map(|Generation { from, rules }| {
            let rules = CacheRules::named(&rules)?;
            Some((from, rules))
        });
        let provider = Provider {
            generations: generations.collect(),
            id: table.id,
            name: table.name,
            as_of: table.as_of,
            source: table.source,
        };
        models.extend(table.models.into_iter().map(|row| row.model(&provider)));
        providers.push(provider);
    }
    (providers, models)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::{GEMINI, GEMINI_2, OPENAI, OPENAI_BREAKPOINTS, OPENAI_DAY, OPENAI_TWELVE_HOURS};

    #[test]
    fn every_file_is_read_and_names_rules_that_exist() {
        for file in FILES {
            let table: Table = serde_json::from_str(file).expect(file);
            let named = table.cache.iter().map(|generation| &generation.rules);
            for name in named.chain(table.models.iter().filter_map(|row| row.cache.as_ref())) {
                assert!(CacheRules::named(name).is_some(), "{}: {name}", table.id);
            }
            assert!(table.cache.is_sorted_by(|one, other| one.from < other.from), "{}", table.id);
            assert!(table.cache.first().is_some_and(|first| first.from.is_empty()), "{}", table.id);
            assert!(table.models.iter().all(|row| row.input.is_some() == row.output.is_some()), "{}", table.id);
            assert!(!table.source.is_empty() && table.as_of.starts_with("2026-1"), "{}", table.id);
        }
        assert_eq!(all().0.len(), FILES.len());
    }

    #[test]
    fn the_rules_of_a_cache_depend_on_the_version() {
        let (providers, _) = all();
        let of = |id: &str| providers.iter().find(|provider| provider.id == id).expect("a provider");
        let openai = [&[3][..], &[5, 4], &[5, 5], &[5, 6], &[6], &[6, 1], &[7], &[]].map(|at| of("openai").rules(at));
        let (old, day, marks, long) = (OPENAI, OPENAI_DAY, OPENAI_BREAKPOINTS, OPENAI_TWELVE_HOURS);
        assert_eq!(openai, [old, old, day, marks, marks, long, long, long]);
        assert_eq!([&[2, 5][..], &[3], &[4]].map(|at| of("google").rules(at)), [GEMINI_2, GEMINI, GEMINI]);
    }
}
