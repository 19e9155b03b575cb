//! `ctx install`: makes an agent speak through the daemon wherever it is started, and teaches it to edit its context.

use std::process::ExitCode;

use clap::Args;
use ctx_clients::setup::Wishes;
use ctx_core::ErrorCode;

use crate::context::Context;
use crate::failure::Failure;
use crate::setup::{Agent, How, Scope, ThisHost, agents, apply, apply_all, found, plan_all};

/// Make an agent always use the daemon, and let it edit its own context
#[derive(Args, Debug)]
#[command(after_help = "Shows every change before making it; `ctx uninstall` restores the previous files.

Examples:
  ctx install                                    all agents on this machine
  ctx install claude-code
  ctx install codex --mcp
  ctx install claude-code --scope project --mcp --status-line
  ctx install opencode --dry-run")]
pub struct Arguments {
    /// The agent; all that are found on this machine if left out
    #[arg(value_parser = agents())]
    agent: Option<Agent>,
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
    let wishes = Wishes { scope: scope.into(), mcp, status_line, force };
    if let Some(agent) = agent {
        apply(&agent.installer.install(&wishes, &host)?, &how, &host, context)?;
        return Ok(ExitCode::SUCCESS);
    }
    let found = found(&host);
    let plans = plan_all(&found, |agent| agent.installer.install(&wishes, &host), context);
    if plans.is_empty() {
        return Err(Failure::new(ErrorCode::NoAgent, "no agent that can be set up was found on this machine")
            .hint("name one: `ctx install codex`; `ctx install --help` lists them"));
    }
    apply_all(&plans, &how, &host, context)?;
    Ok(ExitCode::SUCCESS)
}
