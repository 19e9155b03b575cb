//! What is in force and where it was said: the answer of `ctx config check`.

use std::fs;
use std::path::{Path, PathBuf};

use ctx_composer::automatic::Rules;
use serde::Serialize;
use serde_json::{Value, json};
use toml::de::DeTable;

use super::context_editing::tree::{Data, Node, entries};
use super::context_editing::voices::{self, Voice};
use super::context_editing::{LiveRules, Places, Remark, Said, Source, Speaker};
use super::keys::{self, Key, PROVIDER};
use super::trust::Trust;
use super::{Flags, Settings};
use crate::env::{self, Environment};
use crate::error::ConfigError;
use crate::home::Home;

#[derive(Debug, Serialize)]
pub struct Explained {
    /// Nothing is wrong.
    pub healthy: bool,
    /// A daemon would start like this.
    pub starts: bool,
    pub project: PathBuf,
    /// The weaker first.
    pub files: Vec<FileView>,
    pub values: Vec<ValueView>,
    /// Those that say something.
    pub skills: Vec<SkillView>,
    pub wrong: Vec<Told>,
    /// Settings of the project that take effect once a person trusts it.
    pub waiting: Vec<Told>,
    /// Worth knowing, and nothing is broken.
    pub notes: Vec<Told>,
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

/// What a skill adds while it is active.
#[derive(Debug, Serialize)]
pub struct SkillView {
    pub name: String,
    pub path: PathBuf,
    pub clear_after_phases: Vec<String>,
    pub preserve_artifacts: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct Told {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    pub message: String,
}

/// A `ctx.toml` as it stands.
struct File {
    path: PathBuf,
    is_project: bool,
    root: Node,
    /// What it says of the provider is right.
    is_right: bool,
    /// Lines of what it says of the provider that do not count yet.
    waiting: Vec<usize>,
}

pub fn explain(flags: &Flags, environment: &Environment, home: &Home, folder: &Path) -> Explained {
    let places = Places::new(flags, environment, home);
    let mut explained = Explained {
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
    let said = explained.look_at_files(&places, folder);
    explained.look_at_trust(&places, folder, &said);
    let files = explained.read_tomls(&said);
    explained.load((flags, environment, home), folder, &said);

    let rules = LiveRules::new(flags, environment, home);
    let settings = rules.of(Some(folder), &[]);
    let in_force = serde_json::to_value(&*settings).unwrap_or_default();
    for key in keys::all() {
        let own = key.name.strip_prefix("context_editing.").filter(|_| !key.name.starts_with(PROVIDER));
        match own {
            // Another word for the mode.
            Some("enabled") => {}
            Some("artifacts.*.tools") => explained.artifacts(&in_force, &said),
            Some(name) if name.starts_with("artifacts.") => {}
            Some(name) => explained.own(&key, name, &in_force, &said),
            None if key.name.starts_with(PROVIDER) => explained.provider(&key, &files, folder),
            None => explained.other(&key, &files, flags, environment),
        }
    }
    explained.look_at_skills(&places, folder);
    explained.relations(&settings);
    explained.healthy = explained.wrong.is_empty();
    explained
}

impl Explained {
    fn look_at_files(&mut self, places: &Places, folder: &Path) -> Vec<(Source, Option<Said>)> {
        let sources = std::iter::once(places.general()).chain(places.project(folder));
        let said: Vec<(Source, Option<Said>)> = sources.map(|source| (source.clone(), source.read())).collect();
        for (source, said) in &said {
            let state = match said {
                None => State::Missing,
                Some(said) if said.wrong.is_empty() => State::Read,
                Some(_) => State::Wrong,
            };
            self.files.push(FileView { path: source.path.clone(), state });
            self.tell(&source.path, said.as_ref());
        }
        said
    }

    /// What waits until a person trusts the project.
    fn look_at_trust(&mut self, places: &Places, folder: &Path, said: &[(Source, Option<Said>)]) {
        let trust = Trust::load(places.home()).unwrap_or_else(|failure| {
            self.wrong.push(self.placed(&failure));
            Trust::default()
        });
        let skills = places.skills(Some(folder)).into_iter().map(|(_, source)| (source.clone(), source.read()));
        let all: Vec<(Source, Option<Said>)> = said.iter().cloned().chain(skills).collect();
        let voices: Vec<Voice<'_>> = all.iter().map(|(source, said)| Voice { source, said: said.as_ref() }).collect();
        self.waiting.extend(voices::waiting(folder, &voices, &trust).into_iter().map(|setting| Told {
            message: format!("`{}` = {} waits until you trust this project", setting.key, setting.value),
            file: Some(setting.file),
            line: Some(setting.line),
            key: Some(setting.key),
        }));
    }

    /// Whether a source's key is not in force yet.
    fn waits(&self, path: &Path, key: &str) -> bool {
        self.waiting.iter().any(|told| told.file.as_deref() == Some(path) && told.key.as_deref() == Some(key))
    }

    fn tell(&mut self, path: &Path, said: Option<&Said>) {
        let told = |remark: &Remark| Told {
            file: Some(path.to_owned()),
            line: Some(remark.line).filter(|line| *line > 0),
            key: Some(remark.key.clone()),
            message: remark.words.clone(),
        };
        self.wrong.extend(said.iter().flat_map(|said| &said.wrong).map(told));
        self.notes.extend(said.iter().flat_map(|said| &said.ignored).map(told));
    }

    /// The files in TOML as trees, the weaker first.
    fn read_tomls(&mut self, said: &[(Source, Option<Said>)]) -> Vec<File> {
        let mut files = Vec::new();
        let is_toml = |speaker| matches!(speaker, Speaker::Person | Speaker::Project);
        for (source, said) in said.iter().filter(|(source, _)| is_toml(source.speaker)) {
            let Ok(text) = fs::read_to_string(&source.path) else { continue };
            let Ok(document) = DeTable::parse(&text) else { continue };
            let line = |span: std::ops::Range<usize>| {
                text.as_bytes().iter().take(span.start).filter(|byte| **byte == b'\n').count() + 1
            };
            let root = Node { line: 1, data: Data::Table(entries(document.get_ref(), &line)) };
            let wrong = said.as_ref().map(|said| said.provider_wrong.clone()).unwrap_or_default();
            let told: Vec<Told> =
                wrong.iter().map(|why| self.placed(&ConfigError::new("config", why.clone()))).collect();
            self.wrong.extend(told);
            let here = |told: &&Told| told.file.as_ref() == Some(&source.path);
            let waiting = self.waiting.iter().filter(here).filter_map(|told| told.line).collect();
            let is_project = source.speaker == Speaker::Project;
            // A file that is not believed says nothing.
            let is_right = wrong.is_empty() && (!is_project || said.as_ref().is_some_and(|said| said.print.is_some()));
            files.push(File { path: source.path.clone(), is_project, root, is_right, waiting });
        }
        files
    }

    /// Whatever else is wrong, or not known.
    fn load(
        &mut self,
        (flags, environment, home): (&Flags, &Environment, &Home),
        folder: &Path,
        said: &[(Source, Option<Said>)],
    ) {
        match Settings::load(flags, environment, home, folder) {
            Ok(settings) => {
                let ignored = |(source, said): &(Source, Option<Said>)| -> Vec<String> {
                    let remarks = said.iter().flat_map(|said| &said.ignored);
                    remarks.map(|remark| remark.at(&source.path)).collect()
                };
                // What is ignored in the project is told of already.
                let known: Vec<String> = said.iter().flat_map(ignored).collect();
                let new = settings.remarks.iter().filter(|remark| !known.contains(remark));
                let notes: Vec<Told> =
                    new.map(|remark| self.placed(&ConfigError::new("config", remark.clone()))).collect();
                self.notes.extend(notes);
            }
            Err(failure) => {
                self.starts = false;
                let told = self.placed(&failure);
                // A file that cannot be read at all is told of already.
                let is_known = self
                    .wrong
                    .iter()
                    .any(|known| known.file.is_some() && (&known.file, known.line) == (&told.file, told.line));
                if !is_known {
                    self.wrong.push(told);
                }
            }
        }
        for file in &mut self.files {
            let is_wrong = self.wrong.iter().any(|told| told.file.as_ref() == Some(&file.path));
            if is_wrong {
                file.state = State::Wrong;
            }
        }
    }

    /// A failure that names its file and line at the beginning.
    fn placed(&self, failure: &ConfigError) -> Told {
        for FileView { path, .. } in &self.files {
            let rest = failure.message.strip_prefix(&format!("{}, line ", path.display()));
            let Some((line, message)) = rest.and_then(|rest| rest.split_once(": ")) else { continue };
            return Told { file: Some(path.clone()), line: line.parse().ok(), key: None, message: message.to_owned() };
        }
        let hint = failure.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
        Told { file: None, line: None, key: None, message: format!("{}{hint}", failure.message) }
    }

    fn own(&mut self, key: &Key, name: &str, in_force: &Value, said: &[(Source, Option<Said>)]) {
        let value = in_force.pointer(&format!("/{}", name.replace('.', "/"))).cloned().unwrap_or_default();
        // What a person switched off at home is off, whatever a project says.
        let at_home: Vec<_> = said.iter().filter(|(source, _)| source.speaker == Speaker::Person).cloned().collect();
        let is_off = |(_, said): &(Source, Option<Said>)| {
            said.as_ref().and_then(Said::layer).is_some_and(|layer| layer.mode == Some(ctx_core::automatic::Mode::Off))
        };
        let counts = |(source, _): &&(Source, Option<Said>)| !self.waits(&source.path, &key.name);
        let in_force: Vec<_> = said.iter().filter(counts).cloned().collect();
        let place = match name == "mode" && at_home.iter().any(is_off) {
            true => said_where(&at_home, name),
            false => said_where(&in_force, name),
        };
        self.push(key, value, place);
    }

    fn artifacts(&mut self, in_force: &Value, said: &[(Source, Option<Said>)]) {
        let about = "what this name means";
        for (name, artifact) in in_force["artifacts"].as_object().into_iter().flatten() {
            let mut artifact = artifact.clone();
            if let Value::Object(patterns) = &mut artifact {
                patterns.retain(|_, patterns| patterns.as_array().is_some_and(|list| !list.is_empty()));
            }
            let (from, line) = said_where(said, &format!("artifacts.{name}"));
            let key = format!("context_editing.artifacts.{name}");
            self.values.push(ValueView { key, value: artifact, from, line, about });
        }
    }

    fn provider(&mut self, key: &Key, files: &[File], folder: &Path) {
        let Some(name) = key.name.strip_prefix(PROVIDER).and_then(|rest| rest.strip_prefix('.')) else { return };
        if name.starts_with("projects.") {
            return;
        }
        let mut found: Option<(Value, String, usize)> = None;
        for file in files.iter().filter(|file| file.is_right) {
            let Some(section) = file.root.get("context_editing").and_then(|section| section.value.get("provider"))
            else {
                continue;
            };
            let own = file.path.parent().filter(|_| file.is_project);
            let projects = section.value.get("projects").map(|projects| &projects.value.data);
            let mut deeper: Vec<(&Path, &Node)> = match projects {
                Some(Data::Table(projects)) => {
                    projects.iter().map(|entry| (Path::new(&entry.key), &entry.value)).collect()
                }
                _ => Vec::new(),
            };
            deeper.retain(|(path, _)| folder.starts_with(path) && own.is_none_or(|own| path.starts_with(own)));
            deeper.sort_by_key(|(path, _)| path.components().count());
            for section in std::iter::once(&section.value).chain(deeper.into_iter().map(|(_, section)| section)) {
                if let Some((line, node)) = section.under(name).filter(|(line, _)| !file.waiting.contains(line)) {
                    found = Some((node.as_json(), file.path.display().to_string(), line));
                }
            }
        }
        match found {
            Some((value, from, line)) => self.push(key, value, (from, Some(line))),
            None => self.push(key, key.default.clone(), (DEFAULT.to_owned(), None)),
        }
    }

    fn other(&mut self, key: &Key, files: &[File], flags: &Flags, environment: &Environment) {
        for table in ["models", "upstream"] {
            let Some(field) = key.name.strip_prefix(&format!("{table}.*.")) else { continue };
            for (value, name, from, line) in of_table(files, table, field) {
                let value = if key.hides(&value) { json!("(set, not shown)") } else { value };
                let key = format!("{table}.\"{name}\".{field}");
                self.values.push(ValueView { key, value, from, line: Some(line), about: "" });
            }
            return;
        }
        let by_flag = match key.name.as_str() {
            "listen.address" => flags.listen.map(|address| (json!(address.to_string()), "--listen")),
            _ => None,
        };
        let variable = match key.name.as_str() {
            "listen.address" => Some(env::LISTEN),
            "upstream.url" => Some(env::UPSTREAM),
            "upstream.no_proxy" => Some(env::NO_PROXY),
            "upstream.proxy" => {
                let all = [env::HTTPS_PROXY, env::HTTP_PROXY, env::ALL_PROXY];
                all.into_iter().find(|variable| environment.get(*variable).is_some())
            }
            _ => None,
        };
        let by_variable = variable.and_then(|variable| Some((json!(environment.text(variable)?), variable.name())));
        let mut said: Vec<(Value, (String, Option<usize>))> = files
            .iter()
            .rev()
            .filter(|file| !file.is_project)
            .filter_map(|file| file.root.under(&key.name).map(|found| (file, found)))
            .map(|(file, (line, node))| (node.as_json(), (file.path.display().to_string(), Some(line))))
            .collect();
        // Of several files the stricter one counts.
        match key.name.as_str() {
            "helper.budget_per_day" | "helper.timeout" | "helper.max_chars" => {
                said.sort_by_key(|(value, _)| value.as_u64())
            }
            "helper.titles" => said.sort_by_key(|(value, _)| value != &json!(false)),
            "helper.provider" => said.sort_by_key(|(value, _)| value != &json!("none")),
            "mcp.read_only" => said.sort_by_key(|(value, _)| value != &json!(true)),
            _ => {}
        }
        let named = by_flag.or(by_variable).map(|(value, from)| (value, (from.to_owned(), None)));
        let usual = || (key.default.clone(), (DEFAULT.to_owned(), None));
        let (value, place) = named.or_else(|| said.into_iter().next()).unwrap_or_else(usual);
        self.push(key, value, place);
    }

    fn push(&mut self, key: &Key, value: Value, (from, line): (String, Option<usize>)) {
        let value = if key.hides(&value) { json!("(set, not shown)") } else { value };
        self.values.push(ValueView { key: key.name.clone(), value, from, line, about: key.about });
    }

    fn look_at_skills(&mut self, places: &Places, folder: &Path) {
        for (name, source) in places.skills(Some(folder)) {
            let said = source.read();
            self.tell(&source.path, said.as_ref());
            let Some(layer) = said.as_ref().and_then(Said::layer) else { continue };
            let waits = self.waits(&source.path, "context_editing.clear_after_phases");
            let phases = layer.clear_after_phases.clone().filter(|_| !waits);
            let artifacts = layer.preserve_artifacts.clone();
            if phases.is_some() || artifacts.is_some() || !layer.artifacts.is_empty() {
                self.skills.push(SkillView {
                    name,
                    path: source.path,
                    clear_after_phases: phases.unwrap_or_default(),
                    preserve_artifacts: artifacts.unwrap_or_default(),
                });
            }
        }
    }

    /// What is right by itself and odd together.
    fn relations(&mut self, settings: &ctx_core::automatic::Settings) {
        let mut note = |key: &str, message: String| {
            self.notes.push(Told { file: None, line: None, key: Some(format!("context_editing.{key}")), message });
        };
        let (threshold, target) = (settings.compact_threshold_percent, settings.target(false));
        if target < settings.target_percent {
            note(
                "target_percent",
                format!("it must be well below the threshold of {threshold} %: {target} % is taken"),
            );
        }
        if settings.threshold_with_provider_percent < threshold {
            let message = format!("it is below `compact_threshold_percent`: {threshold} % is taken");
            note("threshold_with_provider_percent", message);
        }
        for name in settings.preserve_artifacts.iter().filter(|name| !settings.artifacts.contains_key(*name)) {
            let known = settings.artifacts.keys().map(String::as_str);
            let near = ctx_core::edit::refusal::nearest(name, known);
            let near = near.first().map(|near| format!(" Did you mean `{near}`?")).unwrap_or_default();
            let message =
                format!("`{name}` is not defined, so it matches every file, command and tool with that name.{near}");
            note("preserve_artifacts", message);
        }
        for name in settings.artifacts.keys().filter(|name| !settings.preserve_artifacts.contains(name)) {
            note("artifacts", format!("`{name}` is defined and not in `preserve_artifacts`, so it is not preserved"));
        }
    }
}

const DEFAULT: &str = "default";

/// The strongest that says it, and counts.
fn said_where(said: &[(Source, Option<Said>)], name: &str) -> (String, Option<usize>) {
    let at = |(source, said): &(Source, Option<Said>)| {
        let said = said.as_ref().filter(|said| said.layer().is_some())?;
        Some((source.path.display().to_string(), Some(*said.lines.get(name)?)))
    };
    said.iter().rev().find_map(at).unwrap_or_else(|| (DEFAULT.to_owned(), None))
}

/// What files say of a field of the tables below one that a user names.
fn of_table(files: &[File], table: &str, field: &str) -> Vec<(Value, String, String, usize)> {
    let mut found: Vec<(Value, String, String, usize)> = Vec::new();
    for file in files.iter().rev().filter(|file| !file.is_project) {
        let Some(Data::Table(named)) = file.root.get(table).map(|table| &table.value.data) else { continue };
        for one in named {
            let Some((line, node)) = one.value.under(field) else { continue };
            if !found.iter().any(|(_, name, ..)| *name == one.key) {
                found.push((node.as_json(), one.key.clone(), file.path.display().to_string(), line));
            }
        }
    }
    found
}
