//! `ctx uninstall`: takes back what `ctx install` wrote.

use std::process::ExitCode;

use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::setup::{Agent, How, Scope, ThisHost, agents, apply, apply_all, installed, plan_all};

/// Undo `ctx install` and restore the previous files
#[derive(Args, Debug)]
#[command(
    after_help = "An unchanged file is restored byte for byte. In a file that was changed since, only our entries are
removed, and what they replaced comes back.

Examples:
  ctx uninstall                                  all agents
  ctx uninstall codex
  ctx uninstall claude-code --scope project --dry-run"
)]
pub struct Arguments {
    /// The agent; all that were installed if left out
    #[arg(value_parser = agents())]
    agent: Option<Agent>,
    /// For which projects
    #[arg(long, value_enum, default_value = "user")]
    scope: Scope,
    /// Also remove a skill that was changed by hand
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
        context.note("nothing of ctx is installed");
    }
    apply_all(&plans, &how, &host, context)?;
    Ok(ExitCode::SUCCESS)
}
