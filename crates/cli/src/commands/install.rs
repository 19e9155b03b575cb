//! `ctx install`: makes an agent use the daemon, and teaches it to edit its own context.

use std::process::ExitCode;

use clap::Args;
use ctx_clients::setup::InstallOptions;
use ctx_core::ErrorCode;

use crate::context::Context;
use crate::failure::Failure;
use crate::setup::{Agent, How, Scope, ThisHost, agents, apply, apply_all, found, plan_all};

/// Set up an agent to use the daemon and edit its own context
#[derive(Args, Debug)]
#[command(after_help = "Shows every change and asks before making it. `ctx uninstall` restores your settings.

Examples:
  ctx install                                    all agents on this machine
  ctx install codex --dry-run
  ctx install claude-code --scope project --mcp --status-line")]
pub struct Arguments {
    /// Agent [default: all on this machine]
    #[arg(value_parser = agents())]
    agent: Option<Agent>,
    /// `user` (all your projects) or `project` (the current folder)
    #[arg(long, value_enum, default_value = "user", hide_possible_values = true)]
    scope: Scope,
    /// Register the MCP server `ctx mcp`
    #[arg(long)]
    mcp: bool,
    /// Show context usage in the agent's status line
    #[arg(long)]
    status_line: bool,
    /// Install even if a base URL points elsewhere or the skill was changed by hand
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    pub how: How,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let Arguments { agent, scope, mcp, status_line, force, how } = arguments;
    let host = ThisHost::new(context)?;
    let options = InstallOptions { scope: scope.into(), mcp, status_line, force };
    if let Some(agent) = agent {
        apply(&agent.installer.install(&options, &host)?, &how, &host, context)?;
        return Ok(ExitCode::SUCCESS);
    }
    let found = found(&host);
    let plans = plan_all(&found, |agent| agent.installer.install(&options, &host), context);
    if plans.is_empty() {
        return Err(Failure::new(ErrorCode::NoAgent, "no supported agent was found on this machine")
            .hint("name one: `ctx install codex`; `ctx install --help` lists them"));
    }
    apply_all(&plans, &how, &host, context)?;
    Ok(ExitCode::SUCCESS)
}
