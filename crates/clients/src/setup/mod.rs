//! Setup: how a client's own settings are changed so that it speaks through the daemon, and changed back.
//!
//! The files of a client are planned completely, shown by the caller, and then written all or none. [`Journal`] keeps
//! what is needed to restore them; a [`Syntax`] changes one entry of a settings file and nothing else. A client adds
//! where its settings are and which entries it needs: an [`Installer`], for most clients a [`settings::SettingsInstaller`].

mod change;
mod env_lines;
mod error;
pub(crate) mod file;
mod journal;
pub(crate) mod jsonc;
mod line;
pub(crate) mod settings;
mod syntax;
mod toml;
mod yaml;

pub use change::{Change, Wanted, make};
pub use error::SetupError;
pub use journal::Journal;
pub use syntax::Syntax;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Which projects a setup is for.
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
    /// Plans the changes that lead the client to the daemon.
    fn install(&self, wishes: &Wishes, host: &dyn Host) -> Result<Plan, SetupError>;

    /// Plans the way back; `force` also removes files that were changed by hand.
    fn uninstall(&self, scope: Scope, force: bool, host: &dyn Host) -> Result<Plan, SetupError>;

    /// Whether the client has settings on this machine.
    fn is_found(&self, host: &dyn Host) -> bool;
}

/// What shall be installed.
#[derive(Clone, Copy, Debug)]
pub struct Wishes {
    pub scope: Scope,
    /// The MCP server too.
    pub mcp: bool,
    /// A status line too.
    pub status_line: bool,
    /// Even if a base URL points elsewhere, or a file of ours was changed by hand.
    pub force: bool,
}

/// Files to change, and what to say about it.
pub struct Plan {
    pub scope: Scope,
    /// The title of the client.
    pub client: &'static str,
    pub journal: Journal,
    pub changes: Vec<Change>,
    pub notes: Vec<String>,
    /// Where the client will send its requests.
    pub base_url: Option<String>,
    /// When it is done; when there was nothing to do.
    pub done: String,
    pub nothing: String,
}

impl Plan {
    /// The plan of an uninstallation.
    pub(crate) fn undo(client: &'static str, scope: Scope, journal: Journal, changes: Vec<Change>) -> Plan {
        let stays = changes.iter().flat_map(|change| &change.stays);
        let notes = stays
            .map(|what| format!("{what} was changed since it was installed and stays; remove it yourself"))
            .collect();
        let (name, other) = (scope.name(), scope.other().name());
        let done = format!("Done. {client} no longer goes through ctx, from its next start on.");
        let nothing =
            format!("Nothing of ctx is installed there ({name} scope); `--scope {other}` looks at the other place.");
        Plan { scope, client, journal, changes, notes, base_url: None, done, nothing }
    }
}

/// The daemon that is meant, whether it runs or not.
#[derive(Clone, Debug)]
pub struct Daemon {
    pub address: SocketAddr,
    pub upstream: String,
    /// The upstreams of all providers: name and URL.
    pub upstreams: Vec<(String, String)>,
    pub is_up: bool,
    /// Arguments of the MCP server: if it has to start the daemon, it starts this one.
    pub served: Vec<String>,
}

impl Daemon {
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The URL of the upstream of a provider.
    pub fn upstream_of(&self, provider: &str) -> Option<&str> {
        self.upstreams.iter().find(|(name, _)| name == provider).map(|(_, url)| url.as_str())
    }
}

/// The machine that a client is installed on, as far as an installer needs it.
pub trait Host {
    /// The folder that a project's settings are for.
    fn folder(&self) -> &Path;

    /// An environment variable; one that is empty is unset.
    fn variable(&self, name: &str) -> Option<OsString>;

    fn daemon(&self) -> Result<Daemon, SetupError>;

    /// Our own home, if it is not the usual one: commands that the client runs must find it.
    fn own_home(&self) -> Result<Option<PathBuf>, SetupError>;

    /// How the client calls `ctx`, and what is worth saying about that.
    fn program(&self, scope: Scope) -> (String, Option<String>);

    /// A base URL as the daemon spells it; `None` for what is none.
    fn base_url(&self, text: &str) -> Option<String>;

    /// The file in our home that a journal is kept in.
    fn journal(&self, name: &str) -> Result<PathBuf, SetupError>;

    /// Writes a journal so that only its owner can read it.
    fn write_journal(&self, path: &Path, bytes: &[u8]) -> Result<(), SetupError>;
}
