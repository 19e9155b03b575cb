//! `ctx preview VERB …`: the same as `VERB … --dry-run`.

use std::process::ExitCode;

use clap::Args;

use super::change::{self, Change};
use crate::context::Context;
use crate::failure::Failure;

/// Preview an edit without applying it
#[derive(Args, Debug)]
#[command(subcommand_value_name = "VERB", subcommand_help_heading = "Verbs")]
#[command(after_help = "Verbs take their usual flags, including --json and --conv.

Examples:
  ctx preview delete t3
  ctx preview drop-results --tool Read --json")]
pub struct Arguments {
    #[command(subcommand)]
    change: Change,
}

pub fn run(mut arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    arguments.change.how().dry_run = true;
    change::run(arguments.change, context)
}
