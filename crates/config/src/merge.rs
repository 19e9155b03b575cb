//! Merges the layers of all sources, and finds the project's settings that wait for trust.

use ctx_api::context::{ProjectSetting, ProjectSettings};
use std::path::{Path, PathBuf};

use ctx_core::policy::settings::EVERY_PHASE;
use ctx_core::policy::{Mode, Settings};
use ctx_wire::provider_edits::{ProviderSettings, Rules};
use serde_json::{Value, json};

use crate::layer::{EDITING, Layer, Origin, PROVIDER, in_words};
use crate::sections::{ContextEditing, ProviderEditing};
use crate::sources::Source;
use crate::trust::Trust;

/// A source with its layer, if it exists and can be read.
#[derive(Clone, Copy)]
pub struct SourceLayer<'l> {
    pub source: &'l Source,
    pub layer: Option<&'l Layer>,
}

/// A project's setting that takes effect once a person trusts the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingSetting {
    pub file: PathBuf,
    pub line: usize,
    /// With its section.
    pub key: String,
    /// As written on one line.
    pub value: String,
}

impl SourceLayer<'_> {
    /// Whether all of it counts: it is the user's own, or trusted in its current state.
    fn is_trusted(&self, trust: &Trust) -> bool {
        let print = self.layer.and_then(|layer| layer.print.as_ref());
        !self.source.is_of_project || print.is_some_and(|print| trust.holds(&self.source.path, print))
    }
}

/// Lays one tree of settings over another; unset keys change nothing.
pub fn merge(base: &mut Value, over: Value) {
    match (base, over) {
        (_, Value::Null) => {}
        (Value::Object(base), Value::Object(over)) => {
            over.into_iter().for_each(|(name, value)| merge(base.entry(name).or_insert(Value::Null), value));
        }
        (base, over) => *base = over,
    }
}

/// The settings with those of a stronger layer.
pub fn lay(settings: &Settings, layer: &ContextEditing) -> Settings {
    let mut merged = json!(settings);
    merge(&mut merged, json!(layer));
    serde_json::from_value(merged).unwrap_or_else(|_| settings.clone())
}

/// Adds the settings of an active skill: it can only preserve more and name more phases.
fn add(settings: &Settings, skill: &ContextEditing) -> Settings {
    let mut settings = settings.clone();
    // A skill cannot redefine a known name.
    for (name, patterns) in &skill.artifacts {
        settings.artifacts.entry(name.clone()).or_insert_with(|| patterns.clone().into());
    }
    add_new(&mut settings.clear_after_phases, &skill.clear_after_phases);
    add_new(&mut settings.preserve_artifacts, &skill.preserve_artifacts);
    settings
}

/// Applies an untrusted layer: each key only as far as it clears less or preserves more.
fn lay_quieter(settings: &mut Settings, layer: &ContextEditing) {
    fn raise<T: Ord + Copy>(value: &mut T, other: Option<T>) {
        *value = other.map_or(*value, |other| other.max(*value));
    }
    settings.mode = layer.mode.map_or(settings.mode, |mode| mode.min(settings.mode));
    raise(&mut settings.compact_threshold_percent, layer.compact_threshold_percent);
    raise(&mut settings.threshold_with_provider_percent, layer.threshold_with_provider_percent);
    raise(&mut settings.target_percent, layer.target_percent);
    raise(&mut settings.preserve_recent_turns, layer.preserve_recent_turns);
    if let Some(targets) = &layer.clear_targets {
        settings.clear_targets.retain(|target| targets.contains(target));
    }
    if let Some(phases) = &layer.clear_after_phases {
        keep_phases(&mut settings.clear_after_phases, phases);
    }
    if let Some(budget) = &mut settings.attention_budget {
        raise(&mut budget.single_search, layer.attention_budget.single_search);
        raise(&mut budget.accumulated, layer.attention_budget.accumulated);
        raise(&mut budget.session_total, layer.attention_budget.session_total);
    }
    preserve_more(settings, layer);
    add_new(&mut settings.exclude_tools, &layer.exclude_tools);
    let (trims, fewer) = (&mut settings.trims, &layer.trims);
    trims.views &= fewer.views.unwrap_or(true);
    trims.searches &= fewer.searches.unwrap_or(true);
    trims.outputs &= fewer.outputs.unwrap_or(true);
    trims.edits &= fewer.edits.unwrap_or(true);
    let (cuts, fewer) = (&mut settings.cuts, &layer.cuts);
    cut_less(&mut cuts.build, fewer.build);
    cut_less(&mut cuts.search, fewer.search);
    cut_less(&mut cuts.listing, fewer.listing);
    cut_less(&mut cuts.log, fewer.log);
    cut_less(&mut cuts.page, fewer.page);
    cut_less(&mut cuts.repeated_view, fewer.repeated_view);
    let (diet, quieter) = (&mut settings.diet, &layer.diet);
    diet.mode = quieter.mode.map_or(diet.mode, |mode| mode.min(diet.mode));
    raise(&mut diet.after_conversations, quieter.after_conversations);
    diet.shorten_lists &= quieter.shorten_lists.unwrap_or(true);
    add_new(&mut diet.keep_tools, &quieter.keep_tools);
}

/// A longer limit, or none (0).
fn cut_less(limit: &mut u64, other: Option<u64>) {
    *limit = match other {
        Some(0) => 0,
        Some(other) if *limit > 0 => other.max(*limit),
        _ => *limit,
    };
}

/// Keeps only phases that both name.
fn keep_phases(all: &mut Vec<String>, phases: &[String]) {
    let is_every = |phase: &String| phase == EVERY_PHASE;
    if phases.iter().any(is_every) {
        return;
    }
    match all.iter().any(is_every) {
        true => *all = phases.to_vec(),
        false => all.retain(|phase| phases.contains(phase)),
    }
}

/// Adds artifacts. A known name keeps its definition, because another one could preserve less.
fn preserve_more(settings: &mut Settings, layer: &ContextEditing) {
    for (name, patterns) in &layer.artifacts {
        if !settings.preserve_artifacts.contains(name) {
            settings.artifacts.entry(name.clone()).or_insert_with(|| patterns.clone().into());
        }
    }
    add_new(&mut settings.preserve_artifacts, &layer.preserve_artifacts);
}

fn add_new(all: &mut Vec<String>, more: &Option<Vec<String>>) {
    for name in more.iter().flatten() {
        if !all.contains(name) {
            all.push(name.clone());
        }
    }
}

/// The settings in force, and those that wait. Weaker layers come first.
pub fn settings(layers: &[SourceLayer<'_>], trust: &Trust) -> (Settings, Vec<WaitingSetting>) {
    let mut settings = ctx_clients::editor_settings();
    let mut waiting = Vec::new();
    let mut is_off = false;
    for one in layers {
        let Some((layer, editing)) = one.layer.and_then(|layer| Some((layer, layer.editing()?))) else { continue };
        let is_skill = one.source.origin == Origin::Skill;
        is_off |= one.source.origin == Origin::User && editing.mode == Some(Mode::Off);
        let whole = if is_skill { add(&settings, editing) } else { lay(&settings, editing) };
        if one.is_trusted(trust) {
            settings = whole;
            continue;
        }
        match is_skill {
            true => preserve_more(&mut settings, editing),
            false => lay_quieter(&mut settings, editing),
        }
        waiting.extend(differences(&settings, &whole, layer, &one.source.path));
    }
    // The home's `off` is final, trusted or not.
    if is_off {
        settings.mode = Mode::Off;
        waiting.retain(|setting| setting.key != "context_editing.mode");
    }
    (settings, waiting)
}

/// The keys of a layer that are not in force.
fn differences(now: &Settings, whole: &Settings, layer: &Layer, file: &Path) -> Vec<WaitingSetting> {
    let (now, whole) = (json!({ EDITING: now }), json!({ EDITING: whole }));
    let at = |settings: &Value, path: &[String]| path.iter().fold(settings.clone(), |value, name| value[name].clone());
    let mut waiting = Vec::new();
    for entry in layer.entries.iter().filter(|entry| entry.is_in(EDITING)) {
        let (now, whole) = (at(&now, &entry.path), at(&whole, &entry.path));
        if now != whole {
            let (file, line) = (file.to_owned(), entry.line);
            waiting.push(WaitingSetting { file, line, key: entry.key(), value: in_words(&whole) });
        }
    }
    waiting
}

/// The provider's own editing, and its settings that wait. Weaker layers come first.
pub fn provider_rules(
    folder: Option<&Path>,
    layers: &[SourceLayer<'_>],
    trust: &Trust,
) -> (Rules, Vec<WaitingSetting>) {
    let mut rules = Rules::default();
    let mut waiting = Vec::new();
    for one in layers {
        let Some(layer) = one.layer else { continue };
        let provider = &layer.config.context_editing.provider;
        let project = one.source.path.parent().filter(|_| one.source.is_of_project);
        let own = project.zip(folder);
        if one.is_trusted(trust) {
            add_rules(&mut rules, own, provider.clone());
            continue;
        }
        add_rules(&mut rules, own, quieter(provider));
        let is_off = |key: &str, value: &Value| key.ends_with(".enabled") && *value == json!(false);
        let entries = layer.entries.iter().filter(|entry| entry.is_in(PROVIDER));
        waiting.extend(entries.filter(|entry| !is_off(&entry.key(), &entry.value)).map(|entry| WaitingSetting {
            file: one.source.path.clone(),
            line: entry.line,
            key: entry.key(),
            value: entry.in_words(),
        }));
    }
    (rules, waiting)
}

/// Adds the rules of a layer. Those of a project (its folder, and the client's working directory) apply only there.
fn add_rules(rules: &mut Rules, own: Option<(&Path, &Path)>, provider: ProviderEditing) {
    if provider.settings != ProviderSettings::default() {
        rules.add(own.map(|(_, works)| works.to_owned()), provider.settings);
    }
    let mut projects: Vec<_> = provider.projects.into_iter().collect();
    // The deeper folder is stronger.
    projects.sort_by_key(|(folder, _)| folder.components().count());
    for (folder, project) in projects {
        if own.is_none_or(|(own, _)| folder.starts_with(own)) {
            rules.add(Some(folder.components().collect()), project.0);
        }
    }
}

/// The part of a layer that counts without trust: turning it off.
fn quieter(provider: &ProviderEditing) -> ProviderEditing {
    let off = |switch: Option<bool>| switch.filter(|on| !on);
    let quieter = |settings: &ProviderSettings| {
        let mut quieter = ProviderSettings { enabled: off(settings.enabled), ..ProviderSettings::default() };
        quieter.clear_tool_uses.enabled = off(settings.clear_tool_uses.enabled);
        quieter.clear_thinking.enabled = off(settings.clear_thinking.enabled);
        quieter.compact.enabled = off(settings.compact.enabled);
        quieter
    };
    let mut provider = provider.clone();
    provider.settings = quieter(&provider.settings);
    provider.projects.values_mut().for_each(|project| project.0 = quieter(&project.0));
    provider
}

/// Every waiting setting of a project.
pub fn waiting(folder: &Path, layers: &[SourceLayer<'_>], trust: &Trust) -> Vec<WaitingSetting> {
    let provider = provider_rules(Some(folder), layers, trust).1;
    settings(layers, trust).1.into_iter().chain(provider).collect()
}

/// The settings of a project that wait or are ignored; none if all of them count.
pub fn of_project(folder: &Path, layers: &[SourceLayer<'_>], trust: &Trust) -> Option<ProjectSettings> {
    let line = |line: usize| Some(line as u64).filter(|line| *line > 0);
    let waiting = waiting(folder, layers, trust).into_iter().map(|setting| ProjectSetting {
        file: setting.file.display().to_string(),
        line: line(setting.line),
        key: setting.key,
        value: Some(setting.value),
        why: "needs your trust".to_owned(),
    });
    let waiting: Vec<ProjectSetting> = waiting.collect();
    let ignored = layers.iter().filter(|one| one.source.is_of_project).flat_map(|one| {
        let remarks = one.layer.map(|layer| layer.ignored.as_slice()).unwrap_or_default();
        remarks.iter().map(|remark| ProjectSetting {
            file: one.source.path.display().to_string(),
            line: line(remark.line),
            key: remark.key.clone(),
            value: None,
            why: remark.words.clone(),
        })
    });
    let ignored: Vec<ProjectSetting> = ignored.collect();
    let folder = folder.display().to_string();
    (!waiting.is_empty() || !ignored.is_empty()).then_some(ProjectSettings { folder, waiting, ignored })
}

#[cfg(test)]
mod tests;
