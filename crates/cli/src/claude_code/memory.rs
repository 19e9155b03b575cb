//! What was there before us, kept in the daemon's home: for each file, how to take our changes back. No more of a
//! file is kept than what was replaced: settings may hold credentials.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use ctx_store::Hash;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::jsonc::Document;
use super::jsonc::splice::{Draft, Step, take_back};
use super::unreadable;
use crate::failure::Failure;
use crate::home::{Home, open_private};

const VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    version: u32,
    pub files: BTreeMap<PathBuf, Kept>,
}

impl Default for Memory {
    fn default() -> Self {
        Self { version: VERSION, files: BTreeMap::new() }
    }
}

/// What we did to one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Before us.
    pub existed: bool,
    /// That we made for it, the outermost first.
    pub folders: Vec<PathBuf>,
    /// Of the file as we left it.
    pub hash: String,
    pub steps: Vec<Step>,
    /// None for a file that is ours altogether.
    pub entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub path: Vec<String>,
    pub ours: Value,
    /// As it stood there.
    pub before: Option<String>,
    /// The object that we made for it.
    pub made: Option<Vec<String>>,
}

/// A file without us.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Base {
    pub text: Option<String>,
    /// What is ours and stays, because somebody has changed it since.
    pub stays: Vec<String>,
}

impl Memory {
    pub fn load(home: &Home) -> Result<Self, Failure> {
        let path = file(home);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(Failure::file("read", &path, &error)),
        };
        let damaged = |why: String| {
            Failure::new("memory-damaged", format!("{} cannot be read: {why}; nothing was changed", path.display()))
                .hint("it records what `ctx install` replaced; remove the entries from Claude Code's settings by hand, then delete it")
        };
        let memory: Self = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        match memory.version {
            VERSION => Ok(memory),
            newer => Err(damaged(format!("it has version {newer}, this program supports {VERSION}"))),
        }
    }

    /// On disk before any file is changed, so that a crash loses nothing.
    pub fn save(&self, home: &Home) -> Result<(), Failure> {
        let path = file(home);
        if self.files.is_empty() {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(Failure::file("remove", &path, &error))
                }
                _ => Ok(()),
            };
        }
        home.prepare()?;
        let draft = path.with_extension(format!("json.{}", std::process::id()));
        let written = open_private(&draft, |options| options.truncate(true))
            .and_then(|mut file| {
                file.write_all(&serde_json::to_vec_pretty(self)?)?;
                file.sync_all()
            })
            .and_then(|()| fs::rename(&draft, &path));
        written.map_err(|error| Failure::file("write", &path, &error))
    }
}

fn file(home: &Home) -> PathBuf {
    home.path().join("claude-code.json")
}

impl Kept {
    pub fn hash_of(text: &str) -> String {
        Hash::of(text.as_bytes()).to_string()
    }

    /// The file as it would be without us. If nobody has touched it since, that is byte for byte what was there.
    pub fn base(&self, path: &Path, current: Option<&str>) -> Result<Base, Failure> {
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
        self.without_entries(path, current)
    }

    fn without_entries(&self, path: &Path, current: &str) -> Result<Base, Failure> {
        let broken = |broken| unreadable(path, &broken);
        let mut draft = Draft::of(current);
        let mut stays = Vec::new();
        for entry in self.entries.iter().rev() {
            let text = draft.text.clone();
            let document = Document::read(&text).map_err(broken)?;
            let Some(node) = document.find(&entry.path) else { continue };
            match (&entry.before, document.get(&entry.path).as_ref() == Some(&entry.ours)) {
                (Some(before), _) if document.raw(node) == before => {}
                (_, false) => stays.push(format!("{} in {}", entry.path.join("."), path.display())),
                (Some(before), true) => draft.put_back(&entry.path, before).map_err(broken)?,
                (None, true) => draft.remove(&entry.path).map_err(broken)?,
            }
        }
        let made = self.entries.iter().filter_map(|entry| entry.made.as_ref());
        for path_of_made in made {
            let is_empty = Document::read(&draft.text).map_err(broken)?.get(path_of_made)
                == Some(Value::Object(Default::default()));
            if is_empty {
                draft.remove(path_of_made).map_err(broken)?;
            }
        }
        let is_empty =
            serde_json::from_str::<Value>(&draft.text).is_ok_and(|value| value == Value::Object(Default::default()));
        Ok(Base { text: Some(draft.text).filter(|_| self.existed || !is_empty), stays })
    }
}
