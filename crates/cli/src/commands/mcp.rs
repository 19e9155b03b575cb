//! `ctx mcp`: the MCP server on stdin and stdout. The daemon implements the tools; this connects to it.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use clap::Args;
use ctx_core::ErrorCode;
use ctx_server::mcp::{Ask, Origin, Refusal, Server, Settings as McpSettings};
use tokio::runtime::Builder;

use super::run;
use crate::arguments::{DaemonArguments, non_empty, own_sessions};
use crate::background;
use crate::client::Client;
use crate::config::{Flags, Settings};
use crate::context::Context;
use crate::env;
use crate::failure::Failure;

/// Run an MCP server through which an agent edits its own context
#[derive(Args, Debug)]
#[command(
    after_help = "The agent starts this server, which starts the daemon if needed and addresses the agent's own conversation:
by the session that the agent names, else by the pending reply that makes the call.

Examples:
  claude mcp add ctx -- ctx mcp
  claude mcp add ctx -- ctx mcp --read-only
  claude mcp add ctx -- ctx mcp --allow drop-results,summarize-results,compact"
)]
pub struct Arguments {
    /// Address this conversation: an id, the start of one, or `active` [env: CTX_CONV]
    #[arg(long = "conv", value_name = "ID", value_parser = non_empty)]
    conversation: Option<String>,
    /// Address this session of the agent [default: the one that the agent or its environment names]
    #[arg(long, value_name = "ID", value_parser = non_empty, conflicts_with = "conversation")]
    session: Option<String>,
    /// Offer no tools that edit
    #[arg(long)]
    read_only: bool,
    /// Allow only these operations, such as delete,drop-results
    #[arg(long, value_name = "OPERATION", value_delimiter = ',', value_parser = non_empty)]
    allow: Option<Vec<String>>,
    #[command(flatten)]
    daemon: DaemonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let flags = arguments.daemon.flags(&context.place)?;
    let folder = std::env::current_dir().unwrap_or_default();
    let files = Settings::load(&flags, &context.environment, &context.home()?, &folder)?.mcp;
    let names = arguments.allow.as_ref().map(|names| McpSettings::allowing(names.iter().map(String::as_str)));
    let allow = names.transpose().map_err(|why| Failure::usage(format!("--allow: {why}")))?;
    let settings = McpSettings { read_only: arguments.read_only, allow }.and(files);
    let origin = Origin {
        conversation: arguments.conversation.or_else(|| context.environment.text(env::CONVERSATION)),
        session: arguments.session,
        sessions: own_sessions(&context.environment),
        directory: Some(folder),
    };
    if std::io::stdin().is_terminal() {
        context.note(
            "`ctx mcp` serves MCP on stdin and stdout; to register it with an agent, run `claude mcp add \
            ctx -- ctx mcp`",
        );
    }
    let runtime =
        Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(|error| {
            Failure::new(ErrorCode::NoRuntime, format!("the server cannot start its threads: {error}"))
        })?;
    let place = Context::of_process(context.place.clone());
    let way = Arc::new(DaemonLink(Arc::new(Inside { context: place, flags, starting: Mutex::new(()) })));
    let ended = runtime.block_on(Server::new(way, settings, origin).serve_stdio());
    // Drops a call that is still running.
    runtime.shutdown_background();
    ended.map_err(|why| {
        Failure::new(ErrorCode::Mcp, format!("the client did not speak MCP: {why}"))
            .hint("register it with an agent: `claude mcp add ctx -- ctx mcp`")
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Finds the daemon for each call: it may have restarted since the last one.
struct DaemonLink(Arc<Inside>);

struct Inside {
    context: Context,
    flags: Flags,
    starting: Mutex<()>,
}

impl Ask for DaemonLink {
    async fn ask(&self, path: String, body: Option<String>) -> Result<Bytes, Refusal> {
        let inside = self.0.clone();
        let asked = tokio::task::spawn_blocking(move || inside.ask(&path, body.as_deref()));
        match asked.await {
            Ok(answer) => answer.map_err(refusal),
            Err(_) => Err(Refusal::new(ErrorCode::Internal, "The request could not be sent; this is a bug.", "")),
        }
    }
}

impl Inside {
    fn ask(&self, path: &str, body: Option<&str>) -> Result<Bytes, Failure> {
        match self.context.found().and_then(|client| client.for_agent().ask(path, body)) {
            Err(failure) if failure.code == ErrorCode::NoDaemon => self.started()?.for_agent().ask(path, body),
            outcome => outcome,
        }
    }

    /// The daemon of this home, started if necessary. Several calls may need it at once.
    fn started(&self) -> Result<Client, Failure> {
        let _one = self.starting.lock().unwrap_or_else(PoisonError::into_inner);
        let home = self.context.home()?;
        if background::answering(&home).is_none() {
            run::start(self.flags.clone(), &self.context)?;
        }
        let found = background::answering(&home).map(|(client, _)| client.into_client());
        found.ok_or_else(|| Failure::new(ErrorCode::NoDaemon, "the daemon was started but has exited"))
    }
}

fn refusal(failure: Failure) -> Refusal {
    Refusal::new(failure.code, failure.message, failure.hint.unwrap_or_default())
}
