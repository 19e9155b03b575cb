//! `ctx init`: the first run. Finds the agents on this machine, sets them up, starts the daemon, and tests it.

use std::process::ExitCode;

use clap::Args;
use ctx_clients::setup::{InstallOptions, Scope};
use ctx_server::daemon::DaemonError;

use crate::arguments::DaemonArguments;
use crate::background;
use crate::commands::run;
use crate::config::Settings;
use crate::context::Context;
use crate::daemon;
use crate::demo::self_test;
use crate::failure::Failure;
use crate::output::Paint;
use crate::setup::{Agent, How, ThisHost, apply_all, found, known_programs, plan_all};

/// Set up ctx on this machine: find agents, configure them, test everything
#[derive(Args, Debug)]
#[command(after_help = "Shows every change and asks before making it; `ctx uninstall` restores your settings. The \
self-test uses a scripted provider: no request leaves this machine.

Examples:
  ctx init
  ctx init --dry-run
  ctx init --yes --mcp                   also let the agents edit their own context")]
pub struct Arguments {
    /// Register the MCP server `ctx mcp`, which starts the daemon together with the agent
    #[arg(long)]
    mcp: bool,
    #[command(flatten)]
    how: How,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let Arguments { mcp, how } = arguments;
    if how.format.json {
        return Err(Failure::usage("`ctx init` talks to a person; for programs: `ctx install --json`"));
    }
    check_machine(&how, context)?;
    let host = ThisHost::new(context)?.starting_daemon();
    let agents = found(&host);
    // A reader that has gone does not keep --yes from its work; without it, the question needs one.
    let _ = context.output.print(&format!("{}\n\n", findings(&agents)));
    let options = InstallOptions { scope: Scope::User, mcp, status_line: false, force: false };
    let plans = plan_all(&agents, |agent| agent.installer.install(&options, &host), context);
    apply_all(&plans, &how, &host, context)?;
    if !how.is_dry_run() && !plans.is_empty() && background::running(context)?.is_none() {
        run::start(DaemonArguments::default().flags(&context.place)?, context)?;
    }
    let report = daemon::runtime()?.block_on(self_test())?;
    let agent = agents.iter().find_map(|agent| agent.client.launch.programs.first().copied());
    context.output.print(&ending(&report, agent, &context.output.paint))?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses before anything is changed: without a home that can be written, or if another program has the port.
fn check_machine(how: &How, context: &Context) -> Result<(), Failure> {
    let home = context.home()?;
    if !how.is_dry_run() {
        home.prepare()?;
    }
    if background::running(context).ok().flatten().is_some() {
        return Ok(());
    }
    let flags = DaemonArguments::default().flags(&context.place)?;
    let folder = std::env::current_dir().unwrap_or_default();
    let listen = Settings::load(&flags, &context.environment, &home, &folder)?.listen;
    daemon::runtime()?.block_on(ctx_server::check_port(listen)).map_err(|error| {
        let config = home.config_file();
        Failure::from(DaemonError::Bind(error)).hint(format!(
            "stop that program, or choose another port in {}: [listen] address = \"127.0.0.1:8789\"; nothing was changed",
            config.display()
        ))
    })
}

fn findings(agents: &[Agent]) -> String {
    let names: Vec<&str> = agents.iter().map(|agent| agent.client.title).collect();
    match names[..] {
        [] => format!(
            "No agent was found on this machine. Supported: {}. Install one and run this again, or use `ctx demo`.",
            known_programs().join(", ")
        ),
        _ => format!("Found on this machine: {}.", names.join(", ")),
    }
}

fn ending(report: &[String], agent: Option<&str>, paint: &Paint) -> String {
    let mut words = format!("\n{}\n", paint.strong("Self-test"));
    for line in report {
        words.push_str(&format!("  {} {line}\n", paint.good("ok")));
    }
    let first = match agent {
        Some(program) => (format!("ctx run -- {program}"), "start the agent and work as usual"),
        None => ("ctx demo".to_owned(), "a recorded conversation to play with"),
    };
    let tries = [
        first,
        ("ctx list".to_owned(), "in another terminal: the context, frame by frame"),
        ("ctx ui --open".to_owned(), "the same on a page"),
    ];
    words.push_str(&format!("\n{}\n", paint.strong("Three things to try")));
    for (command, about) in tries {
        words.push_str(&format!(
            "  {command}{} {}\n",
            " ".repeat(24usize.saturating_sub(command.len())),
            paint.faint(about)
        ));
    }
    words
}
