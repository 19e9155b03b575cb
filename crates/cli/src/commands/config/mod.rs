//! `ctx config`: explains the settings, their sources and errors.

mod check;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::config::schema::SCHEMA;
use crate::context::Context;
use crate::failure::Failure;

/// Show settings, their sources and errors
#[derive(Args, Debug)]
#[command(
    after_help = "The home's ctx.toml holds your settings. A project's ctx.toml, its .loa.config.yaml and the front matter of its skills can
set [context_editing] for that project if you trust them (`ctx trust`). The daemon rereads changed files.

Examples:
  ctx config check
  ctx config check --project ~/projects/shop --json
  ctx config schema > ctx.schema.json"
)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// Show every value in force, its source and any errors
    Check(check::Arguments),
    /// Print a JSON Schema of ctx.toml for editors
    #[command(after_help = "Example:\n  ctx config schema > ctx.schema.json")]
    Schema,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    match arguments.what {
        What::Check(arguments) => check::run(arguments, context),
        What::Schema => {
            context.output.print_lines(&format!("{:#}\n", *SCHEMA))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
