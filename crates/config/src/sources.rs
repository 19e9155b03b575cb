//! The sources of the automatic editor's settings, weaker first: the home's `ctx.toml` (or a named file), the
//! project's, the project's `.loa.config.yaml`, and the active skills.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ctx_clients::skills;
use ctx_core::edit::refusal::nearest;
use ctx_store::confined::{self, Identity};

use crate::env::{self, Environment};
use crate::home::Home;
use crate::layer::{EDITING, Layer, Origin, Remark};
use crate::schema::SCHEMA;
use crate::tree::{self, Data, Member, Node, SyntaxError};
use crate::trust::Fingerprint;
use crate::{Flags, project, read, yaml};

const YAML: &str = ".loa.config.yaml";
/// The largest file to read. Hand-written ones are smaller, and a client waits while it is read.
const LARGEST: u64 = 256 << 10;

/// The locations shared by all projects.
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
    pub origin: Origin,
    /// The path must not lead out of this folder.
    within: Option<PathBuf>,
    /// It is in a project, so it may come from others.
    pub is_of_project: bool,
}

/// Detects changes of a file or of its permissions.
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
        let skills = skills::of_user(|name| environment.raw(name));
        // The daemon may change its working directory.
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        Places { home: home.clone(), named: named.map(absolute), skills: skills.map(absolute) }
    }

    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The source for all projects.
    pub fn general(&self) -> Source {
        let path = self.named.clone().unwrap_or_else(|| self.home.config_file());
        Source { path, origin: Origin::User, within: None, is_of_project: false }
    }

    /// The sources for a client in this folder.
    pub fn project(&self, folder: &Path) -> Vec<Source> {
        let Some(folder) = real(folder) else { return Vec::new() };
        let source = |path, origin| Source { path, origin, within: None, is_of_project: true };
        let own = project::config_file(&folder, &self.home).filter(|_| self.named.is_none());
        let own = own.map(|path| source(path, Origin::Project));
        let yaml = project::find(&folder, YAML).map(|path| source(path, Origin::Yaml));
        own.into_iter().chain(yaml).collect()
    }

    /// A skill by name. The user's own takes precedence over the project's, as in the client.
    pub fn skill(&self, folder: Option<&Path>, name: &str) -> Option<Source> {
        // `plugin:skill` has both names.
        let name = name.rsplit(':').next().unwrap_or_default();
        if !is_plain(name) {
            return None;
        }
        let mut found = self.skill_folders(folder).into_iter().map(|(skills, is_own)| skill(&skills, name, is_own));
        found.find(|source| source.path.is_file())
    }

    /// All skills, by name.
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
        let project = folder.iter().flat_map(|folder| project::folders(folder)).map(skills::of_project);
        let project = project.filter(|folder| self.skills.as_ref() != Some(folder));
        self.skills.iter().cloned().map(|skills| (skills, true)).chain(project.map(|skills| (skills, false))).collect()
    }
}

/// A folder without links in its path. A client may send any text.
fn real(folder: &Path) -> Option<PathBuf> {
    fs::canonicalize(folder).ok().filter(|_| folder.is_absolute())
}

fn skill(skills: &Path, name: &str, is_own: bool) -> Source {
    let path = skills.join(name).join("SKILL.md");
    Source { path, origin: Origin::Skill, within: Some(skills.to_owned()), is_of_project: !is_own }
}

/// Whether it is a plain name without a path.
fn is_plain(name: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
    !name.is_empty() && name.len() <= 128 && !name.starts_with('.') && name.chars().all(is_plain)
}

/// A file's content, and its fingerprint.
type Content = (Vec<u8>, Option<Fingerprint>);

impl Source {
    /// The state of the file; `Ok(None)` if it does not exist.
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

    /// The layer of the file; `None` if it does not exist.
    pub fn read(&self) -> Option<Layer> {
        let stamp = match self.stamp() {
            Ok(stamp) => stamp?,
            Err(why) => return Some(Layer::unreadable(Remark::new(0, why))),
        };
        if stamp.length > LARGEST {
            return Some(Layer::unreadable(Remark::new(
                0,
                format!("it is larger than {LARGEST} bytes and is not read"),
            )));
        }
        if self.leads_out() {
            return Some(Layer::unreadable(Remark::new(0, "it is a link out of the skills folder, so it is not read")));
        }
        let content = match self.is_of_project {
            true => self.content_of_project(),
            false => fs::read(&self.path).map(|bytes| Ok((bytes, None))),
        };
        let (bytes, print) = match content {
            Ok(Ok(content)) => content,
            Ok(Err(why)) => return Some(Layer::ignored(Remark::new(0, why))),
            Err(error) if is_missing(&error) => return None,
            Err(error) => return Some(Layer::unreadable(Remark::new(0, format!("cannot be read: {error}")))),
        };
        let layer = match tree::text(bytes) {
            Ok(text) => self.layer(&text),
            Err(SyntaxError { line, why }) => Layer::unreadable(Remark::new(line, why)),
        };
        Some(Layer { print, ..layer })
    }

    /// The content and fingerprint of a project's file; or why it does not count. The checks apply to the opened file.
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
                let why = format!("{path} belongs to another user (id {user}), so its settings are ignored");
                return Ok(Err(why));
            }
            if identity.is_shared() {
                return Ok(Err(format!(
                    "others can write to {path}, so its settings are ignored; to fix this, run `chmod go-w {path}`"
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

    fn layer(&self, text: &str) -> Layer {
        let document = match self.origin {
            Origin::User | Origin::Project => Node::of_toml(text),
            // Errors elsewhere in files of other programs are not reported here.
            _ if !text.contains(EDITING) => return Layer::default(),
            Origin::Yaml => of_yaml(text),
            Origin::Skill => yaml::front_matter(text).map_or(Ok(Node::EMPTY), |matter| of_yaml(&matter)),
        };
        let document = match document {
            Ok(document) => document,
            Err(SyntaxError { line, why }) => return Layer::unreadable(Remark::new(line, why)),
        };
        let is_toml = matches!(self.origin, Origin::User | Origin::Project);
        let mut layer = match self.origin {
            Origin::User => read::read(&document, self.origin),
            _ => read::read(&only_editing(&document), self.origin),
        };
        if self.origin == Origin::Project {
            layer.ignored.extend(self.daemon_wide(&document));
            layer.ignored.sort();
        }
        layer.wrong.extend(misspelt(&document).filter(|_| is_toml));
        layer
    }

    /// Remarks about daemon-wide sections in a project's file.
    fn daemon_wide(&self, document: &Node) -> Vec<Remark> {
        let mut ignored = Vec::new();
        for member in members(document).iter().filter(|member| member.key != EDITING) {
            let is_known = SCHEMA["properties"].get(&member.key).is_some();
            let keys: Vec<(usize, String)> = match members(&member.value) {
                [] => vec![(member.line, member.key.clone())],
                _ if !is_known => vec![(member.line, member.key.clone())],
                keys => keys.iter().map(|key| (key.line, format!("{}.{}", member.key, key.key))).collect(),
            };
            ignored.extend(keys.into_iter().map(|(line, key)| {
                let words = match is_known {
                    true => format!(
                        "`{key}` is ignored: it applies to the whole daemon. Set it in the home's ctx.toml, or start \
                         the daemon with --config {}",
                        self.path.display()
                    ),
                    false => format!("`{key}` is unknown to this version and ignored"),
                };
                Remark { line, key, words }
            }));
        }
        ignored
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

fn members(node: &Node) -> &[Member] {
    match &node.data {
        Data::Table(members) => members,
        _ => &[],
    }
}

/// A document with only the section of the automatic editor.
fn only_editing(document: &Node) -> Node {
    let members = members(document).iter().filter(|member| member.key == EDITING).cloned();
    Node { line: document.line, data: Data::Table(members.collect()) }
}

/// A remark about a misspelt name of that section.
fn misspelt(document: &Node) -> Option<Remark> {
    if document.get(EDITING).is_some() {
        return None;
    }
    let is_near = |member: &&Member| !nearest(&member.key, [EDITING].into_iter()).is_empty();
    let member = members(document).iter().find(is_near)?;
    Some(Remark::new(member.line, format!("`{}` is unknown (did you mean `{EDITING}`?)", member.key)))
}

fn of_yaml(text: &str) -> Result<Node, SyntaxError> {
    let broken = |error: SyntaxError| SyntaxError { why: format!("this is not YAML: {}", error.why), ..error };
    yaml::parse(text).map_err(broken)
}
