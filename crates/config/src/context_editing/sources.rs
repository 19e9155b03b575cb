//! Where it is said what the automatic editor shall do, the weaker source first: the home's `ctx.toml` (or the one that
//! was named), the project's, the project's `.loa.config.yaml`, and the skills that are active.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ctx_core::edit::refusal::nearest;
use ctx_store::confined::{self, Identity};
use toml::de::DeTable;

use super::said::{NAME, Remark, Said, Speaker};
use super::tree::{self, Data, Node};
use super::yaml;
use super::{layer, provider};
use crate::env::{self, Environment};
use crate::file::Reader;
use crate::home::Home;
use crate::trust::Fingerprint;
use crate::{Flags, project};
use ctx_clients::claude_code::folders;

const YAML: &str = ".loa.config.yaml";
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
    /// It was found in a project, so it may be somebody else's.
    pub is_of_project: bool,
}

/// What tells that a file has changed, or who may change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    changed: Option<SystemTime>,
    length: u64,
    file: Identity,
    folder: Option<Identity>,
}

impl Places {
    pub fn new(flags: &Flags, environment: &Environment, home: &Home) -> Places {
        let named = flags.config.clone().or_else(|| environment.get(env::CONFIG).map(PathBuf::from));
        let skills = folders::of_user(|name| environment.raw(name)).map(|(config, _)| config.join(folders::SKILLS));
        // The daemon may change its working folder.
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        Places { home: home.clone(), named: named.map(absolute), skills: skills.map(absolute) }
    }

    pub fn home(&self) -> &Home {
        &self.home
    }

    /// For all projects.
    pub fn general(&self) -> Source {
        let path = self.named.clone().unwrap_or_else(|| self.home.config_file());
        Source { path, speaker: Speaker::Person, within: None, is_of_project: false }
    }

    /// For a client that works in this folder.
    pub fn project(&self, folder: &Path) -> Vec<Source> {
        let Some(folder) = real(folder) else { return Vec::new() };
        let source = |path, speaker| Source { path, speaker, within: None, is_of_project: true };
        let own = project::config_file(&folder, &self.home).filter(|_| self.named.is_none());
        let own = own.map(|path| source(path, Speaker::Project));
        let yaml = project::find(&folder, YAML).map(|path| source(path, Speaker::Yaml));
        own.into_iter().chain(yaml).collect()
    }

    /// A skill by its name. The client prefers the user's own to one of the project.
    pub fn skill(&self, folder: Option<&Path>, name: &str) -> Option<Source> {
        // `plugin:skill` is called by both names.
        let name = name.rsplit(':').next().unwrap_or_default();
        if !is_plain(name) {
            return None;
        }
        let mut found = self.skill_folders(folder).into_iter().map(|(skills, is_own)| skill(&skills, name, is_own));
        found.find(|source| source.path.is_file())
    }

    /// All skills that can be found, by name.
    pub fn skills(&self, folder: Option<&Path>) -> Vec<(String, Source)> {
        let mut all: Vec<(String, Source)> = Vec::new();
        for (skills, is_own) in self.skill_folders(folder) {
            for entry in fs::read_dir(&skills).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let source = skill(&skills, &name, is_own);
                let is_new = !all.iter().any(|(known, _)| *known == name);
                if is_plain(&name) && is_new && source.path.is_file() {
                    all.push((name, source));
                }
            }
        }
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        all
    }

    /// Folders of skills, and whether they are the user's own.
    fn skill_folders(&self, folder: Option<&Path>) -> Vec<(PathBuf, bool)> {
        let folder = folder.and_then(real);
        let project = folder
            .iter()
            .flat_map(|folder| project::folders(folder))
            .map(|folder| folder.join(folders::CONFIG).join(folders::SKILLS));
        let project = project.filter(|folder| self.skills.as_ref() != Some(folder));
        self.skills.iter().cloned().map(|skills| (skills, true)).chain(project.map(|skills| (skills, false))).collect()
    }
}

/// A folder without links in its path. What a client says may be anything.
fn real(folder: &Path) -> Option<PathBuf> {
    fs::canonicalize(folder).ok().filter(|_| folder.is_absolute())
}

fn skill(skills: &Path, name: &str, is_own: bool) -> Source {
    let path = skills.join(name).join("SKILL.md");
    Source { path, speaker: Speaker::Skill, within: Some(skills.to_owned()), is_of_project: !is_own }
}

/// A name of one folder, not a way to another.
fn is_plain(name: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
    !name.is_empty() && name.len() <= 128 && !name.starts_with('.') && name.chars().all(is_plain)
}

/// A file's content, and what it is trusted by.
type Content = (Vec<u8>, Option<Fingerprint>);

impl Source {
    /// `Ok(None)`: it is not there.
    pub fn stamp(&self) -> Result<Option<Stamp>, String> {
        let found = if self.is_of_project { fs::symlink_metadata(&self.path) } else { fs::metadata(&self.path) };
        match found {
            Ok(file) if file.file_type().is_symlink() => Err("this is a link, so it is not read".to_owned()),
            Ok(file) if !file.is_file() => Err("this is not a file".to_owned()),
            Ok(file) => {
                let folder = self.path.parent().and_then(|folder| fs::metadata(folder).ok());
                Ok(Some(Stamp {
                    changed: file.modified().ok(),
                    length: file.len(),
                    file: Identity::of(&file),
                    folder: folder.map(|folder| Identity::of(&folder)),
                }))
            }
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
            return Some(Said::wrong(Remark::new(0, format!("it is larger than {LARGEST} bytes and is not read"))));
        }
        if self.leads_out() {
            return Some(Said::wrong(Remark::new(
                0,
                "it is a link that leads out of the folder of skills, so it is not read",
            )));
        }
        let content = match self.is_of_project {
            true => self.content_of_project(),
            false => fs::read(&self.path).map(|bytes| Ok((bytes, None))),
        };
        let (bytes, print) = match content {
            Ok(Ok(content)) => content,
            Ok(Err(why)) => return Some(Said::ignored(Remark::new(0, why))),
            Err(error) if is_missing(&error) => return None,
            Err(error) => return Some(Said::wrong(Remark::new(0, format!("cannot be read: {error}")))),
        };
        let said = match String::from_utf8(bytes) {
            Ok(text) => self.understand(&text),
            Err(_) => Said::wrong(Remark::new(0, "it is not text in UTF-8")),
        };
        Some(Said { print, ..said })
    }

    /// The bytes of a project's file and what it is known by; or why it is not believed. What is checked is what was opened.
    fn content_of_project(&self) -> io::Result<Result<Content, String>> {
        let (Some(folder), Some(name)) = (self.path.parent(), self.path.file_name().and_then(|name| name.to_str()))
        else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let opened = confined::Folder::open(folder)?;
        let mut file = opened.read(name)?;
        let identity = Identity::of(&file.metadata()?);
        for (path, identity) in [(folder, opened.identity()?), (self.path.as_path(), identity)] {
            let (path, user) = (path.display(), identity.owner);
            if !identity.is_own() {
                let why = format!("{path} belongs to another user (number {user}), so the settings in it are ignored");
                return Ok(Err(why));
            }
            if identity.is_shared() {
                return Ok(Err(format!(
                    "others can write to {path}, so the settings in it are ignored; `chmod go-w {path}` changes that"
                )));
            }
        }
        let mut bytes = Vec::new();
        file.by_ref().take(LARGEST + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST {
            return Err(io::Error::other(format!("it is larger than {LARGEST} bytes")));
        }
        let print = Fingerprint { owner: identity.owner, hash: ctx_store::Hash::of(&bytes).to_string() };
        Ok(Ok((bytes, Some(print))))
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
        let mut ignored = Said::default();
        if self.speaker == Speaker::Project {
            self.ignore_daemon_wide(&mut ignored, document.get_ref(), &line);
        }
        let Some(section) = document.get_ref().get(NAME) else {
            // Who misspells it wants something all the same.
            let is_near = |name: &str| !nearest(name, [NAME].into_iter()).is_empty();
            let meant = document.get_ref().keys().find(|name| is_near(name.get_ref()));
            return meant.map_or_else(
                || Ok(ignored),
                |name| {
                    let why = format!("`{}` is unknown (did you mean `{NAME}`?)", name.get_ref());
                    Err(Remark::new(line(name.span()), why))
                },
            );
        };
        let mut said = layer::read(&without_provider(Node::of_toml(section, &line)), self.speaker);
        said.ignored.extend(ignored.ignored);
        match provider::of(&Reader::new(&self.path, text), section) {
            Ok(provider) => said.provider = provider,
            Err(wrong) => said.provider_wrong = wrong.iter().map(ToString::to_string).collect(),
        }
        Ok(said)
    }

    /// Sections of a project's file that only a person can decide, for the whole daemon.
    fn ignore_daemon_wide(
        &self,
        said: &mut Said,
        document: &DeTable<'_>,
        line: &dyn Fn(std::ops::Range<usize>) -> usize,
    ) {
        for entry in tree::entries(document, line).into_iter().filter(|entry| entry.key != NAME) {
            let is_known = project::DAEMON_WIDE.contains(&entry.key.as_str());
            let keys = match &entry.value.data {
                Data::Table(keys) if is_known => {
                    keys.iter().map(|key| (key.line, format!("{}.{}", entry.key, key.key))).collect()
                }
                _ => vec![(entry.line, entry.key.clone())],
            };
            said.ignored.extend(keys.into_iter().map(|(line, key)| {
                let words = match is_known {
                    true => format!(
                        "`{key}` is ignored: it concerns the whole daemon, so a project cannot set it. Set it in {}, or start the \
                         daemon with --config {}",
                        project::HOME_FILE,
                        self.path.display()
                    ),
                    false => format!("`{key}` is unknown to this version and is ignored"),
                };
                Remark { line, key, words }
            }));
        }
        said.ignored.sort();
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
            let words = format!("`{NAME}` is set twice, first in line {}", first.line);
            Err(Remark::new(second.line, words))
        }
        (first, _) => Ok(first.map(|entry| entry.value)),
    }
}
