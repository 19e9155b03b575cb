//! Setup: changes a client's own settings so that it uses the daemon, and reverses the changes.
//!
//! The files of a client are planned completely, shown by the caller, and then written all or none. [`Journal`] stores
//! what is needed to restore them; a [`Syntax`] changes one entry of a settings file and nothing else. A client adds
//! the location of its settings and the required entries: an [`Installer`], for most clients a
//! `settings::SettingsInstaller`.

mod change;
mod env_lines;
mod error;
pub(crate) mod file;
mod journal;
pub(crate) mod jsonc;
mod line;
pub(crate) mod settings;
pub(crate) mod shell;
pub(crate) mod skill;
mod syntax;
mod toml;
mod yaml;

pub use change::{Change, WantedContent, check, make};
pub use error::SetupError;
pub use journal::Journal;
pub use syntax::Syntax;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The projects that a setup applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every project of this user
    User,
    /// The project in the current folder
    Project,
}

impl Scope {
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }

    pub fn other(self) -> Self {
        match self {
            Self::User => Self::Project,
            Self::Project => Self::User,
        }
    }
}

/// Adds the daemon to a client's settings, and removes it again.
pub trait Installer: std::fmt::Debug + Sync {
    /// Plans the changes that route the client through the daemon.
    fn install(&self, options: &InstallOptions, host: &dyn Host) -> Result<Plan, SetupError>;

    /// Plans the removal; `force` also removes files that were changed by hand.
    fn uninstall(&self, scope: Scope, force: bool, host: &dyn Host) -> Result<Plan, SetupError>;

    /// Whether the client has settings on this machine.
    fn is_found(&self, host: &dyn Host) -> bool;
}

/// The options of an installation.
#[derive(Clone, Copy, Debug)]
pub struct InstallOptions {
    pub scope: Scope,
    /// Includes the MCP server.
    pub mcp: bool,
    /// Includes a status line.
    pub status_line: bool,
    /// Proceeds even if a base URL points elsewhere, or a file of `ctx` was changed by hand.
    pub force: bool,
}

/// Files to change, and messages about it.
pub struct Plan {
    pub scope: Scope,
    /// The title of the client.
    pub client: &'static str,
    pub journal: Journal,
    pub changes: Vec<Change>,
    pub notes: Vec<String>,
    /// The client's base URL after the change.
    pub base_url: Option<String>,
    /// The message after the change, and the one if nothing changed.
    pub done: String,
    pub nothing: String,
}

impl Plan {
    /// The plan of an uninstallation.
    pub(crate) fn undo(client: &'static str, scope: Scope, journal: Journal, changes: Vec<Change>) -> Plan {
        let stays = changes.iter().flat_map(|change| &change.stays);
        let notes = stays
            .map(|what| format!("{what} has been changed since its installation and is kept; remove it yourself"))
            .collect();
        let (name, other) = (scope.name(), scope.other().name());
        let done = format!("Done. {client} no longer uses ctx from its next start.");
        let nothing = format!("ctx is not installed there ({name} scope); try `--scope {other}`.");
        Plan { scope, client, journal, changes, notes, base_url: None, done, nothing }
    }
}

/// The target daemon, running or not.
#[derive(Clone, Debug)]
pub struct Daemon {
    pub address: SocketAddr,
    pub upstream: String,
    /// The upstreams of all providers: name and URL.
    pub upstreams: Vec<(String, String)>,
    pub is_up: bool,
    /// Arguments of the MCP server, which start this daemon if necessary.
    pub served: Vec<String>,
}

impl Daemon {
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The URL of a provider's upstream.
    pub fn upstream_of(&self, provider: &str) -> Option<&str> {
        self.upstreams.iter().find(|(name, _)| name == provider).map(|(_, url)| url.as_str())
    }
}

/// The machine that a client is installed on, as an installer needs it.
pub trait Host {
    /// The folder of the project.
    fn folder(&self) -> &Path;

    /// An environment variable; an empty one is unset.
    fn variable(&self, name: &str) -> Option<OsString>;

    fn daemon(&self) -> Result<Daemon, SetupError>;

    /// The home of `ctx`, if it is not the default: commands run by the client must find it.
    fn own_home(&self) -> Result<Option<PathBuf>, SetupError>;

    /// The name or path by which the client starts `ctx`, not quoted for any shell, and a remark on it.
    fn program(&self, scope: Scope) -> (String, Option<String>);

    /// A base URL in the daemon's spelling; `None` if it is not one.
    fn base_url(&self, text: &str) -> Option<String>;

    /// The path of a journal in the home of `ctx`.
    fn journal(&self, name: &str) -> Result<PathBuf, SetupError>;

    /// Writes a journal so that only its owner can read it.
    fn write_journal(&self, path: &Path, bytes: &[u8]) -> Result<(), SetupError>;
}
