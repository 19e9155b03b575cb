//! Where it is said what the automatic editor shall do, the weaker source first: the home's `ctx.toml` (or the one that
//! was named), the project's, the project's `.loa.config.yaml`, and the skills that are active.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ctx_core::edit::refusal::nearest;
use toml::de::DeTable;

use super::said::{NAME, Remark, Said, Speaker};
use super::tree::{self, Data, Node};
use super::yaml;
use super::{layer, provider};
use crate::config::file::Reader;
use crate::config::{Flags, project};
use crate::env::{self, Environment};
use crate::home::Home;

const YAML: &str = ".loa.config.yaml";
const SKILLS: &str = ".claude/skills";
/// Nothing that is written by hand is larger. A client waits while it is read.
const LARGEST: u64 = 256 << 10;

/// What is the same for all projects.
#[derive(Clone, Debug)]
pub struct Places {
    home: Home,
    /// The only `ctx.toml` that counts.
    named: Option<PathBuf>,
    /// The user's own skills.
    skills: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub path: PathBuf,
    pub speaker: Speaker,
    /// It must not lead out of this folder.
    within: Option<PathBuf>,
}

/// What tells that a file has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    changed: Option<SystemTime>,
    length: u64,
}

impl Places {
    pub fn new(flags: &Flags, environment: &Environment, home: &Home) -> Places {
        let named = flags.config.clone().or_else(|| environment.get(env::CONFIG).map(PathBuf::from));
        let own = environment.get(env::CLAUDE_CONFIG_DIR).map(|folder| PathBuf::from(folder).join("skills"));
        let skills = own.or_else(|| Some(PathBuf::from(environment.get(env::USER_HOME)?).join(SKILLS)));
        // The daemon may change its working folder.
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        Places { home: home.clone(), named: named.map(absolute), skills: skills.map(absolute) }
    }

    /// For all projects.
    pub fn general(&self) -> Source {
        let path = self.named.clone().unwrap_or_else(|| self.home.config_file());
        Source { path, speaker: Speaker::Person, within: None }
    }

    /// For a client that works in this folder.
    pub fn project(&self, folder: &Path) -> Vec<Source> {
        if !folder.is_absolute() {
            return Vec::new();
        }
        let own = project::config_file(folder, &self.home).filter(|_| self.named.is_none());
        let own = own.map(|path| Source { path, speaker: Speaker::Project, within: None });
        let yaml = project::find(folder, YAML).map(|path| Source { path, speaker: Speaker::Yaml, within: None });
        own.into_iter().chain(yaml).collect()
    }

    /// A skill by its name. The client prefers the user's own to one of the project.
    pub fn skill(&self, folder: Option<&Path>, name: &str) -> Option<Source> {
        // `plugin:skill` is called by both names.
        let name = name.rsplit(':').next().unwrap_or_default();
        if !is_plain(name) {
            return None;
        }
        let found = self.skill_folders(folder).into_iter().map(|skills| skill(&skills, name));
        found.into_iter().find(|source| source.path.is_file())
    }

    /// All skills that can be found, by name.
    pub fn skills(&self, folder: Option<&Path>) -> Vec<(String, Source)> {
        let mut all: Vec<(String, Source)> = Vec::new();
        for skills in self.skill_folders(folder) {
            for entry in fs::read_dir(&skills).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let source = skill(&skills, &name);
                let is_new = !all.iter().any(|(known, _)| *known == name);
                if is_plain(&name) && is_new && source.path.is_file() {
                    all.push((name, source));
                }
            }
        }
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        all
    }

    fn skill_folders(&self, folder: Option<&Path>) -> Vec<PathBuf> {
        let folder = folder.filter(|folder| folder.is_absolute());
        let own = folder.into_iter().flat_map(project::folders).map(|folder| folder.join(SKILLS));
        self.skills.iter().cloned().chain(own).collect()
    }
}

fn skill(skills: &Path, name: &str) -> Source {
    let path = skills.join(name).join("SKILL.md");
    Source { path, speaker: Speaker::Skill, within: Some(skills.to_owned()) }
}

/// A name of one folder, not a way to another.
fn is_plain(name: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
    !name.is_empty() && name.len() <= 128 && !name.starts_with('.') && name.chars().all(is_plain)
}

impl Source {
    /// `Ok(None)`: it is not there.
    pub fn stamp(&self) -> Result<Option<Stamp>, String> {
        match fs::metadata(&self.path) {
            Ok(file) if !file.is_file() => Err("this is not a file".to_owned()),
            Ok(file) => Ok(Some(Stamp { changed: file.modified().ok(), length: file.len() })),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(format!("cannot be read: {error}")),
        }
    }

    /// What it says; `None` if it is not there.
    pub fn read(&self) -> Option<Said> {
        let stamp = match self.stamp() {
            Ok(stamp) => stamp?,
            Err(why) => return Some(Said::wrong(Remark::new(0, why))),
        };
        if stamp.length > LARGEST {
            return Some(Said::wrong(Remark::new(0, format!("it is larger than {LARGEST} bytes, so it is not read"))));
        }
        if self.leads_out() {
            return Some(Said::wrong(Remark::new(
                0,
                "it is a link that leads out of the folder of skills, so it is not read",
            )));
        }
        match fs::read(&self.path).map(String::from_utf8) {
            Ok(Ok(text)) => Some(self.understand(&text)),
            Ok(Err(_)) => Some(Said::wrong(Remark::new(0, "it is not text in UTF-8"))),
            Err(error) if is_missing(&error) => None,
            Err(error) => Some(Said::wrong(Remark::new(0, format!("cannot be read: {error}")))),
        }
    }

    fn understand(&self, text: &str) -> Said {
        let section = match self.speaker {
            Speaker::Person | Speaker::Project => return self.of_toml(text).unwrap_or_else(Said::wrong),
            // Other programs' files may be broken elsewhere; that is not ours to tell.
            _ if !text.contains(NAME) => return Said::default(),
            Speaker::Yaml => of_yaml(text),
            Speaker::Skill => yaml::front_matter(text).map_or(Ok(None), |matter| of_yaml(&matter)),
        };
        match section {
            Ok(Some(section)) => layer::read(&section, self.speaker),
            Ok(None) => Said::default(),
            Err(remark) => Said::wrong(remark),
        }
    }

    /// Other sections are read when the daemon starts, this one also later.
    fn of_toml(&self, text: &str) -> Result<Said, Remark> {
        let line = |span: std::ops::Range<usize>| {
            text.as_bytes().iter().take(span.start).filter(|byte| **byte == b'\n').count() + 1
        };
        let document = DeTable::parse(text).map_err(|error| {
            // Only its first line: the rest quotes the file.
            let why = error.message().lines().next().unwrap_or("this is not TOML").to_owned();
            Remark::new(error.span().map_or(0, line), why)
        })?;
        let Some(section) = document.get_ref().get(NAME) else {
            // Who misspells it wants something all the same.
            let is_near = |name: &str| !nearest(name, [NAME].into_iter()).is_empty();
            let meant = document.get_ref().keys().find(|name| is_near(name.get_ref()));
            return meant.map_or_else(
                || Ok(Said::default()),
                |name| {
                    let why = format!("`{}` is not known (did you mean `{NAME}`?)", name.get_ref());
                    Err(Remark::new(line(name.span()), why))
                },
            );
        };
        let mut said = layer::read(&without_provider(Node::of_toml(section, &line)), self.speaker);
        match provider::of(&Reader::new(&self.path, text), section) {
            Ok(provider) => said.provider = provider,
            Err(why) => said.provider_wrong = Some(why.to_string()),
        }
        Ok(said)
    }

    fn leads_out(&self) -> bool {
        let Some(within) = &self.within else { return false };
        match (fs::canonicalize(&self.path), fs::canonicalize(within)) {
            (Ok(path), Ok(within)) => !path.starts_with(within),
            _ => true,
        }
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// What the provider shall do is read elsewhere.
pub fn without_provider(mut section: Node) -> Node {
    if let Data::Table(entries) = &mut section.data {
        entries.retain(|tree::Entry { key, .. }| key != "provider");
    }
    section
}

fn of_yaml(text: &str) -> Result<Option<Node>, Remark> {
    let document =
        yaml::parse(text).map_err(|broken| Remark::new(broken.line, format!("this is not YAML: {}", broken.why)))?;
    let Data::Table(entries) = document.data else { return Ok(None) };
    let mut sections = entries.into_iter().filter(|entry| entry.key == NAME);
    let first = sections.next();
    match (first, sections.next()) {
        (Some(first), Some(second)) => {
            let words = format!("`{NAME}` is said twice, first in line {}", first.line);
            Err(Remark::new(second.line, words))
        }
        (first, _) => Ok(first.map(|entry| entry.value)),
    }
}
