//! What all sources say together, and what of it waits until a person trusts the project.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use ctx_composer::automatic::{ProjectSetting, ProjectSettings};
use ctx_core::automatic::{Mode, Settings};
use ctx_wire::anthropic::context_management::Rules;

use super::provider::{self, Own, ProviderFile};
use super::said::{NAME, Said, Speaker};
use super::sources::Source;
use crate::trust::Trust;

/// A source and what it says.
#[derive(Clone, Copy)]
pub struct Voice<'v> {
    pub source: &'v Source,
    pub said: Option<&'v Said>,
}

/// A setting of a project that takes effect once a person trusts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingSetting {
    pub file: PathBuf,
    pub line: usize,
    /// With its section.
    pub key: String,
    /// As one would write it in one line.
    pub value: String,
}

impl Voice<'_> {
    /// Whether all of it counts: it is the user's own, or a person trusts it as it is.
    fn is_trusted(&self, trust: &Trust) -> bool {
        let print = self.said.and_then(|said| said.print.as_ref());
        !self.source.is_of_project || print.is_some_and(|print| trust.holds(&self.source.path, print))
    }
}

/// The settings in force, the weaker voice first, and what waits.
pub fn settings(voices: &[Voice<'_>], trust: &Trust) -> (Settings, Vec<WaitingSetting>) {
    let mut settings = ctx_clients::editor_settings();
    let mut waiting = Vec::new();
    let mut is_off = false;
    for voice in voices {
        let Some((said, layer)) = voice.said.and_then(|said| Some((said, said.layer()?))) else { continue };
        let speaker = voice.source.speaker;
        is_off |= speaker == Speaker::Person && layer.mode == Some(Mode::Off);
        let mut whole = settings.clone();
        match speaker {
            Speaker::Skill => {
                // What a name means already is not a skill's to change.
                let mut layer = layer.clone();
                layer.artifacts.retain(|name, _| !settings.artifacts.contains_key(name));
                whole.add(&layer);
            }
            Speaker::Person | Speaker::Project | Speaker::Yaml => whole.lay(layer),
        }
        if voice.is_trusted(trust) {
            settings = whole;
            continue;
        }
        match speaker {
            Speaker::Skill => settings.add_quieter(layer),
            Speaker::Person | Speaker::Project | Speaker::Yaml => settings.lay_quieter(layer),
        }
        waiting.extend(differences(&settings, &whole, said, &voice.source.path));
    }
    // Off at home is off everywhere, trusted or not.
    if is_off {
        settings.mode = Mode::Off;
        waiting.retain(|setting| setting.key != format!("{NAME}.mode"));
    }
    (settings, waiting)
}

/// What the provider is asked for, the weaker voice first, and what waits.
pub fn provider_rules(folder: Option<&Path>, voices: &[Voice<'_>], trust: &Trust) -> (Rules, Vec<WaitingSetting>) {
    let mut files: Vec<(Option<Own<'_>>, Cow<'_, ProviderFile>)> = Vec::new();
    let mut waiting = Vec::new();
    for voice in voices {
        let Some(said) = voice.said else { continue };
        let project = voice.source.path.parent().filter(|_| voice.source.is_of_project);
        let own = project.zip(folder).map(|(project, works)| Own { project, works });
        if voice.is_trusted(trust) {
            files.push((own, Cow::Borrowed(&said.provider)));
            continue;
        }
        files.push((own, Cow::Owned(said.provider.quieter())));
        waiting.extend(said.provider.louder.iter().map(|setting| WaitingSetting {
            file: voice.source.path.clone(),
            line: setting.line,
            key: setting.key.clone(),
            value: setting.value.clone(),
        }));
    }
    (provider::rules(files), waiting)
}

/// The keys of a source that are not in force as it says them.
fn differences(now: &Settings, whole: &Settings, said: &Said, file: &Path) -> Vec<WaitingSetting> {
    let json = |settings: &Settings| serde_json::to_value(settings).unwrap_or_default();
    let (now, whole) = (json(now), json(whole));
    let mut waiting = Vec::new();
    for (key, &line) in &said.lines {
        let at = format!("/{}", key.replace('.', "/"));
        let (now, whole) = (now.pointer(&at), whole.pointer(&at));
        if now != whole {
            let value = whole.map(in_words).unwrap_or_default();
            waiting.push(WaitingSetting { file: file.to_owned(), line, key: format!("{NAME}.{key}"), value });
        }
    }
    waiting.sort_by_key(|setting| setting.line);
    waiting
}

fn in_words(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(items) => items.iter().map(in_words).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// Every setting of a project that waits.
pub fn waiting(folder: &Path, voices: &[Voice<'_>], trust: &Trust) -> Vec<WaitingSetting> {
    let provider = provider_rules(Some(folder), voices, trust).1;
    settings(voices, trust).1.into_iter().chain(provider).collect()
}

/// What is to be told of a project's own settings; none if all of them count, or there are none.
pub fn of_project(folder: &Path, voices: &[Voice<'_>], trust: &Trust) -> Option<ProjectSettings> {
    let waiting = waiting(folder, voices, trust).into_iter().map(|setting| ProjectSetting {
        file: setting.file.display().to_string(),
        line: Some(setting.line as u64).filter(|line| *line > 0),
        key: setting.key,
        value: Some(setting.value),
        why: "waits for your trust".to_owned(),
    });
    let waiting: Vec<ProjectSetting> = waiting.collect();
    let ignored = voices.iter().filter(|voice| voice.source.is_of_project).flat_map(|voice| {
        let remarks = voice.said.map(|said| said.ignored.as_slice()).unwrap_or_default();
        remarks.iter().map(|remark| ProjectSetting {
            file: voice.source.path.display().to_string(),
            line: Some(remark.line as u64).filter(|line| *line > 0),
            key: remark.key.clone(),
            value: None,
            why: remark.words.clone(),
        })
    });
    let ignored: Vec<ProjectSetting> = ignored.collect();
    let folder = folder.display().to_string();
    (!waiting.is_empty() || !ignored.is_empty()).then_some(ProjectSettings { folder, waiting, ignored })
}
