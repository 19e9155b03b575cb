//! The settings of a daemon: flags, then the environment, then the home's `ctx.toml` or a named file, then the
//! defaults. A project's file sets only `[context_editing]`, which is reread while the daemon runs.
//!
//! [`sections`] lists every key. A file is read into a [`layer`], layers are merged in [`merge`].

mod check;
pub mod env;
mod error;
pub mod explain;
mod file;
mod helper;
pub mod home;
pub mod layer;
mod live;
pub mod merge;
mod oidc;
mod project;
mod read;
mod retention;
pub mod schema;
pub mod sections;
pub mod sources;
pub mod store;
mod team;
mod tree;
pub mod trust;
pub mod upstreams;
mod yaml;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ctx_core::ErrorCode;
use ctx_server::{ProxySettings, Secret, TlsFiles, Upstream, UpstreamUrl};
use ctx_store::PostgresAddress;

use self::env::{Environment, Variable};
pub use self::error::ConfigError;
pub use self::file::ConfigFile;
pub use self::helper::key_variable;
use self::home::Home;
use self::layer::Origin;
pub use self::live::{LiveRules, WaitlessRules};
use self::sections::UpstreamKeys;
use self::sources::Places;

/// The default address.
pub const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8788);
/// The default upstream.
pub const DEFAULT_UPSTREAM: &str = ctx_wire::Provider::DEFAULT.url();

/// The flags of the command line for a daemon.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    pub listen: Option<SocketAddr>,
    pub allow_remote: bool,
    /// The default provider's upstream.
    pub upstream: Option<UpstreamUrl>,
    /// All other upstreams, by name.
    pub upstreams: Vec<(String, UpstreamUrl)>,
    /// The database, instead of a file in the home.
    pub store: Option<PostgresAddress>,
    pub config: Option<PathBuf>,
    /// Serve several people.
    pub team: bool,
    /// The port's certificate, and its key.
    pub tls: (Option<PathBuf>, Option<PathBuf>),
}

/// The settings of a daemon, complete before it starts.
#[derive(Clone, Debug)]
pub struct Settings {
    pub listen: SocketAddr,
    pub allow_remote: bool,
    pub tls: Option<TlsFiles>,
    /// The address of a port for `/metrics` alone.
    pub metrics: Option<SocketAddr>,
    /// The time from the stop signal until the port closes.
    pub drain: Duration,
    /// The address by which people reach the page.
    pub public_url: Option<ctx_server::PublicUrl>,
    pub upstream: Upstream,
    pub upstreams: Vec<(String, Upstream)>,
    /// The database, if the store is not a file in the home.
    pub store: Option<PostgresAddress>,
    /// Whether people use the daemon with keys.
    pub team: bool,
    /// How a team's agents read offloaded content.
    pub handles: ctx_engine::edit::handle::Handles,
    /// The idle time after which a person's conversations are closed.
    pub idle: Duration,
    /// The credentials of their requests to providers.
    pub credentials: ctx_server::UpstreamCredentials,
    /// The identity provider at which they sign in, if any.
    pub oidc: Option<ctx_server::OidcSettings>,
    /// The removal of old conversations, if any.
    pub retention: Option<ctx_server::RetentionSettings>,
    /// The folder of offloaded content, if it is not in the home.
    pub offload: Option<PathBuf>,
    /// Limits for agents over MCP.
    pub mcp: ctx_server::mcp::Settings,
    /// The model that writes summaries and titles.
    pub helper: ctx_server::helper::Settings,
    /// The moments that deferred edits wait for.
    pub moments: ctx_engine::Moments,
    /// Prices, windows and the like.
    pub models: ctx_models::Models,
    /// Remarks for a person; not fatal.
    pub remarks: Vec<String>,
    /// Errors in ignored sections; not fatal either.
    pub wrong: Vec<String>,
    /// The configuration file in use, if any.
    pub files: Vec<PathBuf>,
}

impl Settings {
    /// Determines all settings. `folder` is the daemon's working directory: remarks cover the project's files.
    pub fn load(flags: &Flags, environment: &Environment, home: &Home, folder: &Path) -> Result<Self, ConfigError> {
        let file = read_file(flags, environment, home)?;
        let files = file.iter().map(|file| file.path.clone()).collect();
        let file = file.unwrap_or_default();
        let config = &file.layer.config;
        let mut remarks: Vec<String> = file.layer.ignored.iter().map(|remark| remark.at(&file.path)).collect();
        let mut wrong = file.layer.all_wrong(&file.path);

        let listen = first([
            flags.listen.map(Ok),
            parsed(environment, env::LISTEN, parse_listen),
            config.listen.address.map(Ok),
            Some(Ok(DEFAULT_LISTEN)),
        ])?;
        let upstream = upstream(flags, environment, &file, &mut remarks)?;
        let (upstream, upstreams) = upstreams::all(upstream, flags, &file);
        for source in Places::new(flags, environment, home).project(folder) {
            let Some(layer) = source.read().filter(|_| source.origin == Origin::Project) else { continue };
            remarks.extend(layer.ignored.iter().map(|remark| remark.at(&source.path)));
            wrong.extend(layer.all_wrong(&source.path));
        }
        let usual = ctx_engine::Moments::default();
        Ok(Self {
            listen,
            tls: tls(flags, &file)?,
            metrics: config.listen.metrics,
            drain: Duration::from_secs(config.listen.drain_seconds.unwrap_or(0)),
            public_url: config.listen.public_url.clone(),
            allow_remote: flags.allow_remote || config.listen.allow_remote.unwrap_or(false),
            upstream,
            upstreams,
            mcp: ctx_server::mcp::Settings {
                read_only: config.mcp.read_only.unwrap_or(false),
                allow: config.mcp.allow.clone(),
            },
            helper: helper::settings(&config.helper, environment),
            moments: ctx_engine::Moments {
                near_limit_percent: config.edits.near_limit_percent.unwrap_or(usual.near_limit_percent),
                cache_seconds: config.edits.cache_seconds,
            },
            models: models(&file)?,
            store: store::address(flags, environment, &file)?,
            credentials: team::credentials(&file, environment)?,
            handles: ctx_engine::edit::handle::Handles { by_command: config.team.reads_back.as_deref() == Some("cli") },
            oidc: oidc::settings(&file, environment)?,
            idle: Duration::from_secs(60 * config.team.idle_minutes.unwrap_or(15)),
            team: flags.team || config.team.enabled.unwrap_or(false),
            retention: retention::settings(&config.retention)?,
            offload: config.offload.folder.as_ref().map(|folder| file.resolve(folder)),
            remarks,
            wrong,
            files,
        })
    }
}

/// The certificate's files: both, or none.
fn tls(flags: &Flags, file: &ConfigFile) -> Result<Option<TlsFiles>, ConfigError> {
    let listen = &file.layer.config.listen;
    let chosen = |flag: &Option<PathBuf>, key: &Option<PathBuf>| {
        flag.clone().or_else(|| key.as_ref().map(|path| file.resolve(path)))
    };
    let (certificate, key) = (&listen.tls_certificate, &listen.tls_key);
    match (chosen(&flags.tls.0, certificate), chosen(&flags.tls.1, key)) {
        (None, None) => Ok(None),
        (Some(certificate), Some(key)) => Ok(Some(TlsFiles { certificate, key })),
        (certificate, _) => {
            let missing = if certificate.is_some() { "key" } else { "certificate" };
            Err(ConfigError::new(
                ErrorCode::Config,
                format!("TLS needs a certificate and its key; the {missing} is missing"),
            )
            .hint("name both files: --tls-cert and --tls-key, or `tls_certificate` and `tls_key` under [listen]"))
        }
    }
}

fn upstream(
    flags: &Flags,
    environment: &Environment,
    file: &ConfigFile,
    remarks: &mut Vec<String>,
) -> Result<Upstream, ConfigError> {
    let keys = &file.layer.config.upstream.all;
    let url = first([
        flags.upstream.clone().map(Ok),
        parsed(environment, env::UPSTREAM, |text| {
            text.parse().map_err(|why: ctx_server::UpstreamUrlError| why.to_string())
        }),
        keys.url.clone().map(Ok),
        Some(
            DEFAULT_UPSTREAM
                .parse()
                .map_err(|_| ConfigError::new(ErrorCode::Upstream, "the default upstream is not a URL")),
        ),
    ])?;
    let mut upstream = Upstream::new(url);
    upstream.extra_ca = keys.ca_files.iter().flatten().map(|path| file.resolve(path)).collect();
    upstream.extra_ca.extend(ca_files_of_others(environment, remarks));
    upstream.proxies = proxies(environment, keys);
    upstream.http2 = keys.http2.unwrap_or(true);
    upstream.websocket = keys.websocket.unwrap_or(true);
    Ok(upstream)
}

/// The route to a gateway: proxies and authorities as for an upstream, without the files. Plain HTTP stays on this
/// machine, so no proxy sees it.
pub fn way_to_gateway(url: UpstreamUrl, authorities: Vec<PathBuf>, environment: &Environment) -> Upstream {
    let mut way = Upstream::new(url);
    way.extra_ca = authorities;
    way.extra_ca.extend(ca_files_of_others(environment, &mut Vec::new()));
    if way.url.is_https() {
        way.proxies = proxies(environment, &UpstreamKeys::default());
    }
    way
}

/// The catalogue with the file's figures.
fn models(file: &ConfigFile) -> Result<ctx_models::Models, ConfigError> {
    let mut models = ctx_models::Models::listed().clone();
    for (name, keys) in &file.layer.config.models {
        let refuse =
            |why| ConfigError::new(ErrorCode::Config, format!("{}: `models.\"{name}\"`: {why}", file.path.display()));
        models.set(name, &keys.0).map_err(refuse)?;
    }
    Ok(models)
}

/// The named file, else that of the home, if it exists.
fn read_file(flags: &Flags, environment: &Environment, home: &Home) -> Result<Option<ConfigFile>, ConfigError> {
    let named = flags.config.clone().or_else(|| environment.get(env::CONFIG).map(PathBuf::from));
    let Some(path) = named else { return ConfigFile::read(&home.config_file()) };
    let file = ConfigFile::read(&path)?.ok_or_else(|| {
        ConfigError::new(ErrorCode::Config, format!("no configuration file {}", path.display()))
            .hint("--config and CTX_CONFIG must name an existing file")
    })?;
    Ok(Some(file))
}

/// The value of the strongest source that sets one.
fn first<T>(sources: impl IntoIterator<Item = Option<Result<T, ConfigError>>>) -> Result<T, ConfigError> {
    let silent = || Err(ConfigError::new(ErrorCode::Config, "nothing decides this setting"));
    sources.into_iter().flatten().next().unwrap_or_else(silent)
}

fn parsed<T>(
    environment: &Environment,
    variable: Variable,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Option<Result<T, ConfigError>> {
    let refuse = |why| {
        ConfigError::new(ErrorCode::Environment, format!("{}: {why}", variable.name()))
            .hint(format!("correct or unset {}", variable.name()))
    };
    environment.text(variable).map(|text| parse(&text).map_err(refuse))
}

/// Parses `127.0.0.1:8788`, `[::1]:8788`, `localhost:8788` or just `8788`. Other names are not resolved: a name that
/// resolves elsewhere tomorrow must not expose the daemon.
pub fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let text = text.trim();
    let local = |port: &str| port.parse().ok().map(|port| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
    text.parse()
        .ok()
        .or_else(|| local(text.strip_prefix("localhost:").unwrap_or(text)))
        .ok_or_else(|| "expected an address and a port, such as 127.0.0.1:8788".to_owned())
}

/// The environment's proxies, else that of the file.
fn proxies(environment: &Environment, keys: &UpstreamKeys) -> ProxySettings {
    let secret = |variable| environment.text(variable).map(Secret::new);
    let mut proxies = ProxySettings {
        http: secret(env::HTTP_PROXY),
        https: secret(env::HTTPS_PROXY),
        all: secret(env::ALL_PROXY),
        no: environment.text(env::NO_PROXY).or_else(|| keys.no_proxy.clone()),
    };
    if proxies.http.is_none() && proxies.https.is_none() && proxies.all.is_none() {
        proxies.all = keys.proxy.clone();
    }
    proxies
}

/// Files named by variables of other programs, which ignore missing ones.
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
