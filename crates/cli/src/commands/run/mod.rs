//! `ctx run -- <agent …>`: runs an agent through the daemon. Signals, the terminal and the exit code are the agent's
//! own. A note reports a run without a request.

mod launch;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::Args;
use clap::builder::PossibleValuesParser;
use ctx_clients::CLIENTS;
use ctx_core::ErrorCode;
use ctx_engine::automatic::Rules;
use launch::{Destination, Launch};

use crate::arguments::DaemonArguments;
use crate::background::{self, StartedDaemon};
use crate::client::callable;
use crate::config::{Flags, LiveRules, Settings};
use crate::context::Context;
use crate::env;
use crate::failure::Failure;
use crate::gateway::Gateway;
use crate::home::Home;
use crate::platform::supervise::{self, become_process};
use crate::upgrade;
use ctx_api::status::Status;

/// Run an agent through the daemon, starting the daemon if needed
#[derive(Args, Debug)]
#[command(
    after_help = "The daemon keeps running when the agent exits; `ctx stop` stops it. After `ctx login`, the agent uses the gateway.

Examples:
  ctx run -- claude -p 'What does this project do?'
  ctx run --client goose -- ./my-goose
  ctx run --upstream https://gateway.example -- claude"
)]
pub struct Arguments {
    #[command(flatten)]
    daemon: DaemonArguments,
    /// Agent, if the program's name does not identify it
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(CLIENTS.map(|client| client.name)))]
    client: Option<String>,
    /// Agent and its arguments
    #[arg(value_name = "AGENT", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    agent: Vec<OsString>,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let Some((program, rest)) = arguments.agent.split_first() else {
        return Err(Failure::usage("no agent was given"));
    };
    let flags = arguments.daemon.flags(&context.place)?;
    if let Some(gateway) = context.gateway()? {
        refuse_flags(&flags, &gateway)?;
        return through_gateway(gateway, (program, rest), arguments.client.as_deref(), context);
    }
    let named = flags.config.clone();
    // A home has one daemon: if it is running, no other can start, at any address.
    let found = match background::answering(&context.home()?) {
        Some(found) => Some(found),
        None => background::running(context)?,
    };
    let name = program.to_string_lossy();
    let (address, status) = match found {
        Some((client, status)) if upgrade::is_older(&status.version) => {
            upgrade::replace(client, status, &flags, context)?
        }
        Some((client, status)) => {
            note_differences(client.address(), &status, &flags, context);
            (client.address(), status)
        }
        None => match start(flags, context) {
            Ok(started) => started,
            Err(failure) => {
                context.note(&may_run_without(&context.home()?, failure)?);
                let mut agent = Command::new(program);
                agent.args(rest);
                return become_process(agent, &name);
            }
        },
    };
    note_waiting(named, context);
    let home = context.home()?;
    let destination = Destination::Local(address);
    let launch = Launch::of(program, arguments.client.as_deref(), destination, home.path(), &context.environment);
    let mut agent = Command::new(program);
    launch.prepare(&mut agent, rest, &context.environment)?;
    launch.notes(&status.upstream, &context.environment).iter().for_each(|note| context.note(note));
    let code = supervise::run(agent, &name)?;
    let after = background::answering(&home).map(|(_, status)| status);
    // Another daemon has other counts.
    if let Some(after) = after.filter(|after| after.pid == status.pid) {
        if is_unchanged(&status, &after) {
            context.note(&launch.about_silence(&name));
        }
        about_unread(&status, &after).iter().for_each(|note| context.note(note));
    }
    Ok(code)
}

/// Runs the agent through a gateway. Without the gateway it does not run: its edits would be missing.
fn through_gateway(
    gateway: Gateway,
    (program, rest): (&OsString, &[OsString]),
    client: Option<&str>,
    context: &Context,
) -> Result<ExitCode, Failure> {
    let home = context.home()?;
    let before = context.found()?.status()?;
    let name = program.to_string_lossy();
    let launch = Launch::of(program, client, Destination::Gateway(gateway), home.path(), &context.environment);
    let mut agent = Command::new(program);
    launch.prepare(&mut agent, rest, &context.environment)?;
    launch.notes(&before.upstream, &context.environment).iter().for_each(|note| context.note(note));
    let code = supervise::run(agent, &name)?;
    let after = context.found().and_then(|client| client.status());
    // Each daemon counts for itself, and the next answer may be another one's.
    let is_alone = before.store.others.is_empty();
    if is_alone && after.is_ok_and(|after| is_unchanged(&before, &after)) {
        context.note(&launch.about_silence(&name));
    }
    Ok(code)
}

/// Flags for starting a daemon do not fit a gateway.
fn refuse_flags(flags: &Flags, gateway: &Gateway) -> Result<(), Failure> {
    let starts = flags.upstream.is_some()
        || !flags.upstreams.is_empty()
        || flags.store.is_some()
        || flags.config.is_some()
        || flags.tls.0.is_some()
        || flags.team
        || flags.allow_remote;
    if !starts {
        return Ok(());
    }
    let message = format!("these flags are for a daemon on this machine, and the agent would use {}", gateway.url);
    Err(Failure::usage(message).hint("omit them, or select a daemon on this machine with `--listen 127.0.0.1:8788`"))
}

fn is_unchanged(before: &Status, after: &Status) -> bool {
    after.pid == before.pid && after.requests.total == before.requests.total
}

/// The note after a run of which nothing was recorded, because `ctx` could not read its requests.
fn about_unread(before: &Status, after: &Status) -> Option<String> {
    let unread = after.requests.unread.saturating_sub(before.requests.unread);
    let is_recorded = after.store.records != before.store.records;
    let requests = if unread == 1 { "request was" } else { "requests were" };
    (unread > 0 && !is_recorded).then(|| {
        format!(
            "{unread} {requests} in a format that ctx does not read: forwarded unchanged; nothing was recorded, and no edit \
             was applied"
        )
    })
}

/// Lets the agent run without a daemon if the home is not writable, and returns the note about it. Not if the home has
/// a store: an edited conversation would be sent unedited.
fn may_run_without(home: &Home, failure: Failure) -> Result<String, Failure> {
    if failure.code != ErrorCode::HomeNotWritable || home.has_store() {
        return Err(failure);
    }
    let hint = failure.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    Ok(format!("{}{hint}. THE AGENT RUNS WITHOUT CTX: nothing is recorded, and nothing can be edited", failure.message))
}

/// Notes settings of this project that need trust.
fn note_waiting(config: Option<PathBuf>, context: &Context) {
    let (Ok(home), Ok(folder)) = (context.home(), std::env::current_dir()) else { return };
    let flags = Flags { config, ..Flags::default() };
    let project = LiveRules::new(&flags, &context.environment, &home).project(Some(&folder), &[]);
    let waiting = project.map(|project| project.waiting).unwrap_or_default();
    if !waiting.is_empty() {
        let keys: Vec<&str> = waiting.iter().map(|setting| setting.key.as_str()).collect();
        context.note(&format!("some settings of this project need your trust: {}; run `ctx trust`", keys.join(", ")));
    }
}

/// Starts the daemon in the background, and says so.
pub fn start(flags: Flags, context: &Context) -> Result<(SocketAddr, Status), Failure> {
    let home = context.home()?;
    // Loaded here first, so that errors reach the user and not a log.
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
    hand_on("--store", flags.store.as_ref().map(|address| address.to_string().into()));
    hand_on("--config", flags.config.clone().map(Into::into));
    if flags.allow_remote {
        handed_on.push("--allow-remote".into());
    }
    let StartedDaemon { client, status, is_new } = background::start(&home, &handed_on)?;
    let address = client.address();
    if is_new {
        let upstream = &status.upstream;
        context.note(&format!("started the daemon on {address}, forwarding to {upstream}; `ctx stop` stops it"));
    } else {
        note_differences(address, &status, &flags, context);
    }
    Ok((address, status))
}

/// Notes differences from a daemon that is already running.
fn note_differences(address: SocketAddr, status: &Status, flags: &Flags, context: &Context) {
    if let Some(wanted) = flags.listen.filter(|wanted| !is_at(address, *wanted)) {
        context.note(&format!(
            "the daemon of this home listens on {address}, not on {wanted}; run `ctx stop` first, or use another --home"
        ));
    }
    let wanted = flags.upstream.clone().or_else(|| context.environment.text(env::UPSTREAM)?.parse().ok());
    if let Some(wanted) = wanted.filter(|wanted| wanted.to_string() != status.upstream) {
        context.note(&format!(
            "the running daemon forwards to {}, not to {wanted}; to change that, run `ctx stop` first",
            status.upstream
        ));
    }
    if status.version != env!("CARGO_PKG_VERSION") {
        context.note(&format!(
            "the running daemon has version {}, this is {}; to upgrade it, run `ctx stop` first",
            status.version,
            env!("CARGO_PKG_VERSION")
        ));
    }
}

/// Port 0 means any port.
fn is_at(address: SocketAddr, wanted: SocketAddr) -> bool {
    let wanted = callable(wanted);
    wanted.ip() == address.ip() && (wanted.port() == 0 || wanted.port() == address.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::Environment;

    #[test]
    fn without_a_writable_home_the_agent_runs_directly_unless_conversations_are_stored_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::find(Some(folder.path()), &Environment::of(&[])).expect("a home");
        let unwritable =
            || Failure::new(ErrorCode::HomeNotWritable, "cannot write to the home /h: read-only").hint("use --home");
        let words = may_run_without(&home, unwritable()).expect("it may");
        assert!(words.starts_with("cannot write to the home /h: read-only (use --home). THE AGENT RUNS WITHOUT CTX"));
        assert!(may_run_without(&home, Failure::new(ErrorCode::PortTaken, "x")).is_err());
        std::fs::write(folder.path().join("ctx.db"), "").expect("written");
        assert_eq!(may_run_without(&home, unwritable()).expect_err("refused").code, ErrorCode::HomeNotWritable);
    }

    #[test]
    fn requests_that_are_not_read_are_told_unless_something_was_recorded() {
        let status = |unread, records| {
            let mut status = Status::default();
            (status.requests.unread, status.store.records) = (unread, records);
            status
        };
        assert!(about_unread(&status(1, 5), &status(4, 5)).is_some_and(|note| note.starts_with("3 requests were")));
        assert_eq!(about_unread(&status(1, 5), &status(4, 7)), None);
        assert_eq!(about_unread(&status(1, 5), &status(1, 5)), None);
    }
}
