//! An installer as data, for clients whose settings file names their base URLs.

mod by_hand;
mod place;
mod scene;

pub use by_hand::ByHand;
use ctx_core::ErrorCode;
pub use place::Folder;

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Change, Host, InstallOptions, Installer, Journal, Plan, Scope, SetupError, Syntax, skill};
use crate::launch::fill;
use scene::Scene;

/// A client that entries in its settings file route through the daemon.
#[derive(Debug)]
pub struct SettingsInstaller {
    /// Its name in commands.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The folder of the user's settings.
    pub folder: Folder,
    /// The names of the settings file: the first one that exists, else the last.
    pub files: &'static [&'static str],
    /// The folder of a project's settings, if a project may name a base URL.
    pub project: Option<&'static str>,
    pub syntax: Syntax,
    /// The entries to set, given the folder of the settings.
    pub entries: fn(&dyn Host, &Path) -> &'static [Entry],
    /// A section that must exist already, and how to create it.
    pub needs: Option<(&'static [&'static str], &'static str)>,
    /// The location of MCP servers, if known.
    pub server: Option<ServerPlace>,
    /// The location of its skills, if it has any.
    pub skills: Option<SkillPlace>,
    /// Variables that override the settings.
    pub variables: &'static [&'static str],
    /// A note with every installation.
    pub note: Option<&'static str>,
}

/// One entry of a settings file.
#[derive(Debug)]
pub struct Entry {
    pub path: &'static [&'static str],
    pub value: Setting,
}

/// The value of an entry. `{url}` is the daemon's URL.
#[derive(Debug)]
pub enum Setting {
    /// A base URL of this upstream.
    Url {
        value: &'static str,
        upstream: &'static str,
    },
    /// A choice; replaces only this value.
    Choice {
        value: &'static str,
        instead_of: &'static str,
    },
    Text(&'static str),
    Switch(bool),
    List(&'static [&'static str]),
}

/// Entries by path.
pub type Entries = Vec<(Vec<String>, Value)>;

/// The location of MCP servers.
#[derive(Debug)]
pub struct ServerPlace {
    /// A file beside the settings; `None` for the settings themselves.
    pub file: Option<(&'static str, Syntax)>,
    /// The entries that register a server.
    pub entries: fn(&ServerCommand) -> Entries,
}

/// The location of skills: a folder that contains `skills`.
#[derive(Debug)]
pub struct SkillPlace {
    pub folder: Folder,
    /// That of a project.
    pub project: Option<&'static str>,
}

/// The command of the MCP server.
#[derive(Debug)]
pub struct ServerCommand {
    pub program: String,
    pub arguments: Vec<String>,
    /// Its environment variables.
    pub variables: serde_json::Map<String, Value>,
}

impl Setting {
    fn value(&self, url: &str) -> Value {
        match self {
            Self::Url { value, .. } | Self::Choice { value, .. } | Self::Text(value) => fill(value, url, "").into(),
            Self::Switch(switch) => (*switch).into(),
            Self::List(items) => items.iter().map(|item| fill(item, url, "")).collect(),
        }
    }
}

/// The path of an object's entry.
pub fn path(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

impl Installer for SettingsInstaller {
    fn install(&self, options: &InstallOptions, host: &dyn Host) -> Result<Plan, SetupError> {
        let mut scene = Scene::read(self, options, host)?;
        let changes = scene.changes()?;
        scene.add_notes();
        let Scene { journal, notes, daemon, .. } = scene;
        let (name, title, url) = (self.name, self.title, daemon.url());
        let scope = if options.scope == Scope::Project { " --scope project" } else { "" };
        let done = format!("Done. {title} uses {url} from its next start.");
        Ok(Plan {
            scope: options.scope,
            client: title,
            journal,
            changes,
            notes,
            base_url: Some(url.clone()),
            done: format!("{done}\n`ctx uninstall {name}{scope}` undoes this."),
            nothing: format!("Nothing to do: {title} already uses {url}."),
        })
    }

    fn uninstall(&self, scope: Scope, force: bool, host: &dyn Host) -> Result<Plan, SetupError> {
        let folder = self.settings_folder(scope, host)?;
        let journal = self.journal(host)?;
        let server = self.server.as_ref().and_then(|server| server.file).map(|(name, _)| name);
        let names = self.files.iter().copied().chain(server);
        let changes = names.filter_map(|name| Change::uninstall(&folder.join(name), &journal, force).transpose());
        let skill = self.skill_file(scope, host);
        let skill = skill.and_then(|path| Change::uninstall(&path, &journal, force).transpose());
        let changes: Vec<Change> = changes.chain(skill).collect::<Result<_, _>>()?;
        let mut plan = Plan::undo(self.title, scope, journal, changes);
        if self.project.is_none() {
            plan.nothing = format!("ctx is not installed for {}.", self.title);
        }
        Ok(plan)
    }

    fn is_found(&self, host: &dyn Host) -> bool {
        let folder = self.settings_folder(Scope::User, host);
        folder.is_ok_and(|folder| self.files.iter().any(|name| folder.join(name).exists()))
    }
}

impl SettingsInstaller {
    fn settings_folder(&self, scope: Scope, host: &dyn Host) -> Result<PathBuf, SetupError> {
        let folder = match (scope, self.project) {
            (Scope::User, _) => self.folder.find(host).ok_or_else(|| {
                let message = format!("the folder of {}'s settings is unknown: HOME is not set", self.title);
                SetupError::new(ErrorCode::NoHome, message, "set HOME and run this again")
            })?,
            (Scope::Project, Some(folder)) => host.folder().join(folder),
            (Scope::Project, None) => {
                let message = format!("{} reads its base URL only from the user's settings", self.title);
                return Err(SetupError::new(ErrorCode::NoProjectSettings, message, "omit `--scope project`"));
            }
        };
        std::path::absolute(&folder).map_err(|error| SetupError::file("find", &folder, error))
    }

    /// The file of the skill that belongs to `ctx`.
    fn skill_file(&self, scope: Scope, host: &dyn Host) -> Option<PathBuf> {
        let place = self.skills.as_ref()?;
        let folder = match scope {
            Scope::User => place.folder.find(host)?,
            Scope::Project => host.folder().join(place.project?),
        };
        std::path::absolute(folder.join("skills").join(skill::NAME).join("SKILL.md")).ok()
    }

    fn settings_file(&self, folder: &Path) -> PathBuf {
        let mut paths = self.files.iter().map(|name| folder.join(name));
        let existing = paths.clone().find(|path| path.exists() || path.is_symlink());
        existing.or_else(|| paths.next_back()).unwrap_or_else(|| folder.to_owned())
    }

    fn journal(&self, host: &dyn Host) -> Result<Journal, SetupError> {
        Journal::load(&host.journal(self.name)?, self.title)
    }
}
