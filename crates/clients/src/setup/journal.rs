//! The journal of a setup: how to restore each file. It stores only the replaced parts, because settings may hold
//! credentials.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ctx_core::ErrorCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::jsonc::splice::{Draft, Step, take_back};
use super::{Host, SetupError, Syntax};

const VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Journal {
    version: u32,
    pub files: BTreeMap<PathBuf, Original>,
    /// The file of the journal.
    #[serde(skip)]
    path: PathBuf,
}

/// The changes to one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Original {
    /// Whether it existed before.
    pub existed: bool,
    /// Folders created for it, outermost first.
    pub folders: Vec<PathBuf>,
    /// The hash of the file as written.
    pub hash: String,
    pub steps: Vec<Step>,
    #[serde(default, skip_serializing_if = "Syntax::is_default")]
    pub syntax: Syntax,
    /// Empty for a file that belongs to `ctx` as a whole.
    pub entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub path: Vec<String>,
    pub ours: Value,
    /// The replaced text.
    pub before: Option<String>,
    /// The object created for it.
    pub made: Option<Vec<String>>,
}

/// A file without the changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Base {
    pub text: Option<String>,
    /// Entries of `ctx` that stay, because the user has changed them since.
    pub stays: Vec<String>,
}

impl Journal {
    /// Reads the journal of the client with this title.
    pub fn load(path: &Path, title: &str) -> Result<Self, SetupError> {
        let text = match fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self { version: VERSION, files: BTreeMap::new(), path: path.to_owned() });
            }
            Err(error) => return Err(SetupError::file("read", path, error)),
        };
        let damaged = |why: String| {
            SetupError::new(
                ErrorCode::MemoryDamaged,
                format!("{} cannot be read: {why}; nothing was changed", path.display()),
                format!(
                    "it records the values that `ctx install` replaced; remove the entries from {title}'s settings \
                     by hand, then delete it"
                ),
            )
        };
        let journal: Self = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        match journal.version {
            VERSION => Ok(Self { path: path.to_owned(), ..journal }),
            newer => Err(damaged(format!("it has version {newer}, this program supports {VERSION}"))),
        }
    }

    /// Saves the journal before any file is changed, so that a crash loses nothing.
    pub(super) fn save(&self, host: &dyn Host) -> Result<(), SetupError> {
        if self.files.is_empty() {
            return match fs::remove_file(&self.path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(SetupError::file("remove", &self.path, error))
                }
                _ => Ok(()),
            };
        }
        let bytes =
            serde_json::to_vec_pretty(self).map_err(|error| SetupError::file("write", &self.path, error.into()))?;
        host.write_journal(&self.path, &bytes)
    }
}

impl Original {
    pub fn hash_of(text: &str) -> String {
        blake3::hash(text.as_bytes()).to_hex().to_string()
    }

    /// The file without the changes. If it was not touched since, this is byte for byte the original.
    pub fn base(&self, path: &Path, current: Option<&str>) -> Result<Base, SetupError> {
        let Some(current) = current else { return Ok(Base::default()) };
        if Self::hash_of(current) == self.hash
            && let Some(text) = take_back(current, &self.steps)
        {
            return Ok(Base { text: Some(text).filter(|_| self.existed), stays: Vec::new() });
        }
        if self.entries.is_empty() {
            let stays = vec![path.display().to_string()];
            return Ok(Base { text: Some(current.to_owned()), stays });
        }
        self.without_entries(path, current, &[])
    }

    /// The file after an uninstallation. A section named `ctx` that the user has added to stays as a whole, because a
    /// part of it is not valid for the client; with `force`, it goes as a whole.
    pub fn uninstalled(&self, path: &Path, current: Option<&str>, force: bool) -> Result<Base, SetupError> {
        let broken = |broken| SetupError::unreadable(path, &broken);
        let base = self.base(path, current)?;
        let (Some(current), Some(text)) = (current, &base.text) else { return Ok(base) };
        let mut extended: Vec<&[String]> = Vec::new();
        let sections = self.entries.iter().filter_map(|entry| entry.made.as_deref());
        for section in sections.filter(|section| section.last().is_some_and(|name| name == "ctx")) {
            if self.syntax.find(text, section).map_err(broken)?.is_some() {
                extended.push(section);
            }
        }
        if extended.is_empty() {
            return Ok(base);
        }
        if !force {
            return self.without_entries(path, current, &extended);
        }
        let mut draft = Draft::of(text);
        for section in extended {
            self.syntax.remove(&mut draft, section).map_err(broken)?;
        }
        Ok(Base { text: Some(draft.text), ..base })
    }

    /// `kept`: sections that stay.
    fn without_entries(&self, path: &Path, current: &str, kept: &[&[String]]) -> Result<Base, SetupError> {
        let broken = |broken| SetupError::unreadable(path, &broken);
        let syntax = self.syntax;
        let mut draft = Draft::of(current);
        let place = |section: &[String]| format!("{} in {}", section.join("."), path.display());
        let mut stays: Vec<String> = kept.iter().map(|section| place(section)).collect();
        let goes = |entry: &&Entry| !kept.iter().any(|section| entry.path.starts_with(section));
        for entry in self.entries.iter().rev().filter(goes) {
            let Some(there) = syntax.find(&draft.text, &entry.path).map_err(broken)? else { continue };
            match (&entry.before, there.value.as_ref() == Some(&entry.ours)) {
                (Some(before), _) if there.raw == *before => {}
                (_, false) => stays.push(place(&entry.path)),
                (Some(before), true) => syntax.put_back(&mut draft, &entry.path, before).map_err(broken)?,
                (None, true) => syntax.remove(&mut draft, &entry.path).map_err(broken)?,
            }
        }
        for made in self.entries.iter().filter_map(|entry| entry.made.as_ref()) {
            let there = syntax.find(&draft.text, made).map_err(broken)?;
            if there.and_then(|there| there.value).is_some_and(|value| is_hollow(&value)) {
                syntax.remove(&mut draft, made).map_err(broken)?;
            }
        }
        let is_empty = syntax.is_empty(&draft.text);
        Ok(Base { text: Some(draft.text).filter(|_| self.existed || !is_empty), stays })
    }
}

/// Whether an object contains only empty objects.
fn is_hollow(value: &Value) -> bool {
    value.as_object().is_some_and(|members| members.values().all(is_hollow))
}
