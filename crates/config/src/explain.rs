//! The settings in force and their sources: the answer of `ctx config check`.

use std::path::{Path, PathBuf};

use ctx_core::edit::refusal::nearest;
use ctx_engine::automatic::Rules;
use serde::Serialize;
use serde_json::{Value, json};

use crate::env::{self, Environment};
use crate::error::ConfigError;
use crate::home::Home;
use crate::layer::{EDITING, Layer, Origin, PROVIDER, Remark, joined};
use crate::live::LiveRules;
use crate::merge::{self, SourceLayer};
use crate::schema::{self, Key};
use crate::sections::PROJECT_MEMBER;
use crate::sources::{Places, Source};
use crate::trust::Trust;
use crate::{Flags, Settings};

/// The source of a value that no source sets.
const DEFAULT: &str = "default";

#[derive(Debug, Serialize)]
pub struct ValueExplanation {
    /// There are no errors.
    pub healthy: bool,
    /// A daemon would start with these settings.
    pub starts: bool,
    pub project: PathBuf,
    /// Weaker first.
    pub files: Vec<FileView>,
    pub values: Vec<ValueView>,
    /// Skills with settings.
    pub skills: Vec<SkillView>,
    pub wrong: Vec<Note>,
    /// Settings of the project that take effect once a person trusts it.
    pub waiting: Vec<Note>,
    /// Notes that are not errors.
    pub notes: Vec<Note>,
}

#[derive(Debug, Serialize)]
pub struct FileView {
    pub path: PathBuf,
    pub state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Read,
    Missing,
    Wrong,
}

#[derive(Debug, Serialize)]
pub struct ValueView {
    pub key: String,
    pub value: Value,
    /// A flag, a variable, a file, or `default`.
    pub from: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    pub about: &'static str,
}

/// The additions of a skill while it is active.
#[derive(Debug, Serialize)]
pub struct SkillView {
    pub name: String,
    pub path: PathBuf,
    pub clear_after_phases: Vec<String>,
    pub preserve_artifacts: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct Note {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    pub message: String,
}

/// A source and its layer; none if it does not exist.
type SourceLayers = (Source, Option<Layer>);

/// The source of a value, and its line.
type Place = (String, Option<usize>);

/// Explains the settings for a daemon with these flags, and for clients that work in `folder`.
pub fn explain(flags: &Flags, environment: &Environment, home: &Home, folder: &Path) -> ValueExplanation {
    let places = Places::new(flags, environment, home);
    let mut explained = ValueExplanation {
        healthy: true,
        starts: true,
        project: folder.to_owned(),
        files: Vec::new(),
        values: Vec::new(),
        skills: Vec::new(),
        wrong: Vec::new(),
        waiting: Vec::new(),
        notes: Vec::new(),
    };
    let sources = explained.read_files(&places, folder);
    explained.check_trust(&places, folder, &sources);
    explained.check_start((flags, environment, home), folder, &sources);

    let rules = LiveRules::new(flags, environment, home);
    let settings = rules.of(Some(folder), &[]);
    let in_force = json!({ EDITING: *settings });
    for key in schema::keys() {
        match key.name.strip_prefix("context_editing.") {
            // An alias of the mode.
            Some("enabled") => {}
            Some("artifacts.*.tools") => explained.artifacts(&in_force, &sources),
            Some(name) if name.starts_with("artifacts.") => {}
            Some(_) if key.name.starts_with(PROVIDER) => explained.provider(&key, &sources, folder),
            Some(_) => explained.own(&key, &in_force, &sources),
            None => explained.daemon(&key, &sources, flags, environment),
        }
    }
    explained.skills(&places, folder);
    explained.relations(&settings);
    explained.healthy = explained.wrong.is_empty();
    explained
}

impl ValueExplanation {
    fn read_files(&mut self, places: &Places, folder: &Path) -> Vec<SourceLayers> {
        let all = std::iter::once(places.general()).chain(places.project(folder));
        let all: Vec<SourceLayers> = all.map(|source| (source.clone(), source.read())).collect();
        for (source, layer) in &all {
            let state = match layer {
                None => State::Missing,
                Some(layer) if layer.wrong.is_empty() && layer.provider_wrong.is_empty() => State::Read,
                Some(_) => State::Wrong,
            };
            self.files.push(FileView { path: source.path.clone(), state });
            self.remarks(&source.path, layer.as_ref());
        }
        all
    }

    /// Adds the settings that wait until a person trusts the project.
    fn check_trust(&mut self, places: &Places, folder: &Path, sources: &[SourceLayers]) {
        let trust = Trust::load(places.home()).unwrap_or_else(|error| {
            self.wrong.push(self.placed(&error.message, error.hint.as_deref()));
            Trust::default()
        });
        let skills = places.skills(Some(folder)).into_iter().map(|(_, source)| (source.clone(), source.read()));
        let all: Vec<SourceLayers> = sources.iter().cloned().chain(skills).collect();
        let layers: Vec<SourceLayer<'_>> =
            all.iter().map(|(source, layer)| SourceLayer { source, layer: layer.as_ref() }).collect();
        self.waiting.extend(merge::waiting(folder, &layers, &trust).into_iter().map(|setting| Note {
            message: format!("`{}` = {} takes effect once you trust this project", setting.key, setting.value),
            file: Some(setting.file),
            line: Some(setting.line),
            key: Some(setting.key),
        }));
    }

    /// Whether a source's key is not in force yet.
    fn waits(&self, path: &Path, key: &str) -> bool {
        self.waiting.iter().any(|note| note.file.as_deref() == Some(path) && note.key.as_deref() == Some(key))
    }

    fn remarks(&mut self, path: &Path, layer: Option<&Layer>) {
        let note = |remark: &Remark| Note {
            file: Some(path.to_owned()),
            line: Some(remark.line).filter(|line| *line > 0),
            key: Some(remark.key.clone()),
            message: remark.words.clone(),
        };
        let wrong = layer.iter().flat_map(|layer| layer.wrong.iter().chain(&layer.provider_wrong));
        self.wrong.extend(wrong.map(note));
        self.notes.extend(layer.iter().flat_map(|layer| &layer.ignored).map(note));
    }

    /// Adds the other errors and remarks of a daemon's start.
    fn check_start(
        &mut self,
        (flags, environment, home): (&Flags, &Environment, &Home),
        folder: &Path,
        sources: &[SourceLayers],
    ) {
        match Settings::load(flags, environment, home, folder) {
            Ok(settings) => {
                let ignored = sources.iter().flat_map(|(source, layer)| {
                    layer.iter().flat_map(|layer| layer.ignored.iter().map(|remark| remark.at(&source.path)))
                });
                let known: Vec<String> = ignored.collect();
                let new = settings.remarks.iter().filter(|remark| !known.contains(remark));
                let notes: Vec<Note> = new.map(|remark| self.placed(remark, None)).collect();
                self.notes.extend(notes);
            }
            Err(ConfigError { message, hint, .. }) => {
                self.starts = false;
                let note = self.placed(&message, hint.as_deref());
                // An unreadable file is already in the list.
                let is_same =
                    |known: &Note| known.file.is_some() && (&known.file, known.line) == (&note.file, note.line);
                if !self.wrong.iter().any(is_same) {
                    self.wrong.push(note);
                }
            }
        }
        for file in &mut self.files {
            if self.wrong.iter().any(|note| note.file.as_ref() == Some(&file.path)) {
                file.state = State::Wrong;
            }
        }
    }

    /// A message that may begin with its file and line.
    fn placed(&self, message: &str, hint: Option<&str>) -> Note {
        for FileView { path, .. } in &self.files {
            let rest = message.strip_prefix(&format!("{}, line ", path.display()));
            let Some((line, message)) = rest.and_then(|rest| rest.split_once(": ")) else { continue };
            return Note { file: Some(path.clone()), line: line.parse().ok(), key: None, message: message.to_owned() };
        }
        let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        Note { file: None, line: None, key: None, message: format!("{message}{hint}") }
    }

    fn own(&mut self, key: &Key, in_force: &Value, sources: &[SourceLayers]) {
        let value = key.name.split('.').fold(in_force, |value, name| &value[name]).clone();
        let is_home = |(source, _): &&SourceLayers| source.origin == Origin::User;
        let is_off = |(_, layer): &SourceLayers| {
            let editing = layer.as_ref().and_then(Layer::editing);
            editing.is_some_and(|editing| editing.mode == Some(ctx_core::policy::Mode::Off))
        };
        // The home's `off` is final, whatever a project sets.
        let by_home = key.name == "context_editing.mode" && sources.iter().filter(is_home).any(is_off);
        let counts = |read: &&SourceLayers| if by_home { is_home(read) } else { !self.waits(&read.0.path, &key.name) };
        let place = place(sources.iter().filter(counts), &key.name);
        self.push(key, value, place);
    }

    fn artifacts(&mut self, in_force: &Value, sources: &[SourceLayers]) {
        let about = "patterns of this artifact";
        for (name, artifact) in in_force[EDITING]["artifacts"].as_object().into_iter().flatten() {
            let mut value = artifact.clone();
            if let Value::Object(patterns) = &mut value {
                patterns.retain(|_, patterns| patterns.as_array().is_some_and(|list| !list.is_empty()));
            }
            let (from, line) = place(sources.iter(), &joined("context_editing.artifacts", name));
            let key = format!("context_editing.artifacts.{name}");
            self.values.push(ValueView { key, value, from, line, about });
        }
    }

    fn provider(&mut self, key: &Key, sources: &[SourceLayers], folder: &Path) {
        let Some(name) = key.name.strip_prefix(PROVIDER).and_then(|rest| rest.strip_prefix('.')) else { return };
        if name.starts_with(PROJECT_MEMBER) {
            return;
        }
        let mut found = (key.default.clone(), (DEFAULT.to_owned(), None));
        for (source, layer) in sources {
            let own = source.path.parent().filter(|_| source.is_of_project);
            // A section for a project applies there, and the deeper one is stronger.
            let depth = |path: &[String]| match path {
                [_, _, projects, project, rest @ ..] if projects == PROJECT_MEMBER && rest.join(".") == name => {
                    let project = Path::new(project);
                    let counts = folder.starts_with(project) && own.is_none_or(|own| project.starts_with(own));
                    counts.then(|| project.components().count())
                }
                [_, _, rest @ ..] => (rest.join(".") == name).then_some(0),
                _ => None,
            };
            let entries = layer.iter().flat_map(|layer| &layer.entries).filter(|entry| entry.is_in(PROVIDER));
            let entries = entries.filter(|entry| !self.waits(&source.path, &entry.key()));
            let strongest =
                entries.filter_map(|entry| Some((depth(&entry.path)?, entry))).max_by_key(|(depth, _)| *depth);
            if let Some((_, entry)) = strongest {
                found = (entry.value.clone(), (source.path.display().to_string(), Some(entry.line)));
            }
        }
        self.push(key, found.0, found.1);
    }

    fn daemon(&mut self, key: &Key, sources: &[SourceLayers], flags: &Flags, environment: &Environment) {
        let of_user = sources.iter().filter(|(source, _)| source.origin == Origin::User);
        let entries = of_user.flat_map(|(source, layer)| {
            let entries = layer.iter().flat_map(|layer| &layer.entries);
            entries.map(move |entry| (entry, (source.path.display().to_string(), Some(entry.line))))
        });
        if let [table, "*", field] = key.name.split('.').collect::<Vec<_>>()[..] {
            for (entry, (from, line)) in entries {
                let [section, name, last] = entry.path.as_slice() else { continue };
                if section == table && last == field {
                    let value = shown(key, entry.value.clone());
                    let key = format!("{table}.\"{name}\".{field}");
                    self.values.push(ValueView { key, value, from, line, about: "" });
                }
            }
            return;
        }
        let by_flag = flags.listen.filter(|_| key.name == "listen.address");
        let by_flag = by_flag.map(|address| (json!(address.to_string()), ("--listen".to_owned(), None)));
        let variable = match key.name.as_str() {
            "listen.address" => Some(env::LISTEN),
            "upstream.url" => Some(env::UPSTREAM),
            "store.url" => Some(env::STORE),
            "store.password_file" => Some(env::STORE_PASSWORD_FILE),
            "upstream.no_proxy" => Some(env::NO_PROXY),
            "upstream.proxy" => {
                let all = [env::HTTPS_PROXY, env::HTTP_PROXY, env::ALL_PROXY];
                all.into_iter().find(|variable| environment.get(*variable).is_some())
            }
            _ => None,
        };
        let by_variable = variable
            .and_then(|variable| Some((json!(environment.text(variable)?), (variable.name().to_owned(), None))));
        let mut by_file = entries.filter(|(entry, _)| entry.key() == key.name);
        let by_file = by_file.next().map(|(entry, place)| (entry.value.clone(), place));
        let usual = || (key.default.clone(), (DEFAULT.to_owned(), None));
        let (value, place) = by_flag.or(by_variable).or(by_file).unwrap_or_else(usual);
        self.push(key, value, place);
    }

    fn push(&mut self, key: &Key, value: Value, (from, line): Place) {
        let value = shown(key, value);
        self.values.push(ValueView { key: key.name.clone(), value, from, line, about: key.about() });
    }

    fn skills(&mut self, places: &Places, folder: &Path) {
        for (name, source) in places.skills(Some(folder)) {
            let layer = source.read();
            self.remarks(&source.path, layer.as_ref());
            let Some(editing) = layer.as_ref().and_then(Layer::editing) else { continue };
            let waits = self.waits(&source.path, "context_editing.clear_after_phases");
            let phases = editing.clear_after_phases.clone().filter(|_| !waits);
            let artifacts = editing.preserve_artifacts.clone();
            if phases.is_some() || artifacts.is_some() || !editing.artifacts.is_empty() {
                self.skills.push(SkillView {
                    name,
                    path: source.path,
                    clear_after_phases: phases.unwrap_or_default(),
                    preserve_artifacts: artifacts.unwrap_or_default(),
                });
            }
        }
    }

    /// Adds notes about settings that are valid alone and odd together.
    fn relations(&mut self, settings: &ctx_core::policy::Settings) {
        let mut note = |key: &str, message: String| {
            self.notes.push(Note { file: None, line: None, key: Some(format!("context_editing.{key}")), message });
        };
        let (threshold, target) = (settings.compact_threshold_percent, settings.target(false));
        if target < settings.target_percent {
            note("target_percent", format!("it must be well below the threshold of {threshold} %; using {target} %"));
        }
        if settings.threshold_with_provider_percent < threshold {
            let message = format!("it is below `compact_threshold_percent`; using {threshold} %");
            note("threshold_with_provider_percent", message);
        }
        for name in settings.preserve_artifacts.iter().filter(|name| !settings.artifacts.contains_key(*name)) {
            let near = nearest(name, settings.artifacts.keys().map(String::as_str));
            let near = near.first().map(|near| format!(" Did you mean `{near}`?")).unwrap_or_default();
            let message =
                format!("`{name}` is not defined, so it matches every file, command and tool with that name.{near}");
            note("preserve_artifacts", message);
        }
        for name in settings.artifacts.keys().filter(|name| !settings.preserve_artifacts.contains(name)) {
            note("artifacts", format!("`{name}` is defined but not in `preserve_artifacts`, so it is not preserved"));
        }
    }
}

/// A value, unless it may contain a secret.
fn shown(key: &Key, value: Value) -> Value {
    if key.hides(&value) { json!("(set, not shown)") } else { value }
}

/// The strongest of these sources that sets a key of the automatic editor.
fn place<'r>(sources: impl DoubleEndedIterator<Item = &'r SourceLayers>, key: &str) -> Place {
    let at = |(source, layer): &SourceLayers| {
        let layer = layer.as_ref().filter(|layer| layer.editing().is_some())?;
        Some((source.path.display().to_string(), Some(layer.line(key)?)))
    };
    sources.rev().find_map(at).unwrap_or_else(|| (DEFAULT.to_owned(), None))
}
