//! `ctx config`: what is set, by whom, and what is wrong with it.

mod check;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::config::schema::SCHEMA;
use crate::context::Context;
use crate::failure::Failure;

/// Explain the settings: values in force, their sources, and errors
#[derive(Args, Debug)]
#[command(
    after_help = "Settings are in the ctx.toml of the home. A project's ctx.toml, its .loa.config.yaml and the front matter of its skills
can set automatic editing for that project ([context_editing]), as far as you trust them (`ctx trust`). Changed files are read again.

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
    /// Show every value in force, its source, and errors
    Check(check::Arguments),
    /// Print a JSON Schema of ctx.toml, for editors
    Schema,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    match arguments.what {
        What::Check(arguments) => check::run(arguments, context),
        What::Schema => {
            context.output.print(&format!("{:#}\n", *SCHEMA))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
