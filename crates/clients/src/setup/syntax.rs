//! The syntax of a settings file: one interface to read, set and remove an entry of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::jsonc::splice::Draft;
use super::jsonc::{Broken, Document};
use super::{env_lines, toml, yaml};

/// The format of a settings file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Syntax {
    /// JSON, possibly with comments and trailing commas.
    #[default]
    Json,
    Toml,
    /// YAML whose root is a block mapping; only its root keys are changed.
    Yaml,
    /// Lines of `NAME=value`.
    Env,
}

/// An entry of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its value, if it is comparable.
    pub value: Option<Value>,
    /// Its bytes.
    pub raw: String,
}

impl Syntax {
    /// Whether this is the syntax of journals without one.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Finds the entry at a path. An empty file has none.
    pub fn find(self, text: &str, path: &[String]) -> Result<Option<Entry>, Broken> {
        if is_blank(text) {
            return Ok(None);
        }
        match self {
            Self::Json => {
                let document = Document::read(text)?;
                let found = document.find(path);
                Ok(found.map(|node| Entry { value: document.get(path), raw: document.raw(node).to_owned() }))
            }
            Self::Toml => toml::find(text, path),
            Self::Yaml => yaml::find(text, path),
            Self::Env => Ok(env_lines::find(text, path)),
        }
    }

    /// Sets the entry at a path. Returns the section created for it, if any.
    pub fn set(self, draft: &mut Draft, path: &[String], value: &Value) -> Result<Option<Vec<String>>, Broken> {
        match self {
            Self::Json => draft.set(path, value),
            Self::Toml => toml::set(draft, path, value),
            Self::Yaml => yaml::set(draft, path, value).map(|()| None),
            Self::Env => {
                env_lines::set(draft, path, value);
                Ok(None)
            }
        }
    }

    /// Replaces the value at a path with these bytes.
    pub fn put_back(self, draft: &mut Draft, path: &[String], raw: &str) -> Result<(), Broken> {
        match self {
            Self::Json => draft.put_back(path, raw),
            Self::Toml => toml::put_back(draft, path, raw),
            Self::Yaml => yaml::put_back(draft, path, raw),
            Self::Env => {
                env_lines::put_back(draft, path, raw);
                Ok(())
            }
        }
    }

    /// Removes the entry at a path with its line.
    pub fn remove(self, draft: &mut Draft, path: &[String]) -> Result<(), Broken> {
        match self {
            Self::Json => draft.remove(path),
            Self::Toml => toml::remove(draft, path),
            Self::Yaml => yaml::remove(draft, path),
            Self::Env => {
                env_lines::remove(draft, path);
                Ok(())
            }
        }
    }

    /// Whether a file is empty, so that it can be removed if it was created by `ctx`.
    pub fn is_empty(self, text: &str) -> bool {
        match self {
            Self::Json => {
                serde_json::from_str::<Value>(text).is_ok_and(|value| value == Value::Object(Default::default()))
            }
            _ => is_blank(text),
        }
    }
}

fn is_blank(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim().is_empty()
}
