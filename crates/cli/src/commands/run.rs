//! `ctx run -- <agent …>`: the agent, with everything set so that it speaks through the daemon. The process
//! becomes the agent, so that signals, the terminal and the exit code are the agent's own.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::Args;
use ctx_composer::automatic::Rules;
use ctx_server::UpstreamUrl;

use crate::arguments::DaemonArguments;
use crate::background::{self, Started};
use crate::client::{Status, callable};
use crate::config::{Flags, LiveRules, Settings};
use crate::context::Context;
use crate::env::{self, Environment, Variable};
use crate::failure::Failure;
use crate::home::{Home, NOT_WRITABLE};

/// Run an agent through the daemon; starts one if none is running
#[derive(Args, Debug)]
#[command(after_help = "The daemon keeps running afterwards; `ctx stop` stops it.

Examples:
  ctx run -- claude
  ctx run -- claude -p 'What does this project do?'
  ctx run --upstream https://gateway.example -- claude")]
pub struct Arguments {
    #[command(flatten)]
    daemon: DaemonArguments,
    /// The agent and its arguments
    #[arg(value_name = "AGENT", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    agent: Vec<OsString>,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let Some((program, rest)) = arguments.agent.split_first() else {
        return Err(Failure::usage("there is no agent to run"));
    };
    let flags = arguments.daemon.flags(&context.place)?;
    let named = flags.config.clone();
    // A home has one daemon: if it is up, no other can be started, whatever address is asked for.
    let found = match background::answering(&context.home()?) {
        Some(found) => Some(found),
        None => background::running(context)?,
    };
    let mut agent = Command::new(program);
    agent.args(rest);
    let (address, status) = match found {
        Some((client, status)) => {
            note_differences(client.address(), &status, &flags, context);
            (client.address(), status)
        }
        None => match start(flags, context) {
            Ok(started) => started,
            Err(failure) => {
                context.note(&may_run_without(&context.home()?, failure)?);
                return become_process(agent, &program.to_string_lossy());
            }
        },
    };
    note_waiting(named, context);
    agent.envs(for_agent(address, &context.environment));
    if let Some(note) = about_base_url(address, &status, &context.environment) {
        context.note(&note);
    }
    become_process(agent, &program.to_string_lossy())
}

/// Without a home that can be written to there is no daemon, but an agent can work without one; gives the words that say so. Not
/// where conversations are stored: one of them may be edited, and would be sent as if it were not.
fn may_run_without(home: &Home, failure: Failure) -> Result<String, Failure> {
    if failure.code != NOT_WRITABLE || home.has_store() {
        return Err(failure);
    }
    let hint = failure.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    Ok(format!(
        "{}{hint}. THE AGENT RUNS WITHOUT CTX: it speaks to its provider directly, nothing is recorded and nothing can be edited",
        failure.message
    ))
}

/// Settings of this project that are not in force yet.
fn note_waiting(config: Option<PathBuf>, context: &Context) {
    let (Ok(home), Ok(folder)) = (context.home(), std::env::current_dir()) else { return };
    let flags = Flags { config, ..Flags::default() };
    let project = LiveRules::new(&flags, &context.environment, &home).project(Some(&folder), &[]);
    let waiting = project.map(|project| project.waiting).unwrap_or_default();
    if !waiting.is_empty() {
        let keys: Vec<&str> = waiting.iter().map(|setting| setting.key.as_str()).collect();
        context.note(&format!(
            "settings of this project wait for your trust: {}; `ctx trust` lets them take effect",
            keys.join(", ")
        ));
    }
}

/// Starts the daemon behind the scenes, and says so.
pub fn start(flags: Flags, context: &Context) -> Result<(SocketAddr, Status), Failure> {
    let home = context.home()?;
    // Read here first: whatever is wrong is told to the person, not to a log.
    let folder = std::env::current_dir().unwrap_or_default();
    Settings::load(&flags, &context.environment, &home, &folder)?;

    let mut handed_on: Vec<OsString> = Vec::new();
    let mut hand_on = |flag: &str, value: Option<OsString>| {
        handed_on.extend(value.into_iter().flat_map(|value| [flag.into(), value]))
    };
    hand_on("--listen", flags.listen.map(|listen| listen.to_string().into()));
    hand_on("--upstream", flags.upstream.as_ref().map(|url| url.to_string().into()));
    for (name, url) in &flags.upstreams {
        hand_on("--upstream", Some(format!("{name}={url}").into()));
    }
    hand_on("--config", flags.config.clone().map(Into::into));
    if flags.allow_remote {
        handed_on.push("--allow-remote".into());
    }
    let Started { client, status, is_new } = background::start(&home, &handed_on)?;
    let address = client.address();
    if is_new {
        let upstream = &status.upstream;
        context.note(&format!("started the daemon on {address}, forwarding to {upstream}; `ctx stop` stops it"));
    } else {
        note_differences(address, &status, &flags, context);
    }
    Ok((address, status))
}

/// What the agent needs in its environment. What the user has set already stays, except the address itself.
fn for_agent(address: SocketAddr, environment: &Environment) -> Vec<(&'static str, OsString)> {
    let mut set = vec![(env::ANTHROPIC_BASE_URL.name(), format!("http://{address}").into())];
    for (variable, value) in [(env::GATEWAY_HINT_HEADERS, "1"), (env::ENABLE_TOOL_SEARCH, "true")] {
        if environment.get(variable).is_none() {
            set.push((variable.name(), value.into()));
        }
    }
    let proxied = |variable: Variable| environment.get(variable).is_some();
    if [env::HTTP_PROXY, env::HTTPS_PROXY, env::ALL_PROXY].into_iter().any(proxied) {
        // The agent would ask the proxy for our loopback address; the way out is the daemon's to find.
        let own = address.ip().to_string();
        let others = environment.text(env::NO_PROXY);
        let all = others.into_iter().chain([own, "localhost".to_owned()]).collect::<Vec<_>>().join(",");
        set.extend(env::NO_PROXY.spellings().iter().map(|name| (*name, all.clone().into())));
    }
    set
}

/// Somebody set a base URL of their own. The daemon's upstream decides where requests go, so say it.
fn about_base_url(address: SocketAddr, status: &Status, environment: &Environment) -> Option<String> {
    let given = environment.text(env::ANTHROPIC_BASE_URL)?;
    let given = given.parse::<UpstreamUrl>();
    let upstream = status.upstream.parse::<UpstreamUrl>();
    match (&given, &upstream) {
        (Ok(given), Ok(upstream)) if given == upstream => None,
        (Ok(given), _) if given.to_string() == format!("http://{address}") => None,
        _ => {
            // It may hold a password; only what is sure to be an address is repeated.
            let named = given.map_or_else(|_| "another address".to_owned(), |url| url.to_string());
            Some(format!(
                "ANTHROPIC_BASE_URL is set to {named}; this agent goes through ctx instead, and the daemon forwards to {}. \
                 To forward to the other one: `ctx stop`, then `ctx run --upstream URL -- …`",
                status.upstream
            ))
        }
    }
}

/// A daemon that runs already does not change its ways for one agent.
fn note_differences(address: SocketAddr, status: &Status, flags: &Flags, context: &Context) {
    if let Some(wanted) = flags.listen.filter(|wanted| !is_at(address, *wanted)) {
        context.note(&format!(
            "the daemon of this home listens on {address}, not on {wanted}; run `ctx stop` first, or use another --home"
        ));
    }
    let wanted = flags.upstream.clone().or_else(|| context.environment.text(env::UPSTREAM)?.parse().ok());
    if let Some(wanted) = wanted.filter(|wanted| wanted.to_string() != status.upstream) {
        context.note(&format!(
            "the running daemon forwards to {}, not to {wanted}; run `ctx stop` first to change that",
            status.upstream
        ));
    }
    if status.version != env!("CARGO_PKG_VERSION") {
        context.note(&format!(
            "the running daemon has version {}, this is {}; run `ctx stop`, and the next run starts the new one",
            status.version,
            env!("CARGO_PKG_VERSION")
        ));
    }
}

/// Port 0 asks for any port.
fn is_at(address: SocketAddr, wanted: SocketAddr) -> bool {
    let wanted = callable(wanted);
    wanted.ip() == address.ip() && (wanted.port() == 0 || wanted.port() == address.port())
}

#[cfg(unix)]
fn become_process(mut command: Command, name: &str) -> Result<ExitCode, Failure> {
    let error = std::os::unix::process::CommandExt::exec(&mut command);
    Err(not_started(name, &error))
}

#[cfg(not(unix))]
fn become_process(mut command: Command, name: &str) -> Result<ExitCode, Failure> {
    let status = command.status().map_err(|error| not_started(name, &error))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

fn not_started(name: &str, error: &std::io::Error) -> Failure {
    let failure = Failure::new("agent-not-started", format!("cannot run `{name}`: {error}"));
    match error.kind() {
        std::io::ErrorKind::NotFound => failure.hint("is it installed, and on the PATH?"),
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8788);

    fn set(values: &[(&str, &str)]) -> Vec<(&'static str, String)> {
        let set = for_agent(ADDRESS, &Environment::of(values));
        set.into_iter().map(|(name, value)| (name, value.to_string_lossy().into_owned())).collect()
    }

    #[test]
    fn without_a_writable_home_the_agent_runs_directly_unless_conversations_are_stored_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::find(Some(folder.path()), &Environment::of(&[])).expect("a home");
        let unwritable = || Failure::new(NOT_WRITABLE, "cannot write to the home /h: read-only").hint("use --home");
        let words = may_run_without(&home, unwritable()).expect("it may");
        assert!(words.starts_with("cannot write to the home /h: read-only (use --home). THE AGENT RUNS WITHOUT CTX"));
        assert!(may_run_without(&home, Failure::new("port-taken", "x")).is_err());
        std::fs::write(folder.path().join("ctx.db"), "").expect("written");
        assert_eq!(may_run_without(&home, unwritable()).expect_err("refused").code, NOT_WRITABLE);
    }

    #[test]
    fn the_agent_gets_its_base_url_and_what_makes_it_speak_fully() {
        let expected = [
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:8788"),
            ("CLAUDE_CODE_GATEWAY_HINT_HEADERS", "1"),
            ("ENABLE_TOOL_SEARCH", "true"),
        ];
        assert_eq!(set(&[]), expected.map(|(name, value)| (name, value.to_owned())));
    }

    #[test]
    fn what_the_user_has_set_stays() {
        let set = set(&[("ENABLE_TOOL_SEARCH", "false"), ("CLAUDE_CODE_GATEWAY_HINT_HEADERS", "0")]);
        assert_eq!(set.len(), 1, "{set:?}");
    }

    #[test]
    fn behind_a_proxy_the_agent_still_comes_to_us_directly() {
        let set = set(&[("https_proxy", "http://proxy:1"), ("NO_PROXY", "intranet")]);
        for name in ["NO_PROXY", "no_proxy"] {
            assert!(set.contains(&(name, "intranet,127.0.0.1,localhost".to_owned())), "{set:?}");
        }
    }

    #[test]
    fn a_base_url_of_the_users_own_is_answered_with_where_requests_really_go() {
        let status = Status { upstream: "https://api.anthropic.com".into(), ..Status::default() };
        let note = |url: &str| about_base_url(ADDRESS, &status, &Environment::of(&[("ANTHROPIC_BASE_URL", url)]));
        assert_eq!(about_base_url(ADDRESS, &status, &Environment::of(&[])), None);
        assert_eq!(note("http://127.0.0.1:8788/"), None, "it is ours");
        assert_eq!(note("https://api.anthropic.com"), None, "it is where we go");
        let words = note("https://gateway.example/team").expect("a note");
        assert!(
            words.contains("https://gateway.example/team") && words.contains("https://api.anthropic.com"),
            "{words}"
        );
        let words = note("https://me:hush@gateway.example").expect("a note");
        assert!(!words.contains("hush"), "{words}");
    }
}
