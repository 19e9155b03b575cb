//! The sections of the daemon as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Component, Path, PathBuf};

use ctx_server::helper::Provider;
use ctx_server::{PublicUrl, PublicUrlError, Secret, UpstreamUrl, UpstreamUrlError};
use ctx_team::oidc::{Issuer, IssuerError};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};

/// The address of the daemon.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Listen {
    /// address that the daemon listens on
    #[schemars(with = "String", example = "127.0.0.1:8788")]
    #[serde(deserialize_with = "address")]
    pub address: Option<SocketAddr>,
    /// accept connections from other machines without TLS or keys, because something else protects the port
    #[schemars(example = false)]
    pub allow_remote: Option<bool>,
    /// file with the certificate of the port; it is read again when it changes
    #[schemars(example = &"/etc/ctx/tls.pem")]
    pub tls_certificate: Option<PathBuf>,
    /// file with the private key of the certificate
    #[schemars(example = &"/etc/ctx/tls.key")]
    pub tls_key: Option<PathBuf>,
    /// address of a port for `/metrics` alone, which needs no key
    #[schemars(with = "String", example = "127.0.0.1:9788")]
    #[serde(deserialize_with = "address")]
    pub metrics: Option<SocketAddr>,
    /// seconds between the signal to stop and the closing of the port; meanwhile the daemon is not ready
    #[schemars(range(max = 600), example = 5)]
    pub drain_seconds: Option<u64>,
    /// address by which people reach the daemon's page from other machines
    #[schemars(with = "String", example = "https://ctx.example.com")]
    #[serde(deserialize_with = "public_url")]
    pub public_url: Option<PublicUrl>,
}

/// The connection to the providers: settings for all upstreams, and a section for each named one.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Upstreams {
    #[serde(flatten)]
    pub all: UpstreamKeys,
    #[serde(flatten)]
    pub named: BTreeMap<String, UpstreamKeys>,
}

/// An upstream. A named one is served below /to/NAME/; anthropic, openai, chatgpt, gemini, code-assist, vertex and bedrock have default addresses.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UpstreamKeys {
    /// base URL of the upstream
    #[schemars(with = "String", example = "https://api.anthropic.com")]
    #[serde(deserialize_with = "url")]
    pub url: Option<UpstreamUrl>,
    /// files with additional certificate authorities
    #[schemars(inner(length(min = 1)), title = "a list of paths in quotes", example = ["ca.pem"])]
    pub ca_files: Option<Vec<PathBuf>>,
    /// proxy for the connection to the upstream
    #[schemars(with = "String", example = "http://proxy:3128", extend("writeOnly" = true))]
    #[serde(deserialize_with = "secret")]
    pub proxy: Option<Secret>,
    /// hosts to reach without the proxy
    #[schemars(example = &"localhost")]
    pub no_proxy: Option<String>,
    /// use HTTP/2 if the upstream supports it
    #[schemars(example = true)]
    pub http2: Option<bool>,
    /// pass WebSockets of model calls; if not, agents fall back to HTTP
    #[schemars(example = true)]
    pub websocket: Option<bool>,
}

/// Where conversations are stored.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StoreKeys {
    /// address of a PostgreSQL database, instead of a file in the home
    #[schemars(with = "String", example = "postgres://ctx@db.example/ctx", extend("writeOnly" = true))]
    #[serde(deserialize_with = "secret")]
    pub url: Option<Secret>,
    /// file with the database password
    #[schemars(example = &"/etc/ctx/password")]
    pub password_file: Option<PathBuf>,
}

/// A daemon for several people.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TeamKeys {
    /// require a key of every request, and keep the conversations of people apart
    #[schemars(example = true)]
    pub enabled: Option<bool>,
    /// credentials for the providers: the clients' own, or keys of the gateway
    #[schemars(schema_with = "credential_modes", example = &"own")]
    #[serde(deserialize_with = "credential_mode")]
    pub credentials: Option<String>,
    /// keys of the gateway, as UPSTREAM=FILE or UPSTREAM@GROUP=FILE; `env:NAME` in place of a file names a variable
    #[schemars(title = "a list of texts in quotes", inner(length(min = 1)))]
    #[schemars(example = ["anthropic=/etc/ctx/anthropic.key"])]
    pub keys: Option<Vec<String>>,
    /// logins of subscriptions, if clients send their own credentials
    #[schemars(schema_with = "subscription_modes", example = &"refuse")]
    #[serde(deserialize_with = "subscription_mode")]
    pub subscriptions: Option<String>,
    /// how agents read offloaded content: with the MCP server alone, or with `ctx cat` too, if they run commands
    #[schemars(schema_with = "ways_to_read_back", example = &"cli")]
    #[serde(deserialize_with = "way_to_read_back")]
    pub reads_back: Option<String>,
    /// minutes without use after which the conversations of a person are closed; the next request opens them again
    #[schemars(range(min = 1, max = 10_080), example = 15)]
    pub idle_minutes: Option<u64>,
    pub oidc: OidcKeys,
}

/// An identity provider (OpenID Connect) at which people sign in. It needs `listen.public_url`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OidcKeys {
    /// address of the provider, exactly as its tokens name it
    #[schemars(with = "String", example = "https://login.example.com")]
    #[serde(deserialize_with = "issuer")]
    pub issuer: Option<Issuer>,
    /// id of the daemon at the provider
    #[schemars(example = &"context-composer")]
    pub client_id: Option<String>,
    /// file with the daemon's secret at the provider
    #[schemars(example = &"/etc/ctx/oidc.secret")]
    pub client_secret_file: Option<PathBuf>,
    /// environment variable that contains the secret, instead of a file
    #[schemars(example = &"CTX_OIDC_SECRET")]
    #[serde(deserialize_with = "variable")]
    pub client_secret_env: Option<String>,
    /// name of the provider on the page's button
    #[schemars(length(min = 1, max = 64), example = &"Example Login")]
    pub label: Option<String>,
    /// scopes that are asked for
    #[schemars(title = "a list of texts in quotes", inner(length(min = 1)))]
    #[schemars(example = ["openid", "profile", "email", "groups"])]
    pub scopes: Option<Vec<String>>,
    /// claim with the name of a person, by which people are known to the team
    #[schemars(length(min = 1), example = &"email")]
    pub name_claim: Option<String>,
    /// trust the claim `email` even if the provider does not mark it as verified
    #[schemars(example = false)]
    pub trust_unverified_email: Option<bool>,
    /// claim with the groups of a person, such as `groups` or `realm_access.roles`; a person's groups then follow the provider
    #[schemars(length(min = 1), example = &"groups")]
    pub groups_claim: Option<String>,
    /// only people of these groups are admitted; everyone if there are none
    #[schemars(title = "a list of texts in quotes", inner(length(min = 1)), example = ["engineering"])]
    pub allowed_groups: Option<Vec<String>>,
    /// groups whose people are admins; roles then follow the provider
    #[schemars(title = "a list of texts in quotes", inner(length(min = 1)), example = ["platform"])]
    pub admin_groups: Option<Vec<String>>,
    /// groups whose people are auditors; roles then follow the provider
    #[schemars(title = "a list of texts in quotes", inner(length(min = 1)), example = ["security"])]
    pub auditor_groups: Option<Vec<String>>,
    /// people who are not in the team yet: refused, or added as members when they first come
    #[schemars(schema_with = "unknown_people_modes", example = &"refuse")]
    #[serde(deserialize_with = "unknown_people_mode")]
    pub unknown_people: Option<String>,
    /// hours after which people sign in again
    #[schemars(range(min = 1, max = 720), example = 12)]
    pub session_hours: Option<u64>,
    /// audience of the provider's tokens that programs may send in place of a key; none are accepted without it
    #[schemars(length(min = 1), example = &"https://ctx.example.com")]
    pub jwt_audience: Option<String>,
}

/// How long conversations stay, counted from their last activity.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RetentionKeys {
    /// days after which a conversation is removed; its figures stay
    #[schemars(range(min = 1, max = 36_500), example = 30)]
    pub content_days: Option<u64>,
    /// days after which its figures are removed too, by the month
    #[schemars(range(min = 1, max = 36_500), example = 400)]
    pub figures_days: Option<u64>,
    /// remove edited conversations as well; if their session goes on later, its requests leave without the edits
    #[schemars(example = false)]
    pub edited: Option<bool>,
}

/// Content that edits move to files.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Offload {
    /// folder for offloaded content
    #[schemars(example = ".ctx/offload")]
    #[serde(deserialize_with = "folder")]
    pub folder: Option<PathBuf>,
}

/// Limits for agents that use the MCP server.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Mcp {
    /// agents may only read over MCP
    #[schemars(example = true)]
    pub read_only: Option<bool>,
    /// operations that agents may use over MCP
    #[schemars(with = "Vec<String>", title = "a list of texts in quotes", inner(length(min = 1)))]
    #[schemars(example = ["delete", "pin"])]
    #[serde(deserialize_with = "operations")]
    pub allow: Option<BTreeSet<String>>,
}

/// The model that writes summaries and titles.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Helper {
    /// provider of the helper model
    #[schemars(schema_with = "provider_names", example = &"none")]
    #[serde(deserialize_with = "provider")]
    pub provider: Option<Provider>,
    /// base URL of the helper model
    #[schemars(with = "String", example = "http://localhost:11434/v1")]
    #[serde(deserialize_with = "helper_url")]
    pub url: Option<UpstreamUrl>,
    /// name of the helper model
    #[schemars(example = &"qwen")]
    pub model: Option<String>,
    /// environment variable that contains the API key
    #[schemars(example = &"MY_KEY")]
    #[serde(deserialize_with = "variable")]
    pub key_env: Option<String>,
    /// token budget per day
    #[schemars(example = 200_000)]
    pub budget_per_day: Option<u64>,
    /// timeout for one response, in seconds
    #[schemars(example = 60)]
    pub timeout: Option<u64>,
    /// maximum number of characters per request
    #[schemars(example = 100_000)]
    pub max_chars: Option<u64>,
    /// write titles in the background
    #[schemars(example = true)]
    pub titles: Option<bool>,
    /// summarise ended phases in the background, where automatic editing is on and its account allows the price
    #[schemars(example = true)]
    pub phases: Option<bool>,
}

/// The conditions of deferred edits.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Edits {
    /// usage of the window, in percent, that counts as near the limit
    #[schemars(range(min = 1, max = 100), example = 80)]
    pub near_limit_percent: Option<u64>,
    /// lifetime of the provider's cache, in seconds
    #[schemars(range(min = 1, max = 86_400), example = 600)]
    pub cache_seconds: Option<u64>,
}

/// Parses a text; the error is the parser's.
fn parsed<'de, T, D: Deserializer<'de>>(
    value: D,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>, D::Error> {
    parse(&String::deserialize(value)?).map(Some).map_err(de::Error::custom)
}

fn address<'de, D: Deserializer<'de>>(value: D) -> Result<Option<SocketAddr>, D::Error> {
    parsed(value, crate::parse_listen)
}

fn public_url<'de, D: Deserializer<'de>>(value: D) -> Result<Option<PublicUrl>, D::Error> {
    parsed(value, |text| text.parse().map_err(|why: PublicUrlError| why.to_string()))
}

fn url<'de, D: Deserializer<'de>>(value: D) -> Result<Option<UpstreamUrl>, D::Error> {
    parsed(value, |text| text.parse().map_err(|why: UpstreamUrlError| why.to_string()))
}

fn helper_url<'de, D: Deserializer<'de>>(value: D) -> Result<Option<UpstreamUrl>, D::Error> {
    parsed(value, |text| text.parse().map_err(|why: UpstreamUrlError| why.to_string().replace("upstream", "helper's")))
}

fn secret<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Secret>, D::Error> {
    parsed(value, |text| Ok(Secret::new(text)))
}

fn folder<'de, D: Deserializer<'de>>(value: D) -> Result<Option<PathBuf>, D::Error> {
    parsed(value, |text| {
        let climbs = Path::new(text).components().any(|part| matches!(part, Component::ParentDir));
        let is_fine = !text.is_empty() && !climbs;
        is_fine.then(|| PathBuf::from(text)).ok_or_else(|| "must be a path without `..`".to_owned())
    })
}

fn operations<'de, D: Deserializer<'de>>(value: D) -> Result<Option<BTreeSet<String>>, D::Error> {
    let names = Vec::<String>::deserialize(value)?;
    let known = ctx_server::mcp::Settings::allowing(names.iter().map(String::as_str));
    known.map(Some).map_err(de::Error::custom)
}

fn provider<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Provider>, D::Error> {
    parsed(value, |text| Provider::named(text).ok_or_else(|| "is unknown".to_owned()))
}

fn provider_names(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": Provider::NAMES})
}

fn one_of<'de, D: Deserializer<'de>>(value: D, known: &[&str]) -> Result<Option<String>, D::Error> {
    parsed(value, |text| match known.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(format!("must be {}", known.join(" or "))),
    })
}

const UNKNOWN_PEOPLE: [&str; 2] = ["refuse", "add"];
const CREDENTIALS: [&str; 2] = ["own", "gateway"];
const SUBSCRIPTIONS: [&str; 2] = ["refuse", "pass"];
const READ_BACK: [&str; 2] = ["mcp", "cli"];

fn credential_mode<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    one_of(value, &CREDENTIALS)
}

fn credential_modes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": CREDENTIALS})
}

fn subscription_mode<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    one_of(value, &SUBSCRIPTIONS)
}

fn subscription_modes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": SUBSCRIPTIONS})
}

fn way_to_read_back<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    one_of(value, &READ_BACK)
}

fn ways_to_read_back(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": READ_BACK})
}

fn unknown_people_mode<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    one_of(value, &UNKNOWN_PEOPLE)
}

fn unknown_people_modes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": UNKNOWN_PEOPLE})
}

fn issuer<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Issuer>, D::Error> {
    parsed(value, |text| text.parse().map_err(|why: IssuerError| why.to_string()))
}

fn variable<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    parsed(value, |name| {
        let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let is_name = is_plain && name.len() <= 64 && name.chars().next().is_some_and(|c| !c.is_ascii_digit());
        let why = "must be the name of a variable, not the key itself";
        is_name.then(|| name.to_owned()).ok_or_else(|| why.to_owned())
    })
}
