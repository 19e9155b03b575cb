//! Reads a file into a layer. The schema of the sections defines the keys and their values; each value is then parsed
//! by itself, so that every error has its line.

use ctx_core::policy::protect;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::check;
use crate::layer::{EDITING, Entry, Layer, Origin, PROVIDER, Remark, joined};
use crate::schema::SCHEMA;
use crate::sections::Config;
use crate::tree::{Data, Member, Node};

/// The longest list or section. Hand-written ones are shorter, and a client waits while it is read.
const MOST: usize = 500;
/// The keys that a skill may set.
const OF_SKILLS: [&str; 3] = ["clear_after_phases", "preserve_artifacts", "artifacts"];
/// The signals and their fixed names.
const SIGNALS: [(&str, &str); 2] =
    [("context_near_limit", "CONTEXT_NEAR_LIMIT"), ("compaction_complete", "COMPACTION_COMPLETE")];

/// Reads a whole document.
pub fn read(document: &Node, origin: Origin) -> Layer {
    let mut reader = Reader { layer: Layer::default(), wrong: Vec::new(), origin };
    reader.section(&SCHEMA, document, &[]);
    reader.check_together(document);
    reader.finish()
}

/// The keys as a typed tree. A tree of one key yields the error of that key.
fn typed<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> Result<Config, serde_json::Error> {
    let mut root = Map::new();
    for entry in entries {
        let Some((last, sections)) = entry.path.split_last() else { continue };
        let table = sections
            .iter()
            .try_fold(&mut root, |table, name| table.entry(name.clone()).or_insert_with(|| json!({})).as_object_mut());
        table.map(|table| table.insert(last.clone(), entry.value.clone()));
    }
    serde_json::from_value(Value::Object(root))
}

struct Reader {
    layer: Layer,
    wrong: Vec<Remark>,
    origin: Origin,
}

impl Reader {
    fn section(&mut self, schema: &Value, node: &Node, path: &[String]) {
        let shown = path.iter().fold(String::new(), |section, name| joined(&section, name));
        for entry in self.members(node, &shown) {
            let key = joined(&shown, &entry.key);
            let known = schema["properties"].get(&entry.key);
            if self.is_special(entry, &key, known.is_some()) {
                continue;
            }
            // Where keys and user-defined names are mixed, only sections have user-defined names.
            let is_mixed = schema["properties"].is_object() && !matches!(entry.value.data, Data::Table(_));
            let inner = known.or_else(|| check::chosen(schema).filter(|_| !is_mixed));
            let path = [path, std::slice::from_ref(&entry.key)].concat();
            match inner {
                Some(inner) if check::is_section(inner) => {
                    if known.is_none() {
                        self.layer.sections.insert(key, entry.line);
                    }
                    self.section(inner, &entry.value, &path);
                }
                Some(inner) => self.value(inner, entry, path, &key),
                None => self.unknown(schema, entry, &shown),
            }
        }
    }

    /// The effective members of a section.
    fn members<'n>(&mut self, node: &'n Node, shown: &str) -> Vec<&'n Member> {
        let members = match &node.data {
            Data::Table(members) => members,
            Data::Nothing => return Vec::new(),
            _ => {
                self.wrong(node.line, shown, format!("`[{shown}]` must be a section, not {}", node.kind()));
                return Vec::new();
            }
        };
        if members.len() > MOST {
            self.wrong(node.line, shown, format!("`{shown}` may contain at most {MOST}, not {}", members.len()));
            return Vec::new();
        }
        let mut taken: Vec<&Member> = Vec::new();
        for member in members {
            let key = joined(shown, &member.key);
            if let Some(before) = taken.iter().find(|before| before.key == member.key) {
                self.wrong(member.line, &key, format!("`{key}` is set twice, first in line {}", before.line));
            } else if member.value.data == Data::Nothing {
                self.ignore(member.line, &key, format!("`{key}` is empty"));
            } else {
                taken.push(member);
            }
        }
        taken
    }

    fn value(&mut self, schema: &Value, member: &Member, path: Vec<String>, key: &str) {
        let node = &member.value;
        if let Data::List(items) = &node.data
            && items.len() > MOST
        {
            return self.wrong(node.line, key, format!("`{key}` may contain at most {MOST}, not {}", items.len()));
        }
        let value = trimmed(node.as_json());
        if !check::fits(schema, &value) {
            let (line, words) = check::complaint(schema, node);
            return self.wrong(line, key, format!("`{key}` {words}"));
        }
        let entry = Entry { path, line: member.line, value };
        match typed([&entry]) {
            Ok(_) => self.layer.entries.push(entry),
            Err(why) => {
                let why = why.to_string();
                let colon = if why.starts_with("must ") { "" } else { ":" };
                self.wrong(node.line, key, format!("`{key}`{colon} {why}"));
            }
        }
    }

    /// Handles keys with special rules in YAML files and skills.
    fn is_special(&mut self, member: &Member, key: &str, is_known: bool) -> bool {
        let Some(name) = key.strip_prefix(EDITING).and_then(|rest| rest.strip_prefix('.')) else { return false };
        if self.origin == Origin::Yaml && name == "runtime_signals" {
            self.signals(&member.value, key);
            return true;
        }
        // The provider's editing is set in TOML only.
        if self.origin == Origin::Yaml && name == "provider" {
            self.ignore(member.line, key, format!("`{key}` is unknown to this version and ignored"));
            return true;
        }
        let is_refused = self.origin == Origin::Skill && !name.contains('.') && !OF_SKILLS.contains(&name);
        if is_refused && is_known {
            self.ignore(member.line, key, "a skill can only add phases and artifacts; this is ignored");
        }
        let is_taken = name.strip_prefix("artifacts.").is_some_and(|name| protect::KNOWN.contains(&name));
        if self.origin == Origin::Skill && is_taken {
            self.ignore(member.line, key, "a skill cannot redefine an artifact; this is ignored");
            return true;
        }
        is_refused && is_known
    }

    /// Signals have fixed names here, and are sent on every clearing.
    fn signals(&mut self, section: &Node, shown: &str) {
        for member in self.members(section, shown) {
            let key = joined(shown, &member.key);
            let usual = SIGNALS.iter().find(|(key, _)| *key == member.key).map(|(_, name)| *name);
            match (usual, &member.value.data) {
                (Some(name), Data::Text(text)) if name == text => {}
                (Some(name), _) => self.ignore(member.line, &key, format!("the signal is always called {name}")),
                (None, _) => self.ignore(member.line, &key, format!("`{key}` is not used")),
            }
        }
    }

    /// Reports an unknown key: an error where a misspelt figure would be believed, unless the file also belongs to
    /// others.
    fn unknown(&mut self, schema: &Value, member: &Member, shown: &str) {
        let key = joined(shown, &member.key);
        let known: Vec<&str> =
            schema["properties"].as_object().into_iter().flatten().map(|(name, _)| &**name).collect();
        let is_figure = shown.starts_with(EDITING) || shown.starts_with("models");
        if is_figure && matches!(self.origin, Origin::User | Origin::Project) {
            let near = check::did_you_mean(&member.key, "", &known);
            return self.wrong(
                member.line,
                &key,
                format!("`{key}` is unknown{near}; known keys: {}", known.join(", ")),
            );
        }
        let section = if shown.is_empty() || is_figure { String::new() } else { format!("{shown}.") };
        let near = check::did_you_mean(&member.key, &section, &known);
        self.ignore(member.line, &key, format!("`{key}` is unknown to this version and ignored{near}"));
    }

    /// Checks names, and keys of one section together.
    fn check_together(&mut self, document: &Node) {
        let config = typed(&self.layer.entries).unwrap_or_default();
        for (section, rule) in [
            ("context_editing.artifacts", artifact as fn(&str, &Config) -> Option<String>),
            ("context_editing.provider.projects", project),
            ("upstream", upstream),
            ("models", model),
        ] {
            let Some(Data::Table(members)) = document.under(section).map(|node| &node.data) else { continue };
            for member in members.iter().filter(|member| matches!(member.value.data, Data::Table(_))) {
                let key = joined(section, &member.key);
                if let Some(words) = rule(&member.key, &config).filter(|_| !self.is_incomplete(&key)) {
                    self.wrong(member.line, &key, format!("`{key}`{words}"));
                }
            }
        }
        let fallback = self.layer.entries.iter().find(|entry| entry.key() == "context_editing.enabled").cloned();
        let has_mode = self.layer.line("context_editing.mode").is_some();
        if let Some(entry) = fallback.filter(|_| !has_mode) {
            let mode = if entry.value == json!(true) { "on" } else { "off" };
            let path = vec![EDITING.to_owned(), "mode".to_owned()];
            self.layer.entries.push(Entry { path, value: json!(mode), ..entry });
        }
    }

    /// Whether a section is incomplete here, because one of its keys is invalid or it is ignored.
    fn is_incomplete(&self, section: &str) -> bool {
        let is_in = |remark: &Remark| remark.key.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'));
        self.wrong.iter().any(is_in) || self.layer.ignored.iter().any(|remark| remark.key == section)
    }

    fn finish(mut self) -> Layer {
        if matches!(self.origin, Origin::Project | Origin::Yaml) {
            self.distrust();
        }
        self.wrong.sort();
        self.layer.ignored.sort();
        let mut layer = self.layer;
        for remark in self.wrong {
            match remark.key.as_str() {
                key if key.starts_with(PROVIDER) => layer.provider_wrong.push(remark),
                key if key.starts_with(EDITING) => layer.wrong.push(remark),
                _ => layer.fatal.push(remark),
            }
        }
        layer.entries.retain(|entry| layer.provider_wrong.is_empty() || !entry.is_in(PROVIDER));
        layer.entries.sort_by_key(|entry| entry.line);
        layer.config = typed(&layer.entries).unwrap_or_default();
        layer
    }

    /// Removes keys that would let a project run commands, receive signals, or write files elsewhere.
    fn distrust(&mut self) {
        let entries = std::mem::take(&mut self.layer.entries);
        for entry in entries {
            let key = entry.key();
            let is_outside = entry.value.as_str().is_some_and(|path| Path::new(path).has_root());
            let wants = match key.strip_prefix("context_editing.") {
                Some("hook") => "run commands on this machine",
                Some("webhook") => "send requests to programs on this machine",
                Some("ledger") if is_outside => "write files outside of it",
                _ => {
                    self.layer.entries.push(entry);
                    continue;
                }
            };
            let words = format!(
                "`{key}` is ignored: it would let a project {wants}. To allow that, set it in the home's ctx.toml"
            );
            self.ignore(entry.line, &key, words);
        }
    }

    fn wrong(&mut self, line: usize, key: &str, words: impl Into<String>) {
        self.wrong.push(Remark { line, key: key.to_owned(), words: words.into() });
    }

    fn ignore(&mut self, line: usize, key: &str, words: impl Into<String>) {
        self.layer.ignored.push(Remark { line, key: key.to_owned(), words: words.into() });
    }
}

/// Trims texts and removes repeated items.
fn trimmed(value: Value) -> Value {
    match value {
        Value::String(text) => json!(text.trim()),
        Value::Array(items) => {
            let mut kept: Vec<Value> = Vec::new();
            for item in items.into_iter().map(trimmed) {
                if !kept.contains(&item) {
                    kept.push(item);
                }
            }
            Value::Array(kept)
        }
        other => other,
    }
}

fn artifact(name: &str, config: &Config) -> Option<String> {
    let is_empty = config.context_editing.artifacts.get(name).is_none_or(|patterns| *patterns == Default::default());
    is_empty.then(|| " needs at least one of tools, paths, commands, texts".to_owned())
}

fn project(folder: &str, _: &Config) -> Option<String> {
    let why = " must be an absolute path, such as \"/home/me/project\"";
    (!Path::new(folder).is_absolute()).then(|| why.to_owned())
}

fn upstream(name: &str, _: &Config) -> Option<String> {
    (!crate::upstreams::is_name(name)).then(|| format!(" is not a valid upstream name: {}", crate::upstreams::NAMES))
}

fn model(name: &str, config: &Config) -> Option<String> {
    if name.trim().is_empty() {
        return Some(": the name of the model is empty".to_owned());
    }
    let keys = config.models.get(name)?;
    let set = ctx_models::Models::listed().clone().set(name, &keys.0);
    set.err().map(|why| format!(": {why}"))
}

#[cfg(test)]
mod tests;
