//! The machine on which a client is set up.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ctx_clients::setup::{Daemon, Host, Scope, SetupError};
use ctx_core::ErrorCode;
use ctx_server::UpstreamUrl;
use ctx_wire::Provider;

use crate::background;
use crate::client::callable;
use crate::config::{DEFAULT_LISTEN, DEFAULT_UPSTREAM, Flags, Settings};
use crate::context::Context;
use crate::env::{self, Environment};
use crate::failure::Failure;
use crate::home::open_private;

pub struct ThisHost<'c> {
    context: &'c Context,
    folder: PathBuf,
    /// The caller starts the daemon afterwards, so no note about a missing one is needed.
    starts_daemon: bool,
}

impl<'c> ThisHost<'c> {
    pub fn new(context: &'c Context) -> Result<Self, Failure> {
        let folder = std::env::current_dir().map_err(|error| Failure::file("find", Path::new("."), &error))?;
        Ok(Self { context, folder, starts_daemon: false })
    }

    /// The same for a caller that starts the daemon after the changes.
    pub fn starting_daemon(self) -> Self {
        Self { starts_daemon: true, ..self }
    }

    fn find_daemon(&self) -> Result<Daemon, Failure> {
        let context = self.context;
        if let Some((client, status)) = background::running(context)? {
            let others = status.upstreams.into_iter().map(|upstream| (upstream.name, upstream.url)).collect();
            return Ok(self.daemon_at(client.address(), status.upstream, others, true));
        }
        let flags = Flags { listen: context.place.listen, ..Flags::default() };
        let settings = Settings::load(&flags, &context.environment, &context.home()?, &self.folder)?;
        if settings.listen.port() == 0 {
            return Err(Failure::new(
                ErrorCode::NoPort,
                "the daemon would use any free port, so its address is unknown in advance",
            )
            .hint("pass an address: --listen 127.0.0.1:8788"));
        }
        let others =
            settings.upstreams.iter().map(|(name, upstream)| (name.clone(), upstream.url.to_string())).collect();
        Ok(self.daemon_at(callable(settings.listen), settings.upstream.url.to_string(), others, self.starts_daemon))
    }

    /// `upstreams`: those of providers other than the first.
    fn daemon_at(
        &self,
        address: SocketAddr,
        upstream: String,
        mut upstreams: Vec<(String, String)>,
        is_up: bool,
    ) -> Daemon {
        upstreams.push((Provider::DEFAULT.name().to_owned(), upstream.clone()));
        let (own_address, own_upstream) = self.configured();
        let mut served = vec!["mcp".to_owned()];
        if address != own_address {
            served.extend(["--listen".to_owned(), address.to_string()]);
        }
        if upstream.trim_end_matches('/') != own_upstream.trim_end_matches('/') {
            served.extend(["--upstream".to_owned(), upstream.clone()]);
        }
        Daemon { address, upstream, upstreams, is_up, served }
    }

    /// The address and the upstream of a daemon that is started without flags and variables. An agent's command names
    /// only what differs from them: the configuration file may change later.
    fn configured(&self) -> (SocketAddr, String) {
        let home = self.context.home().ok();
        let settings =
            home.and_then(|home| Settings::load(&Flags::default(), &Environment::of(&[]), &home, &self.folder).ok());
        settings.map_or_else(
            || (DEFAULT_LISTEN, DEFAULT_UPSTREAM.to_owned()),
            |settings| (callable(settings.listen), settings.upstream.url.to_string()),
        )
    }

    /// Whether a program with this name is on the PATH.
    pub fn finds_program(&self, name: &str) -> bool {
        on_path(name, &self.context.environment).is_some()
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        self.context.home()?.prepare()?;
        let draft = path.with_extension(format!("json.{}", std::process::id()));
        let written = open_private(&draft, |options| options.truncate(true))
            .and_then(|mut file| {
                file.write_all(bytes)?;
                file.sync_all()
            })
            .and_then(|()| fs::rename(&draft, path));
        written.map_err(|error| Failure::file("write", path, &error))
    }
}

impl Host for ThisHost<'_> {
    fn folder(&self) -> &Path {
        &self.folder
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        self.context.environment.raw(name)
    }

    fn daemon(&self) -> Result<Daemon, SetupError> {
        Ok(self.find_daemon()?)
    }

    fn own_home(&self) -> Result<Option<PathBuf>, SetupError> {
        let is_named = self.context.place.home.is_some() || self.context.environment.get(env::HOME).is_some();
        is_named.then(|| Ok(self.context.home()?.path().to_owned())).transpose()
    }

    fn program(&self, scope: Scope) -> (String, Option<String>) {
        program(scope, &self.context.environment)
    }

    fn base_url(&self, text: &str) -> Option<String> {
        text.parse::<UpstreamUrl>().ok().map(|url| url.to_string())
    }

    fn journal(&self, name: &str) -> Result<PathBuf, SetupError> {
        Ok(self.context.home()?.path().join(format!("{name}.json")))
    }

    fn write_journal(&self, path: &Path, bytes: &[u8]) -> Result<(), SetupError> {
        Ok(self.write(path, bytes)?)
    }
}

impl From<Failure> for SetupError {
    fn from(failure: Failure) -> Self {
        Self::Refused { code: failure.code, message: failure.message, hint: failure.hint }
    }
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        match error {
            SetupError::File { doing, path, error } => Self::file(doing, &path, &error),
            SetupError::Refused { code, message, hint } => Self::new(code, message).hint(hint.unwrap_or_default()),
        }
    }
}

fn on_path(name: &str, environment: &Environment) -> Option<PathBuf> {
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let folders = environment.get(env::PATH).unwrap_or_default();
    std::env::split_paths(&folders).map(|folder| folder.join(&name)).find(|path| path.is_file())
}

/// The agent's command for this program: its name if that resolves to it, otherwise its path.
fn program(scope: Scope, environment: &Environment) -> (String, Option<String>) {
    let own = std::env::current_exe().and_then(|path| path.canonicalize()).unwrap_or_default();
    let found = on_path("ctx", environment);
    let is_own = found.as_ref().and_then(|path| path.canonicalize().ok()).is_some_and(|path| path == own);
    if is_own {
        return ("ctx".to_owned(), None);
    }
    let why = match found {
        Some(other) => format!("`ctx` on the PATH is another program ({})", other.display()),
        None => "`ctx` is not on the PATH".to_owned(),
    };
    if scope == Scope::Project {
        return ("ctx".to_owned(), Some(format!("{why}; the agent will need it there")));
    }
    let note = format!("{why}, so the settings contain {}; if you move it, run this again", own.display());
    (own.to_string_lossy().into_owned(), Some(note))
}

/// The path of this program: the one on the PATH if it is this program, because it stays the same after an upgrade.
pub fn program_path() -> Result<PathBuf, Failure> {
    let own = std::env::current_exe().map_err(|error| Failure::file("find", Path::new("ctx"), &error))?;
    let found =
        on_path("ctx", &Environment::Process).filter(|found| found.canonicalize().ok() == own.canonicalize().ok());
    Ok(found.unwrap_or(own))
}
