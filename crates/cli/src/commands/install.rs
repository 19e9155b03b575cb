//! `ctx install`: makes an agent speak through the daemon wherever it is started, and teaches it to edit its context.

use std::process::ExitCode;

use clap::Args;
use ctx_clients::setup::Wishes;

use crate::context::Context;
use crate::failure::Failure;
use crate::setup::{Agent, How, Scope, ThisHost, agents, apply};

/// Make an agent always use the daemon, and add the skill `/compose-context`
#[derive(Args, Debug)]
#[command(after_help = "Shows every change before making it; `ctx uninstall claude-code` restores the previous files.

Examples:
  ctx install claude-code
  ctx install claude-code --scope project --mcp --status-line
  ctx install claude-code --dry-run")]
pub struct Arguments {
    #[arg(value_parser = agents())]
    agent: Agent,
    /// For which projects
    #[arg(long, value_enum, default_value = "user")]
    scope: Scope,
    /// Also register the MCP server `ctx mcp`
    #[arg(long)]
    mcp: bool,
    /// Also show context used, saved and cached in the agent's status line
    #[arg(long)]
    status_line: bool,
    /// Even if a base URL points elsewhere, or the skill was changed by hand
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    pub how: How,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let Arguments { agent, scope, mcp, status_line, force, how } = arguments;
    let host = ThisHost::new(context)?;
    let plan = (agent.installer.install)(&Wishes { scope: scope.into(), mcp, status_line, force }, &host)?;
    apply(&plan, &how, &host, context)?;
    Ok(ExitCode::SUCCESS)
}
