//! What the daemon shall do, decided completely before it starts: flags, then the environment, then the `ctx.toml` of the
//! home or the one that was named, then the defaults. A project's file decides nothing here.

pub mod context_editing;
pub mod env;
mod error;
pub mod explain;
mod file;
mod helper;
pub mod home;
pub mod keys;
mod models;
mod project;
pub mod schema;
pub mod trust;
pub mod upstreams;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use ctx_server::{ProxySettings, Secret, Upstream, UpstreamUrl};

pub use self::context_editing::LiveRules;
use self::context_editing::{Places, Speaker};
pub use self::error::ConfigError;
pub use self::file::ConfigFile;
pub use self::helper::key_variable;
use crate::env::{Environment, Variable};
use crate::home::Home;

pub const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8788);
pub const DEFAULT_UPSTREAM: &str = "https://api.anthropic.com";

/// What the command line says about the daemon.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    pub listen: Option<SocketAddr>,
    pub allow_remote: bool,
    /// Anthropic's.
    pub upstream: Option<UpstreamUrl>,
    /// All others, by name.
    pub upstreams: Vec<(String, UpstreamUrl)>,
    pub config: Option<PathBuf>,
}

#[derive(Clone, Debug)]
pub struct Settings {
    pub listen: SocketAddr,
    pub allow_remote: bool,
    pub upstream: Upstream,
    pub upstreams: Vec<(String, Upstream)>,
    /// Where offloaded content goes, if not into the home.
    pub offload: Option<PathBuf>,
    /// What agents may do over MCP: what no file forbids.
    pub mcp: ctx_server::mcp::Settings,
    /// Who finds words for operations that lack them.
    pub helper: ctx_server::helper::Settings,
    /// What the moments are told by that changes wait for.
    pub moments: ctx_composer::edit::Moments,
    /// Prices, windows and the like.
    pub models: ctx_models::Models,
    /// Things that a person should hear about and that stop nothing.
    pub remarks: Vec<String>,
    /// Things that are wrong, and stop nothing either.
    pub wrong: Vec<String>,
    /// The configuration files that were read, the stronger first.
    pub files: Vec<PathBuf>,
}

impl Settings {
    pub fn load(flags: &Flags, environment: &Environment, home: &Home, folder: &Path) -> Result<Self, ConfigError> {
        let files = read_files(flags, environment, home)?;
        let from_files = |find: fn(&ConfigFile) -> Option<bool>| files.iter().find_map(find);
        let mut remarks: Vec<String> =
            files.iter().flat_map(|file| file.unknown.iter().map(|unknown| unknown.words.clone())).collect();

        let listen = first([
            flags.listen.map(Ok),
            parsed(environment, env::LISTEN, parse_listen),
            files.iter().find_map(|file| file.listen).map(Ok),
            Some(Ok(DEFAULT_LISTEN)),
        ])?;
        let url = first([
            flags.upstream.clone().map(Ok),
            parsed(environment, env::UPSTREAM, |text| {
                text.parse().map_err(|why: ctx_server::UpstreamUrlError| why.to_string())
            }),
            files.iter().find_map(|file| file.upstream.clone()).map(Ok),
            Some(
                DEFAULT_UPSTREAM.parse().map_err(|_| ConfigError::new("upstream", "the default upstream is not a URL")),
            ),
        ])?;
        let mut upstream = Upstream::new(url);
        upstream.extra_ca = files.iter().find_map(|file| file.ca_files.clone()).unwrap_or_default();
        upstream.extra_ca.extend(ca_files_of_others(environment, &mut remarks));
        upstream.proxies = proxies(environment, &files);
        upstream.http2 = from_files(|file| file.http2).unwrap_or(true);
        let (upstream, upstreams) = upstreams::all(upstream, flags, environment, &files);
        let mut wrong: Vec<String> = files.iter().flat_map(|file| file.context_editing.wrong(&file.path)).collect();
        for source in Places::new(flags, environment, home).project(folder) {
            let Some(said) = source.read().filter(|_| source.speaker == Speaker::Project) else { continue };
            remarks.extend(said.ignored.iter().map(|remark| remark.at(&source.path)));
            wrong.extend(said.all_wrong(&source.path));
        }
        Ok(Self {
            listen,
            allow_remote: flags.allow_remote || from_files(|file| file.allow_remote).unwrap_or(false),
            upstream,
            upstreams,
            mcp: files.iter().map(|file| file.mcp.clone()).fold(Default::default(), ctx_server::mcp::Settings::and),
            helper: helper::settings(&files, environment),
            moments: moments(&files),
            models: models::models(&files)?,
            offload: files.iter().find_map(|file| file.offload.clone()),
            remarks,
            wrong,
            files: files.into_iter().map(|file| file.path).collect(),
        })
    }
}

fn moments(files: &[ConfigFile]) -> ctx_composer::edit::Moments {
    let usual = ctx_composer::edit::Moments::default();
    let percent = files.iter().find_map(|file| file.near_limit_percent);
    ctx_composer::edit::Moments {
        near_limit_percent: percent.unwrap_or(usual.near_limit_percent),
        cache_seconds: files.iter().find_map(|file| file.cache_seconds),
    }
}

fn read_files(flags: &Flags, environment: &Environment, home: &Home) -> Result<Vec<ConfigFile>, ConfigError> {
    let named = flags.config.clone().or_else(|| environment.get(env::CONFIG).map(PathBuf::from));
    let Some(path) = named else { return Ok(ConfigFile::read(&home.config_file())?.into_iter().collect()) };
    let file = ConfigFile::read(&path)?.ok_or_else(|| {
        ConfigError::new("config", format!("there is no configuration file {}", path.display()))
            .hint("--config and CTX_CONFIG must name a file that exists")
    })?;
    Ok(vec![file])
}

/// The strongest source that says something; what it says must be right.
fn first<T>(sources: impl IntoIterator<Item = Option<Result<T, ConfigError>>>) -> Result<T, ConfigError> {
    let silent = || Err(ConfigError::new("config", "nothing decides this setting"));
    sources.into_iter().flatten().next().unwrap_or_else(silent)
}

fn parsed<T>(
    environment: &Environment,
    variable: Variable,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Option<Result<T, ConfigError>> {
    let refuse = |why| {
        ConfigError::new("environment", format!("{}: {why}", variable.name()))
            .hint(format!("correct or unset {}", variable.name()))
    };
    environment.text(variable).map(|text| parse(&text).map_err(refuse))
}

/// `127.0.0.1:8788`, `[::1]:8788`, `localhost:8788` or just `8788`. Other names are not looked up: a name that
/// resolves elsewhere tomorrow must not open the door to others.
pub fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let text = text.trim();
    let local = |port: &str| port.parse().ok().map(|port| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
    text.parse()
        .ok()
        .or_else(|| local(text.strip_prefix("localhost:").unwrap_or(text)))
        .ok_or_else(|| "give an address and a port, such as 127.0.0.1:8788".to_owned())
}

/// The environment's proxies, or else the one of the files.
fn proxies(environment: &Environment, files: &[ConfigFile]) -> ProxySettings {
    let secret = |variable| environment.text(variable).map(Secret::new);
    let mut proxies = ProxySettings {
        http: secret(env::HTTP_PROXY),
        https: secret(env::HTTPS_PROXY),
        all: secret(env::ALL_PROXY),
        no: environment.text(env::NO_PROXY).or_else(|| files.iter().find_map(|file| file.no_proxy.clone())),
    };
    if proxies.http.is_none() && proxies.https.is_none() && proxies.all.is_none() {
        proxies.all = files.iter().find_map(|file| file.proxy.clone());
    }
    proxies
}

/// Files that variables of other programs name. Those programs go on without a file that is not there.
fn ca_files_of_others(environment: &Environment, remarks: &mut Vec<String>) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for variable in [env::SSL_CERT_FILE, env::NODE_EXTRA_CA_CERTS] {
        let Some(path) = environment.get(variable).map(PathBuf::from) else { continue };
        if path.is_file() {
            paths.push(path);
        } else {
            remarks.push(format!("{} names {}, which does not exist; it is ignored", variable.name(), path.display()));
        }
    }
    paths
}

#[cfg(test)]
mod tests;
