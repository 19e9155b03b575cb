//! `ctx config`: what is set, by whom, and what is wrong with it.

mod check;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::config::schema::schema;
use crate::context::Context;
use crate::failure::Failure;

/// Explain the settings: what is in force, where it was said, what is wrong with it
#[derive(Args, Debug)]
#[command(
    after_help = "Settings stand in the ctx.toml of the home. A project's ctx.toml, its .loa.config.yaml and the front matter of its skills
can set what is done without asking there ([context_editing]), as far as you trust them (`ctx trust`). Files are read again when they change.

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
    /// Tell every value in force, where it was said, and what is wrong
    Check(check::Arguments),
    /// Print a JSON Schema of ctx.toml, for editors
    Schema,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    match arguments.what {
        What::Check(arguments) => check::run(arguments, context),
        What::Schema => {
            context.output.print(&format!("{:#}\n", schema()))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
