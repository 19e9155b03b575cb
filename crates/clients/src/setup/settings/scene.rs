//! One installation: the client's settings without earlier changes, and the changes to apply.

use std::path::{Path, PathBuf};

use ctx_core::ErrorCode;
use serde_json::Value;

use super::{Entries, Entry, ServerCommand, Setting, SettingsInstaller, path};
use crate::launch::fill;
use crate::setup::journal::Original;
use crate::setup::{
    Change, Daemon, Host, InstallOptions, Journal, Scope, SetupError, Syntax, WantedContent, file, skill,
};

const PROXIES: [&str; 6] = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// Entries of one file.
struct FileEntries {
    path: PathBuf,
    syntax: Syntax,
    entries: Entries,
}

pub(super) struct Scene<'a> {
    client: &'a SettingsInstaller,
    options: &'a InstallOptions,
    host: &'a dyn Host,
    folder: PathBuf,
    settings: PathBuf,
    /// The settings without the entries of an earlier installation.
    text: String,
    pub(super) journal: Journal,
    pub(super) daemon: Daemon,
    has_server: bool,
    pub(super) notes: Vec<String>,
}

impl<'a> Scene<'a> {
    pub(super) fn read(
        client: &'a SettingsInstaller,
        options: &'a InstallOptions,
        host: &'a dyn Host,
    ) -> Result<Self, SetupError> {
        let folder = client.settings_folder(options.scope, host)?;
        let settings = client.settings_file(&folder);
        let journal = client.journal(host)?;
        let text = without_us(&settings, &journal)?.unwrap_or_default();
        let daemon = host.daemon()?;
        Ok(Self {
            client,
            options,
            host,
            folder,
            settings,
            text,
            journal,
            daemon,
            has_server: false,
            notes: Vec::new(),
        })
    }

    pub(super) fn changes(&mut self) -> Result<Vec<Change>, SetupError> {
        self.check_section()?;
        let mut entries = Vec::new();
        for entry in (self.client.entries)(self.host, &self.folder) {
            self.check(entry)?;
            entries.push((path(entry.path), entry.value.value(&self.daemon.url())));
        }
        let mut files = vec![FileEntries { path: self.settings.clone(), syntax: self.client.syntax, entries }];
        if let Some(server) = self.server()? {
            match files.iter_mut().find(|file| file.path == server.path) {
                Some(file) => file.entries.extend(server.entries),
                None => files.push(server),
            }
        }
        let change = |file: FileEntries| {
            Change::install(
                &file.path,
                &WantedContent::Entries(file.syntax, file.entries),
                &self.journal,
                self.options.force,
            )
        };
        let mut changes: Vec<Change> = files.into_iter().map(change).collect::<Result<_, _>>()?;
        changes.extend(self.skill()?);
        Ok(changes)
    }

    /// The value at a path of the settings; null for one that cannot be compared.
    fn find(&self, keys: &[&str]) -> Result<Option<Value>, SetupError> {
        let found = self.client.syntax.find(&self.text, &path(keys));
        let found = found.map_err(|broken| SetupError::unreadable(&self.settings, &broken))?;
        Ok(found.map(|entry| entry.value.unwrap_or(Value::Null)))
    }

    fn check_section(&self) -> Result<(), SetupError> {
        let Some((section, hint)) = self.client.needs else { return Ok(()) };
        if self.find(section)?.is_some() {
            return Ok(());
        }
        let message = format!("{} has no `{}`; nothing was changed", self.settings.display(), section.join("."));
        Err(SetupError::new(ErrorCode::NotSetUp, message, hint))
    }

    /// Refuses to replace the user's own address or choice, unless the daemon forwards to it.
    fn check(&mut self, entry: &Entry) -> Result<(), SetupError> {
        let Some(own) = self.find(entry.path)? else { return Ok(()) };
        let own = own.as_str().unwrap_or_default();
        let name = format!("{} in {}", entry.path.join("."), self.settings.display());
        let what = match &entry.value {
            Setting::Url { value, upstream } => {
                let upstream = self.daemon.upstream_of(upstream).unwrap_or_default();
                let given = self.host.base_url(own);
                let is = |url: &str| given.is_some() && self.host.base_url(&fill(value, url, "")) == given;
                if is(upstream) || is(&self.daemon.url()) {
                    return Ok(());
                }
                // It may contain a password; only a valid address is repeated.
                let named = given.unwrap_or_else(|| "another address".to_owned());
                format!("{name} is {named}, but the daemon forwards to {upstream}")
            }
            Setting::Choice { value, instead_of } if own != *instead_of && own != *value => {
                format!("{name} is `{own}`; ctx would replace it with `{value}`")
            }
            _ => return Ok(()),
        };
        if self.options.force {
            self.notes.push(format!("{what}; `ctx uninstall {}` undoes this", self.client.name));
            return Ok(());
        }
        let hint = "add that address as an upstream of the daemon (`[upstream.NAME]` in ctx.toml) and set it to \
            `/to/NAME/` on the daemon's address yourself; or replace it with --force";
        Err(SetupError::new(ErrorCode::OtherBaseUrl, format!("{what}; nothing was changed"), hint))
    }

    /// The entries of the MCP server, if it is requested or was installed before.
    fn server(&mut self) -> Result<Option<FileEntries>, SetupError> {
        let Some(place) = &self.client.server else {
            if self.options.mcp {
                let title = self.client.title;
                self.notes.push(format!("ctx does not register its MCP server with {title}: add `ctx mcp` yourself"));
            }
            return Ok(None);
        };
        let (path, syntax) = match place.file {
            Some((name, syntax)) => (self.folder.join(name), syntax),
            None => (self.settings.clone(), self.client.syntax),
        };
        let (program, note) = self.host.program(self.options.scope);
        let home = self.host.own_home()?.map(|home| ("CTX_HOME".to_owned(), home.to_string_lossy().into()));
        let arguments = self.daemon.served.clone();
        let entries = (place.entries)(&ServerCommand { program, arguments, variables: home.into_iter().collect() });
        let is_ours =
            |kept: &Original| kept.entries.iter().any(|known| entries.iter().any(|(path, _)| *path == known.path));
        self.has_server = self.options.mcp || self.journal.files.get(&path).is_some_and(is_ours);
        if !self.has_server {
            return Ok(None);
        }
        self.notes.extend(note);
        Ok(Some(FileEntries { path, syntax, entries }))
    }

    /// The skill. It belongs to `ctx`; a changed one stays.
    fn skill(&mut self) -> Result<Option<Change>, SetupError> {
        let Some(path) = self.client.skill_file(self.options.scope, self.host) else { return Ok(None) };
        let (program, note) = self.host.program(self.options.scope);
        self.notes.extend(note.filter(|note| !self.notes.contains(note)));
        let wanted = WantedContent::Whole(skill::plain(&program));
        let change = Change::install(&path, &wanted, &self.journal, self.options.force)?;
        let stays = change.stays.iter();
        self.notes
            .extend(stays.map(|what| {
                format!("{what} has been changed since its installation and is kept; --force replaces it")
            }));
        Ok(Some(change))
    }

    pub(super) fn add_notes(&mut self) {
        let title = self.client.title;
        let mut notes = Vec::new();
        if !self.daemon.is_up {
            notes.push(match self.has_server {
                true => format!("no daemon is running; {title} starts it with `ctx mcp`"),
                false => format!("no daemon is running, so {title} cannot reach its provider: run `ctx up` first"),
            });
        }
        notes.extend(self.client.note.map(str::to_owned));
        for name in self.client.variables.iter().filter(|name| self.host.variable(name).is_some()) {
            notes.push(format!("{name} is set in the environment and overrides these settings; unset it"));
        }
        let ip = self.daemon.address.ip().to_string();
        let spared = ["NO_PROXY", "no_proxy"].into_iter().find_map(|name| self.host.variable(name)).unwrap_or_default();
        let is_spared = spared.to_string_lossy().split(',').any(|name| name.trim() == ip || name.trim() == "*");
        if PROXIES.iter().any(|name| self.host.variable(name).is_some()) && !is_spared {
            notes.push(format!(
                "the environment sets a proxy: add {ip} to NO_PROXY, or {title} sends requests for ctx to the proxy"
            ));
        }
        if self.options.status_line {
            notes.push(format!("{title} has no status line that ctx can fill"));
        }
        if self.options.scope == Scope::Project {
            notes.push("this affects everyone who works in this folder: they need ctx and its daemon too".to_owned());
        }
        self.notes.extend(notes);
    }
}

/// The text of a settings file without the entries of an earlier installation.
fn without_us(path: &Path, journal: &Journal) -> Result<Option<String>, SetupError> {
    let text = file::read(path)?;
    match journal.files.get(path) {
        Some(kept) => Ok(kept.base(path, text.as_deref())?.text),
        None => Ok(text),
    }
}
