//! Applies a plan: shows it, asks, makes the changes, and reports.

use std::io::{self, BufRead, IsTerminal, Write};

use clap::Args;
use serde_json::json;

use super::preview;
use crate::arguments::JsonArguments;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Paint, text};
use ctx_clients::setup::{self, Change, Host, Plan};

#[derive(Args, Debug, Clone)]
pub struct How {
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn apply(plan: &Plan, how: &How, host: &dyn Host, context: &Context) -> Result<(), Failure> {
    let is_needed = plan.changes.iter().any(Change::is_needed);
    let json = how.format.json;
    if !json {
        let shown: Vec<String> =
            needed(plan).map(|change| preview::difference(change, &context.output.paint)).collect();
        context.output.print(&shown.join("\n"))?;
    }
    let does = !how.dry_run && is_needed;
    if does && !how.yes && !confirmed(json)? {
        return Err(Failure::new("not-confirmed", "nothing was changed"));
    }
    if !how.dry_run {
        setup::make(plan, host)?;
    }
    if json {
        return context.output.json(told(plan, does).to_string().as_bytes()).map_err(Failure::from);
    }
    for note in &plan.notes {
        context.note(note);
    }
    let words = match (is_needed, does) {
        (false, _) => format!("{}\n", plan.nothing),
        (true, false) => "\nNothing was changed: this was a dry run.\n".to_owned(),
        (true, true) => format!("\n{}\n", plan.done),
    };
    context.output.print(&text::block(&words)).map_err(Failure::from)
}

fn needed(plan: &Plan) -> impl Iterator<Item = &Change> {
    plan.changes.iter().filter(|change| change.is_needed())
}

fn told(plan: &Plan, written: bool) -> serde_json::Value {
    let files: Vec<_> = plan
        .changes
        .iter()
        .map(|change| json!({ "path": change.path, "change": change.kind(), "stays": change.stays }))
        .collect();
    let difference: Vec<String> = needed(plan).map(|change| preview::difference(change, &Paint::plain())).collect();
    json!({
        "scope": plan.scope.name(),
        "written": written,
        "base_url": plan.base_url,
        "files": files,
        "difference": difference.join("\n"),
        "notes": plan.notes,
    })
}

fn confirmed(json: bool) -> Result<bool, Failure> {
    if json || !io::stdin().is_terminal() {
        return Err(Failure::new("not-confirmed", "nothing was changed: there is no terminal to ask in")
            .hint("add --yes to make these changes, or --dry-run to only show them"));
    }
    eprint!("\nMake these changes? [y/N] ");
    io::stderr().flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
