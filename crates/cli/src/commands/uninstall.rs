//! `ctx uninstall`: undoes `ctx install`.

use std::process::ExitCode;

use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::setup::{Agent, How, Scope, ThisHost, agents, apply, apply_all, installed, plan_all};

/// Undo `ctx install` and restore the previous files
#[derive(Args, Debug)]
#[command(
    after_help = "Restores unchanged files byte for byte. In a file that has changed since, removes only ctx's own entries
and restores the values they replaced.

Examples:
  ctx uninstall                                  all agents
  ctx uninstall codex
  ctx uninstall claude-code --scope project --dry-run"
)]
pub struct Arguments {
    /// Agent [default: all installed ones]
    #[arg(value_parser = agents())]
    agent: Option<Agent>,
    /// `user` (all your projects) or `project` (the current folder)
    #[arg(long, value_enum, default_value = "user", hide_possible_values = true)]
    scope: Scope,
    /// Remove the skill even if it was changed by hand
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    pub how: How,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let Arguments { agent, scope, force, how } = arguments;
    let host = ThisHost::new(context)?;
    if let Some(agent) = agent {
        apply(&agent.installer.uninstall(scope.into(), force, &host)?, &how, &host, context)?;
        return Ok(ExitCode::SUCCESS);
    }
    let installed = installed(&host)?;
    let plans = plan_all(&installed, |agent| agent.installer.uninstall(scope.into(), force, &host), context);
    if plans.is_empty() {
        context.note("ctx is not installed for any agent");
    }
    apply_all(&plans, &how, &host, context)?;
    Ok(ExitCode::SUCCESS)
}
