//! The command line: the verbs, and flags that several verbs share. The flags of one verb are in its file.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use ctx_api::call::of_session;
use ctx_clients::ClientId;
use ctx_core::ErrorCode;
use ctx_server::UpstreamUrl;
use ctx_store::PostgresAddress;
use ctx_wire::Provider;

use crate::client::encoded;
use crate::commands;
use crate::config::upstreams::parse_flag;
use crate::config::{self, Flags};
use crate::env::{self, Environment};
use crate::failure::Failure;
use crate::gateway::GatewayUrl;

/// Inspect and edit the context that a coding agent sends to its model.
#[derive(Parser, Debug)]
#[command(name = "ctx", version = env!("CTX_VERSION"), propagate_version = true)]
#[command(after_help = "`ctx COMMAND --help` explains a command and shows examples.")]
pub struct Cli {
    #[command(subcommand)]
    pub verb: Verb,
    #[command(flatten)]
    pub place: PlaceArguments,
}

#[derive(Subcommand, Debug)]
pub enum Verb {
    Up(commands::up::Arguments),
    Run(commands::run::Arguments),
    Demo(commands::demo::Arguments),
    Service(commands::service::Arguments),
    Stop(commands::stop::Arguments),
    Ui(commands::ui::Arguments),
    Conversations(commands::conversations::Arguments),
    List(commands::list::Arguments),
    Show(commands::show::Arguments),
    Search(commands::search::Arguments),
    Compose(commands::compose::Arguments),
    Sent(commands::sent::Arguments),
    Cat(commands::cat::Arguments),
    #[command(flatten)]
    Change(commands::change::Change),
    Preview(commands::preview::Arguments),
    Plan(commands::plan::Arguments),
    Waiting(commands::waiting::Arguments),
    Phase(commands::phase::Arguments),
    Export(commands::export::Arguments),
    History(commands::history::Arguments),
    Diff(commands::diff::Arguments),
    Timeline(commands::timeline::Arguments),
    Watch(commands::watch::Arguments),
    Stats(commands::stats::Arguments),
    WhyMiss(commands::why_miss::Arguments),
    Models(commands::models::Arguments),
    Status(commands::status::Arguments),
    Doctor(commands::doctor::Arguments),
    Explain(commands::explain::Arguments),
    Config(commands::config::Arguments),
    Trust(commands::trust::Arguments),
    Helper(commands::helper::Arguments),
    Lab(commands::lab::Arguments),
    Init(commands::init::Arguments),
    Install(commands::install::Arguments),
    Uninstall(commands::uninstall::Arguments),
    StatusLine(commands::status_line::Arguments),
    Purge(commands::purge::Arguments),
    Store(commands::store::Arguments),
    People(commands::people::Arguments),
    Keys(commands::keys::Arguments),
    Login(commands::login::Arguments),
    Logout(commands::logout::Arguments),
    Share(commands::share::Arguments),
    Audit(commands::audit::Arguments),
    Completions(commands::completions::Arguments),
    Man(commands::man::Arguments),
    Mcp(commands::mcp::Arguments),
}

impl Verb {
    /// Whether it concerns only this machine: its daemon, its files, its agents.
    pub fn is_local(&self) -> bool {
        matches!(
            self,
            Self::Up(_)
                | Self::Demo(_)
                | Self::Service(_)
                | Self::Stop(_)
                | Self::Config(_)
                | Self::Trust(_)
                | Self::Lab(_)
                | Self::Init(_)
                | Self::Install(_)
                | Self::Uninstall(_)
                | Self::Store(_)
        )
    }
}

/// Selects the daemon.
#[derive(Args, Debug, Clone, Default)]
pub struct PlaceArguments {
    /// The daemon's folder [env: CTX_HOME] [default: the platform's data folder]
    #[arg(long, global = true, value_name = "FOLDER", value_parser = non_empty_path)]
    pub home: Option<PathBuf>,
    /// The daemon's address [env: CTX_LISTEN] [default: 127.0.0.1:8788]
    #[arg(long, global = true, value_name = "ADDRESS", value_parser = config::parse_listen)]
    pub listen: Option<SocketAddr>,
    /// A daemon on another machine, https://HOST [env: CTX_GATEWAY] [default: the one you signed in to, if any]
    // Parsed later: clap's error would repeat the value, which may contain a password.
    #[arg(long, global = true, value_name = "URL", conflicts_with = "listen")]
    pub gateway: Option<String>,
}

impl PlaceArguments {
    pub fn gateway(&self) -> Result<Option<GatewayUrl>, Failure> {
        let refuse = |why| Failure::usage(format!("--gateway: {why}"));
        self.gateway.as_ref().map(|text| text.parse().map_err(refuse)).transpose()
    }
}

/// Flags of verbs that can print JSON.
#[derive(Args, Debug, Clone, Default)]
pub struct JsonArguments {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of verbs that read one conversation.
#[derive(Args, Debug, Clone)]
pub struct ConversationArguments {
    /// A conversation: an id, the start of one, words of its title, or `active` [env: CTX_CONV] [default: the
    /// calling agent's own, else `active`]
    #[arg(long = "conv", value_name = "ID", default_value_t = conversation_meant(&Environment::Process))]
    #[arg(hide_default_value = true, value_parser = non_empty)]
    pub conversation: String,
}

/// The default conversation. For an agent that runs `ctx`, it is the agent's own, because another one may be active by
/// now. Several sessions stand for none: `of_own_session` explains that.
pub fn conversation_meant(environment: &Environment) -> String {
    if let Some(named) = environment.text(env::CONVERSATION) {
        return named;
    }
    let sessions = own_sessions(environment);
    if sessions.is_empty() { "active".to_owned() } else { own_conversation(&sessions) }
}

/// The sessions that the environment names, with their agents. There are several if one agent runs another.
pub fn own_sessions(environment: &Environment) -> Vec<(ClientId, String)> {
    let mut sessions =
        ctx_clients::sessions_in(|name| environment.raw(name).map(|value| value.to_string_lossy().into_owned()));
    let mut known = std::collections::BTreeSet::new();
    sessions.retain(|(_, session)| known.insert(session.clone()));
    sessions
}

/// Only the exact session is an agent's own: the beginning of another one would be another agent's.
fn own_conversation(sessions: &[(ClientId, String)]) -> String {
    of_session(&sessions.iter().map(|(_, session)| session.as_str()).collect::<Vec<_>>().join(" or "))
}

/// The author of edits made here: an agent that runs `ctx`, or a person.
pub fn author(environment: &Environment) -> &'static str {
    let is_agent = ctx_clients::running_in(|name| environment.raw(name).is_some()).is_some();
    if is_agent { "agent" } else { "cli" }
}

/// Explains an unknown conversation that is the agent's own session: the agent does not use this daemon. The active
/// conversation may be another agent's, so it is no substitute.
pub fn of_own_session(failure: Failure, environment: &Environment) -> Failure {
    let sessions = own_sessions(environment);
    let is_own = failure.code == ErrorCode::UnknownConversation && failure.about == Some(own_conversation(&sessions));
    match &sessions[..] {
        [(id, session)] if is_own => {
            let client = ctx_clients::client(*id);
            let program = client.launch.programs.first().unwrap_or(&client.name);
            Failure::new(ErrorCode::UnknownConversation, format!("This session ({session}) does not use ctx.")).hint(
                format!(
                    "start the agent with `ctx run -- {program}`, or run `ctx install {}` once; --conv selects another \
                     conversation",
                    client.name
                ),
            )
        }
        [_, _, ..] if is_own => {
            let named = sessions.iter().map(|(id, session)| format!("{session} of {}", ctx_clients::client(*id).title));
            let named: Vec<String> = named.collect();
            let message = format!("One agent runs another here, so the session may be {}.", named.join(", or "));
            let hint = "select yours with --conv SESSION, or set CTX_CONV";
            Failure::new(ErrorCode::AmbiguousConversation, message).hint(hint)
        }
        _ => failure,
    }
}

/// Flags of verbs that can show an earlier state.
#[derive(Args, Debug, Clone, Default)]
pub struct AtArguments {
    /// Use the state after this commit: an id, the start of one, a tag or a branch
    #[arg(long, value_name = "COMMIT", value_parser = non_empty)]
    at: Option<String>,
}

impl AtArguments {
    /// Whether the newest state is requested.
    pub fn is_now(&self) -> bool {
        self.at.is_none()
    }

    /// The query with this point of the history added.
    pub fn of(&self, question: &str) -> String {
        let Some(at) = &self.at else { return question.to_owned() };
        let joint = if question.contains('?') { '&' } else { '?' };
        format!("{question}{joint}at={}", encoded(at, ""))
    }
}

/// Flags of verbs that start a daemon.
#[derive(Args, Debug, Clone, Default)]
pub struct DaemonArguments {
    /// Forward to URL instead of the Anthropic API, or NAME=URL for another upstream; repeatable [env: CTX_UPSTREAM]
    /// [default: the providers' own addresses]
    // Parsed later: clap's error would repeat the value, which may contain a password.
    #[arg(long, value_name = "[NAME=]URL")]
    upstream: Vec<String>,
    /// Configuration file [env: CTX_CONFIG] [default: ctx.toml in the home]
    #[arg(long, value_name = "FILE", value_parser = non_empty_path)]
    pub config: Option<PathBuf>,
    /// Store conversations in a PostgreSQL database, postgres://USER@HOST/DATABASE [env: CTX_STORE] [default: a file in
    /// the home]
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Serve several people, each with a key and conversations of their own
    #[arg(long)]
    pub team: bool,
    /// Use TLS on the port, with this certificate in PEM
    #[arg(long, value_name = "FILE", value_parser = non_empty_path, requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key of the certificate
    #[arg(long, value_name = "FILE", value_parser = non_empty_path, requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Allow an address that other machines can reach without TLS and keys: something else protects the port
    #[arg(long)]
    pub allow_remote: bool,
}

impl DaemonArguments {
    pub fn flags(&self, place: &PlaceArguments) -> Result<Flags, Failure> {
        let refuse = |why| Failure::usage(format!("--upstream: {why}"));
        let upstreams: Result<Vec<_>, _> = self.upstream.iter().map(|text| parse_flag(text)).collect();
        let is_default = |(name, _): &(String, UpstreamUrl)| name == Provider::DEFAULT.name();
        let (default, upstreams): (Vec<_>, Vec<_>) = upstreams.map_err(refuse)?.into_iter().partition(is_default);
        Ok(Flags {
            listen: place.listen,
            allow_remote: self.allow_remote,
            upstream: default.into_iter().next_back().map(|(_, url)| url),
            upstreams,
            store: self.store.as_deref().map(store_flag).transpose()?,
            config: self.config.clone(),
            team: self.team,
            tls: (self.tls_cert.clone(), self.tls_key.clone()),
        })
    }
}

/// The command line is visible to other users of the machine, so it contains no password.
fn store_flag(url: &str) -> Result<PostgresAddress, Failure> {
    let address = config::store::parse("--store", url)?;
    match address.has_password() {
        true => Err(Failure::usage("--store: the command line is visible to others; it must not contain a password")
            .hint("put the password into CTX_STORE_PASSWORD, or name a file with CTX_STORE_PASSWORD_FILE")),
        false => Ok(address),
    }
}

pub fn non_empty(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("must not be empty".to_owned()) } else { Ok(text.to_owned()) }
}

/// Parses the name (`r17`) or number of a request.
pub fn request_name(text: &str) -> Result<u32, String> {
    let number = text.strip_prefix('r').unwrap_or(text).parse::<u32>().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "expected a request such as r17; `ctx timeline` lists them".to_owned())
}

pub fn non_empty_path(text: &str) -> Result<PathBuf, String> {
    non_empty(text).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use ctx_engine::Refusal;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_verb_says_what_it_is_for_and_shows_an_example() {
        for verb in Cli::command().get_subcommands() {
            let name = verb.get_name();
            assert!(verb.get_about().is_some(), "{name} says what it is for");
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains(&format!("ctx {name}")), "the help of {name} shows an example");
        }
    }

    #[test]
    fn the_variable_names_the_conversation_then_the_agents_session_then_it_is_the_active_one() {
        let meant = |values: &[(&str, &str)]| conversation_meant(&Environment::of(values));
        let session = ("CLAUDE_CODE_SESSION_ID", "0a1b");
        assert_eq!(meant(&[session, ("CTX_CONV", "c3f9")]), "c3f9");
        assert_eq!(meant(&[session, ("CTX_CONV", "")]), "@session:0a1b");
        assert_eq!(meant(&[("CODEX_THREAD_ID", "thread")]), "@session:thread");
        assert_eq!(meant(&[("AGENT_SESSION_ID", "20261115_1")]), "@session:20261115_1", "goose");
        assert_eq!(meant(&[session, ("CODEX_THREAD_ID", "0a1b")]), "@session:0a1b", "the same twice");
        assert_eq!(meant(&[]), "active");
    }

    #[test]
    fn what_an_agent_does_is_signed_otherwise_than_what_a_person_does() {
        assert_eq!(author(&Environment::of(&[("CLAUDE_CODE_SESSION_ID", "0a1b")])), "agent");
        assert_eq!(author(&Environment::of(&[("GEMINI_CLI", "1")])), "agent", "also one without a session");
        assert_eq!(author(&Environment::of(&[("CTX_CONV", "c3f9")])), "cli");
    }

    #[test]
    fn a_session_that_does_not_go_through_the_daemon_is_told_so() {
        let environment = Environment::of(&[("CLAUDE_CODE_SESSION_ID", "0a1b")]);
        let told = |code: ErrorCode, name: &str| {
            let refusal = Refusal::new(code, format!("No `{name}` in 0a1b."), "").about(name);
            of_own_session(refusal.into(), &environment).message
        };
        assert_eq!(told(ErrorCode::UnknownConversation, "@session:0a1b"), "This session (0a1b) does not use ctx.");
        assert_eq!(told(ErrorCode::UnknownConversation, "c3"), "No `c3` in 0a1b.");
        assert_eq!(told(ErrorCode::Stale, "@session:0a1b"), "No `@session:0a1b` in 0a1b.");
    }

    #[test]
    fn an_agent_that_another_agent_runs_has_to_say_which_session_is_its_own() {
        let environment = Environment::of(&[("CLAUDE_CODE_SESSION_ID", "0a1b"), ("CODEX_THREAD_ID", "thread")]);
        let meant = conversation_meant(&environment);
        let refusal = Refusal::new(ErrorCode::UnknownConversation, format!("No `{meant}`."), "").about(&meant);
        let told = of_own_session(refusal.into(), &environment);
        assert_eq!(told.code, ErrorCode::AmbiguousConversation);
        assert_eq!(
            told.message,
            "One agent runs another here, so the session may be 0a1b of Claude Code, or thread of Codex."
        );
        assert!(told.hint.is_some_and(|hint| hint.contains("--conv")));
    }

    #[test]
    fn ids_that_are_empty_are_refused() {
        assert!(Cli::try_parse_from(["ctx", "list", "--conv", ""]).is_err());
        assert!(Cli::try_parse_from(["ctx", "list", "--home", ""]).is_err());
    }
}
