//! `ctx uninstall`: takes back what `ctx install` wrote.

use std::process::ExitCode;

use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::setup::{Agent, How, Scope, ThisHost, agents, apply};

/// Undo `ctx install` and restore the previous files
#[derive(Args, Debug)]
#[command(
    after_help = "An unchanged file is restored byte for byte. In a file that was changed since, only our entries are
removed, and what they replaced comes back.

Examples:
  ctx uninstall claude-code
  ctx uninstall claude-code --scope project --dry-run"
)]
pub struct Arguments {
    #[arg(value_parser = agents())]
    agent: Agent,
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
    let plan = (agent.installer.uninstall)(scope.into(), force, &host)?;
    apply(&plan, &how, &host, context)?;
    Ok(ExitCode::SUCCESS)
}
