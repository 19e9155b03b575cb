//! `ctx uninstall`: takes back what `ctx install` wrote.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use super::install::Agent;
use crate::claude_code::carry_out::{How, Plan, carry_out};
use crate::claude_code::change::Change;
use crate::claude_code::memory::Memory;
use crate::claude_code::places::{Places, Scope};
use crate::context::Context;
use crate::failure::Failure;

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
    let Agent::ClaudeCode = arguments.agent;
    let folder = std::env::current_dir().map_err(|error| Failure::file("find", Path::new("."), &error))?;
    let places = Places::find(arguments.scope, &context.environment, &folder)?;
    let memory = Memory::load(&context.home()?)?;
    let change = |path: &Path| Change::uninstall(path, &memory, arguments.force).transpose();
    let changes: Vec<Change> = places.all().into_iter().filter_map(change).collect::<Result<_, _>>()?;
    let stays = changes.iter().flat_map(|change| &change.stays);
    let notes =
        stays.map(|what| format!("{what} was changed since it was installed and stays; remove it yourself")).collect();
    let plan = Plan {
        scope: arguments.scope,
        changes,
        notes,
        base_url: None,
        done: "Done. Claude Code no longer goes through ctx, from its next start on.".to_owned(),
        nothing: format!(
            "Nothing of ctx is installed there ({} scope); `--scope {}` looks at the other place.",
            arguments.scope.name(),
            arguments.scope.other().name()
        ),
    };
    carry_out(&plan, &arguments.how, &memory, context)?;
    Ok(ExitCode::SUCCESS)
}
