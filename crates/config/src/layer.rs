//! The settings of one source: every key with its value and line, and all errors.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde_json::Value;

use crate::sections::{Config, ContextEditing};
use crate::trust::Fingerprint;

/// The section of the automatic editor.
pub const EDITING: &str = "context_editing";
/// Its section about the provider.
pub const PROVIDER: &str = "context_editing.provider";

/// The kind of a source, which determines its trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The `ctx.toml` of the home, or a file named by flag or variable.
    User,
    /// The `ctx.toml` of a project, which may come from others.
    Project,
    /// The project's YAML file. It also belongs to another program, so unknown keys are not errors.
    Yaml,
    /// A skill, which can only add.
    Skill,
}

/// A message about a line of a source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Remark {
    /// 0 if it concerns the whole file.
    pub line: usize,
    pub key: String,
    pub words: String,
}

impl Remark {
    /// A remark about the section of the automatic editor.
    pub fn new(line: usize, words: impl Into<String>) -> Remark {
        Remark { line, key: EDITING.to_owned(), words: words.into() }
    }

    /// The message with its file and line.
    pub fn at(&self, path: &Path) -> String {
        match self.line {
            0 => format!("{}: {}", path.display(), self.words),
            line => format!("{}, line {line}: {}", path.display(), self.words),
        }
    }
}

/// One key set by a source.
#[derive(Clone, PartialEq)]
pub struct Entry {
    pub path: Vec<String>,
    pub line: usize,
    pub value: Value,
}

/// Omits the value, which may be a secret.
impl fmt::Debug for Entry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} in line {}", self.key(), self.line)
    }
}

impl Entry {
    /// The key as TOML spells it.
    pub fn key(&self) -> String {
        self.path.iter().fold(String::new(), |section, name| joined(&section, name))
    }

    /// Whether the key is this one, or in this section.
    pub fn is_in(&self, section: &str) -> bool {
        self.key().strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// The value on one line.
    pub fn in_words(&self) -> String {
        in_words(&self.value)
    }
}

/// A name after its section, quoted if TOML requires it. Model names are always quoted, because many contain a dot.
pub fn joined(section: &str, name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let dot = if section.is_empty() { "" } else { "." };
    match !name.is_empty() && section != "models" && name.chars().all(is_bare) {
        true => format!("{section}{dot}{name}"),
        false => format!("{section}{dot}\"{name}\""),
    }
}

/// A value as a person would write it on one line.
pub fn in_words(value: &Value) -> String {
    let list = |items: &mut dyn Iterator<Item = String>| items.collect::<Vec<_>>().join(", ");
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => list(&mut items.iter().map(in_words)),
        Value::Object(members) => {
            list(&mut members.iter().map(|(name, value)| format!("{name} = {}", in_words(value))))
        }
        other => other.to_string(),
    }
}

/// The settings of one source.
#[derive(Clone, Debug, Default)]
pub struct Layer {
    /// All valid keys.
    pub entries: Vec<Entry>,
    /// The lines of sections with user-defined names.
    pub sections: BTreeMap<String, usize>,
    /// The keys as a typed value.
    pub config: Config,
    /// Errors in `[context_editing]`: a single one disables the section.
    pub wrong: Vec<Remark>,
    /// Errors in `[context_editing.provider]`, likewise.
    pub provider_wrong: Vec<Remark>,
    /// Errors in other sections: a single one prevents the daemon from starting.
    pub fatal: Vec<Remark>,
    /// Keys that are ignored without harm.
    pub ignored: Vec<Remark>,
    /// Identifies the content of a project's file; none for the user's own file.
    pub print: Option<Fingerprint>,
}

impl Layer {
    /// A source that cannot be read.
    pub fn unreadable(remark: Remark) -> Layer {
        Layer { wrong: vec![remark], ..Layer::default() }
    }

    /// An ignored source, with the reason.
    pub fn ignored(remark: Remark) -> Layer {
        Layer { ignored: vec![remark], ..Layer::default() }
    }

    /// The settings of the automatic editor, if they are valid.
    pub fn editing(&self) -> Option<&ContextEditing> {
        self.wrong.is_empty().then_some(&self.config.context_editing)
    }

    /// The line of a key, or of a section with a user-defined name.
    pub fn line(&self, key: &str) -> Option<usize> {
        let entry = self.entries.iter().find(|entry| entry.key() == key);
        entry.map(|entry| entry.line).or_else(|| self.sections.get(key).copied())
    }

    /// All errors that are not fatal.
    pub fn all_wrong(&self, path: &Path) -> Vec<String> {
        let said = |remarks: &[Remark], section: &str| -> Vec<String> {
            remarks.iter().map(|remark| format!("{}; its [{section}] section is ignored", remark.at(path))).collect()
        };
        [said(&self.wrong, EDITING), said(&self.provider_wrong, PROVIDER)].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_spelt_as_in_toml_and_a_value_is_not_printed() {
        let entry = |path: &[&str]| Entry {
            path: path.iter().map(|&name| name.to_owned()).collect(),
            line: 3,
            value: Value::from("hush"),
        };
        let folder = entry(&["context_editing", "provider", "projects", "/srv/a.b", "enabled"]);
        assert_eq!(folder.key(), "context_editing.provider.projects.\"/srv/a.b\".enabled");
        assert_eq!(entry(&["models", "gpt-6", "input"]).key(), "models.\"gpt-6\".input");
        let proxy = entry(&["upstream", "proxy"]);
        assert!(proxy.is_in("upstream") && proxy.is_in("upstream.proxy") && !proxy.is_in("up"));
        assert_eq!(format!("{proxy:?}"), "upstream.proxy in line 3");
    }
}
