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
use ctx_core::ErrorCode;

#[derive(Args, Debug, Clone)]
pub struct How {
    /// Show the changes without making them
    #[arg(long)]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    pub format: JsonArguments,
}

impl How {
    /// Whether changes are only shown.
    pub fn is_dry_run(&self) -> bool {
        self.dry_run
    }
}

/// Applies the plan of one agent.
pub fn apply(plan: &Plan, how: &How, host: &dyn Host, context: &Context) -> Result<(), Failure> {
    let done = make_all(std::slice::from_ref(plan), how, host, context)?;
    if how.format.json {
        return context.output.json(told(plan, done).to_string().as_bytes()).map_err(Failure::from);
    }
    Ok(())
}

/// Applies the plans of several agents, with one question for all.
pub fn apply_all(plans: &[Plan], how: &How, host: &dyn Host, context: &Context) -> Result<(), Failure> {
    let done = make_all(plans, how, host, context)?;
    if how.format.json {
        let agents: Vec<_> = plans.iter().map(|plan| told(plan, done)).collect();
        return context.output.json(json!({ "agents": agents }).to_string().as_bytes()).map_err(Failure::from);
    }
    Ok(())
}

/// Shows all plans, asks, and makes the changes; returns whether it wrote anything.
fn make_all(plans: &[Plan], how: &How, host: &dyn Host, context: &Context) -> Result<bool, Failure> {
    let is_needed = plans.iter().any(|plan| needed(plan).next().is_some());
    let json = how.format.json;
    if !json {
        let changes = plans.iter().flat_map(needed);
        let shown: Vec<String> = changes.map(|change| preview::difference(change, &context.output.paint)).collect();
        context.output.print_lines(&shown.join("\n"))?;
    }
    let does = !how.dry_run && is_needed;
    if does && !how.yes && !confirmed(json)? {
        return Err(Failure::new(ErrorCode::NotConfirmed, "nothing was changed"));
    }
    for plan in plans.iter().filter(|_| !how.dry_run) {
        setup::make(plan, host)?;
    }
    for plan in plans.iter().filter(|_| !json) {
        plan.notes.iter().for_each(|note| context.note(note));
        let words = match (needed(plan).next().is_some(), does) {
            (false, _) => format!("{}\n", plan.nothing),
            (true, false) => continue,
            (true, true) => format!("\n{}\n", plan.done),
        };
        context.output.print(&text::block(&words))?;
    }
    if is_needed && !does && !json {
        context.output.print("\nNothing was changed: this was a dry run.\n")?;
    }
    Ok(does)
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
        "agent": plan.client,
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
        return Err(Failure::new(
            ErrorCode::NotConfirmed,
            "nothing was changed: this is not a terminal, so ctx cannot \
            ask for confirmation",
        )
        .hint("pass --yes to make these changes, or --dry-run to show them"));
    }
    eprint!("\nMake these changes? [y/N] ");
    io::stderr().flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
