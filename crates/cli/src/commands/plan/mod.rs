//! `ctx plan`: previews operations with reasons as a whole, and applies all or some as one commit.

mod ask;
pub mod file;
pub mod shown;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ctx_api::context::WorthView;
use ctx_api::edit::When;
use ctx_api::plan::{PlanView, PlannedOperation};
use ctx_core::ErrorCode;

use self::file::{Only, Plan};
use super::change::{Moment, applied_in_words, read};
use crate::arguments::{ConversationArguments, JsonArguments, author, non_empty};
use crate::client::{of_conversation, understood};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::words;

/// Preview a plan of operations; apply all or some as one commit
#[derive(Args, Debug)]
#[command(
    after_help = "A plan is JSON: {\"note\":\"…\",\"expect\":\"HEAD\",\"operations\":[{\"op\":\"delete\",\"ids\":[\"t3\"],\"reason\":\"…\"}]},
a list of operations, or one operation per line. If the head is no longer `expect` (`none`: no commit yet), ctx refuses it.

Risk rates the loss: high (pinned or protected content, the tool loop in progress), medium (the newest frame, results that
later steps use, the system prompt, the tools) or low (everything else).

Examples:
  ctx plan tidy.json                      show effects and risks
  ctx plan -i tidy.json                   decide about each operation, like `git add -p`
  ctx plan tidy.json --apply --only 1,3"
)]
pub struct Arguments {
    /// File with the plan; `-` reads stdin
    #[arg(value_name = "FILE", required_unless_present = "stale", conflicts_with = "stale")]
    file: Option<PathBuf>,
    /// Instead of a file: remove stale and superseded tool results
    #[arg(long)]
    stale: bool,
    /// Apply the plan as one commit
    #[arg(long, conflicts_with_all = ["interactive", "dry_run"])]
    apply: bool,
    /// Ask about each operation
    #[arg(long, short, conflicts_with_all = ["json", "dry_run"])]
    interactive: bool,
    /// Use only these operations, counted from 1: 1,3 or 2..4
    #[arg(long, value_name = "N,N")]
    only: Option<Only>,
    /// Show the effect without applying it (the default)
    #[arg(long)]
    dry_run: bool,
    /// Reason, for the history; overrides the plan's note
    #[arg(long, value_name = "TEXT", value_parser = non_empty)]
    note: Option<String>,
    /// Refuse unless this commit is the head; overrides the plan's `expect`
    #[arg(long, value_name = "COMMIT", value_parser = non_empty)]
    expect: Option<String>,
    /// When to apply it: `now`, `cold` (the cache has expired) or `near-limit` (the window is nearly full) [default: now]
    #[arg(long, value_enum, value_name = "MOMENT", hide_possible_values = true)]
    when: Option<Moment>,
    #[command(flatten)]
    conversation: ConversationArguments,
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    if arguments.interactive {
        in_a_terminal(arguments.file.as_deref())?;
    }
    let mut plan = match &arguments.file {
        Some(file) => file::read(&read(file)?)?,
        None => stale(&arguments.conversation.conversation, context)?,
    };
    plan.note = arguments.note.or(plan.note);
    plan.expect = arguments.expect.or(plan.expect);
    plan.when = arguments.when.map_or(When::Now, Moment::when);
    let only = arguments.only.map(|only| only.0).unwrap_or_default();
    let conversation = &arguments.conversation.conversation;
    if arguments.interactive {
        return interactive(plan, &only, conversation, context);
    }
    let request = plan.request(&only, arguments.apply, author(&context.environment));
    let answer = context.client()?.post(&of_conversation(conversation, "plan"), &request)?;
    if arguments.format.json {
        context.output.json(&answer)?;
    } else {
        tell(&understood(&answer)?, plan.when, context)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The effect of a plan, or its outcome.
pub fn tell(plan: &PlanView, when: When, context: &Context) -> io::Result<()> {
    let output = &context.output;
    match plan.applied.commit.as_ref().or(plan.applied.waiting.as_ref()) {
        Some(_) => output.print(&applied_in_words(&plan.applied, false, when, output)),
        None => output.print(&shown::whole(plan, output)),
    }
}

/// The plan that removes stale and superseded content.
fn stale(conversation: &str, context: &Context) -> Result<Plan, Failure> {
    let view: WorthView = understood(&context.client()?.get(&of_conversation(conversation, "worth"))?)?;
    if view.cleared_by_provider > 0 {
        let cleared = words::count(view.cleared_by_provider);
        return Err(Failure::new(
            ErrorCode::NothingToDo,
            format!(
                "The provider itself clears old tool results of this conversation: {cleared} tokens of the last \
                 request"
            ),
        )
        .hint("`ctx list --steps` shows the other tokens"));
    }
    let Some(worth) = view.worth else {
        return Err(Failure::new(
            ErrorCode::NothingToDo,
            "Too little of this context is stale or superseded to be worth an edit",
        )
        .hint("`ctx list --steps` shows the tokens of each step"));
    };
    let planned = |operation| PlannedOperation { operation, reason: Some("stale or superseded".to_owned()) };
    let operations = worth.operations.into_iter().map(planned).collect();
    let expect = Some(view.head.unwrap_or_else(|| "none".to_owned()));
    Ok(Plan { note: Some(worth.words), expect, when: When::Now, operations })
}

/// Questions need a terminal.
fn in_a_terminal(file: Option<&Path>) -> Result<(), Failure> {
    let refuse = |what: &str| {
        Failure::new(ErrorCode::NoTerminal, format!("--interactive needs a terminal for its questions: {what}"))
            .hint("`ctx plan FILE` shows the plan; `ctx plan FILE --apply --only 1,3` applies part of it")
    };
    if file.and_then(Path::to_str) == Some("-") {
        return Err(refuse("stdin holds the plan; put the plan into a file"));
    }
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(refuse("this is not a terminal"));
    }
    Ok(())
}

fn interactive(mut plan: Plan, only: &[usize], conversation: &str, context: &Context) -> Result<ExitCode, Failure> {
    let house = ask::Daemon::new(conversation, context)?;
    let chosen = ask::choose(&mut plan, only, &house, &mut io::stdin().lock(), &mut io::stdout(), &context.output)?;
    match chosen {
        Some(chosen) if !chosen.is_empty() => tell(&house.apply(&plan, &chosen)?, plan.when, context)?,
        _ => context.output.print("No operation was accepted; nothing was changed.\n")?,
    }
    Ok(ExitCode::SUCCESS)
}
