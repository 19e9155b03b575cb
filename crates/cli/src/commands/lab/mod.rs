//! `ctx lab`: replays recorded conversations under editing policies.

mod explain;
mod harm;
mod run;
pub mod week;

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use ctx_core::ErrorCode;
use ctx_core::policy::Policy;
use ctx_models::Models;

use crate::config::{Flags, Settings};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::busy::Busy;
use crate::output::paint::{ID, PLAIN};
use crate::output::table::{Cell, Column, Table};
use crate::output::words;

/// Replay recorded conversations under editing policies
#[derive(Args, Debug)]
#[command(
    after_help = "Replays run locally: the engine composes each request as it composes live ones, and a model of the provider's cache
and prices charges it. Live conversations are not touched.

Examples:
  ctx lab run --on ~/.claude/projects --compare none,cold,auto
  ctx lab explain session.jsonl --policy auto --turn 40
  ctx lab week"
)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// Replay conversations and compare policies
    Run(run::Arguments),
    /// Show what mode "on" would have saved and harmed in your newest conversations
    Week(week::Arguments),
    /// Show the actions of a policy before one request, with reasons
    Explain(explain::Arguments),
    /// Check the measure of harm against clearings and summaries by the client itself
    Harm(harm::Arguments),
    /// List the policies
    #[command(after_help = "Example:\n  ctx lab policies")]
    Policies,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    match arguments.what {
        What::Run(arguments) => run::run(&arguments, context),
        What::Week(arguments) => week::run(&arguments, context),
        What::Explain(arguments) => explain::run(&arguments, context),
        What::Harm(arguments) => harm::run(&arguments, context),
        What::Policies => {
            let mut table = Table::new(&[Column::Left("POLICY"), Column::Flexible("WHAT IT DOES")]);
            for policy in ctx_lab::policies::all() {
                table.row([Cell::styled(policy.name(), ID), Cell::styled(policy.about(), PLAIN)]);
            }
            context.output.print(&table.render(&context.output))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// The policy with this name.
fn named(name: &str) -> Result<Arc<dyn Policy>, Failure> {
    let name = name.trim();
    if name.is_empty() {
        return Err(Failure::new(ErrorCode::UnknownPolicy, "A policy name is empty.")
            .hint("remove the extra comma, or add the name"));
    }
    ctx_lab::policies::named(name)
        .map_err(|why| Failure::new(ErrorCode::UnknownPolicy, format!("No policy `{name}`.")).hint(why))
}

/// The models of the configuration, and its errors.
fn models(context: &Context) -> (Models, Option<String>) {
    let folder = std::env::current_dir().unwrap_or_default();
    let flags = Flags::default();
    match context.home().and_then(|home| Ok(Settings::load(&flags, &context.environment, &home, &folder)?)) {
        Ok(settings) => (settings.models, None),
        Err(failure) => {
            let said = failure.message.trim_end_matches('.');
            let remark = format!("using the built-in models: the configuration cannot be read: {said}");
            (Models::listed().clone(), Some(remark))
        }
    }
}

/// The number of skipped files to name.
const SHOWN: usize = 5;

/// The reasons for the first skipped files and lines, and the total.
fn left_out(skipped: &[ctx_lab::recording::SkippedFile]) -> Vec<String> {
    let mut lines: Vec<String> = skipped
        .iter()
        .take(SHOWN)
        .map(|skipped| match skipped.line {
            Some(line) => format!("skipped {} line {line}: {}", skipped.file.display(), skipped.why),
            None => format!("skipped {}: {}", skipped.file.display(), skipped.why),
        })
        .collect();
    if skipped.len() > SHOWN {
        let files = skipped.iter().filter(|skipped| skipped.line.is_none()).count();
        let counts = [(files, "file"), (skipped.len() - files, "line")].into_iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, what)| words::plural(count as u64, what)).collect();
        lines.push(format!("{} were skipped in total", counts.join(" and ")));
    }
    lines
}

/// The recordings at these paths, or an error if there are none.
fn gathered(on: &[std::path::PathBuf]) -> Result<ctx_lab::recording::GatheredRecordings, Failure> {
    let busy = Busy::start("reading conversations");
    let gathered = ctx_lab::recording::read(on);
    drop(busy);
    if gathered.recordings.is_empty() {
        let why = match left_out(&gathered.skipped) {
            left if left.is_empty() => "no file there ends in .json or .jsonl".to_owned(),
            left => left.join("; "),
        };
        return Err(Failure::new(ErrorCode::NoRecordings, format!("No recorded conversation found: {why}.")).hint(
            "name a folder of request bodies, an agent's sessions (`--on ~/.claude/projects`), or the home of \
                `ctx`",
        ));
    }
    Ok(gathered)
}
