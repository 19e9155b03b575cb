//! Applies a plan: shows it, asks, makes the changes, and reports.

use std::io::{self, BufRead, IsTerminal, Write};

use clap::Args;
use serde_json::json;

use super::{note_skipped, preview};
use crate::arguments::JsonArguments;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Paint, text};
use ctx_clients::setup::{self, Change, Host, Plan, SetupError};
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
    let made = make_all(std::slice::from_ref(plan), how, host, context)?;
    if how.format.json {
        return context.output.json(told(plan, &made).to_string().as_bytes()).map_err(Failure::from);
    }
    Ok(())
}

/// Applies the plans of several agents, with one question for all. An agent whose settings cannot be written is skipped;
/// it is a failure if none can.
pub fn apply_all(plans: &[Plan], how: &How, host: &dyn Host, context: &Context) -> Result<(), Failure> {
    let made = make_all(plans, how, host, context)?;
    if how.format.json {
        let agents: Vec<_> = plans.iter().map(|plan| told(plan, &made)).collect();
        return context.output.json(json!({ "agents": agents }).to_string().as_bytes()).map_err(Failure::from);
    }
    Ok(())
}

/// Shows all plans, asks, and makes the changes; returns the agents whose settings were written.
fn make_all(plans: &[Plan], how: &How, host: &dyn Host, context: &Context) -> Result<Vec<&'static str>, Failure> {
    let mut plans = each(plans.iter().collect(), setup::check, context)?;
    let does = !how.dry_run && plans.iter().any(|plan| needed(plan).next().is_some());
    let json = how.format.json;
    let shown = if json { Ok(()) } else { show(&plans, context) };
    if !does {
        shown?;
    } else if !how.yes {
        // With --yes nobody is asked, so nobody has to read it.
        shown.map_err(|_| unseen())?;
        if !confirmed(json)? {
            return Err(Failure::new(ErrorCode::NotConfirmed, "nothing was changed"));
        }
    }
    if !how.dry_run {
        plans = each(plans, |plan| setup::make(plan, host), context)?;
    }
    if !json {
        // After the changes, a reader that has gone is no reason to stop: the caller may have more to do.
        let _ = report(&plans, how, does, context);
    }
    Ok(if does { plans.iter().map(|plan| plan.client).collect() } else { Vec::new() })
}

/// The plans for which the step succeeds. Other agents are skipped, unless none is left.
fn each<'p>(
    plans: Vec<&'p Plan>,
    step: impl Fn(&Plan) -> Result<(), SetupError>,
    context: &Context,
) -> Result<Vec<&'p Plan>, Failure> {
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for plan in plans {
        match step(plan) {
            Ok(()) => done.push(plan),
            Err(error) => failed.push((plan.client, Failure::from(error))),
        }
    }
    let reason = failed.pop_if(|_| done.is_empty());
    failed.iter().for_each(|(agent, failure)| note_skipped(agent, failure, context));
    reason.map_or(Ok(done), |(_, failure)| Err(failure))
}

fn show(plans: &[&Plan], context: &Context) -> io::Result<()> {
    let changes = plans.iter().flat_map(|plan| needed(plan));
    let shown: Vec<String> = changes.map(|change| preview::difference(change, &context.output.paint)).collect();
    context.output.print_lines(&shown.join("\n"))
}

fn report(plans: &[&Plan], how: &How, does: bool, context: &Context) -> io::Result<()> {
    for plan in plans {
        plan.notes.iter().for_each(|note| context.note(note));
        let words = match (needed(plan).next().is_some(), does) {
            (false, _) => format!("{}\n", plan.nothing),
            (true, false) => continue,
            (true, true) => format!("\n{}\n", plan.done),
        };
        context.output.print(&text::block(&words))?;
    }
    if how.dry_run && plans.iter().any(|plan| needed(plan).next().is_some()) {
        context.output.print("\nNothing was changed: this was a dry run.\n")?;
    }
    Ok(())
}

fn needed(plan: &Plan) -> impl Iterator<Item = &Change> {
    plan.changes.iter().filter(|change| change.is_needed())
}

fn told(plan: &Plan, made: &[&str]) -> serde_json::Value {
    let files: Vec<_> = plan
        .changes
        .iter()
        .map(|change| json!({ "path": change.path, "change": change.kind(), "stays": change.stays }))
        .collect();
    let difference: Vec<String> = needed(plan).map(|change| preview::difference(change, &Paint::plain())).collect();
    json!({
        "agent": plan.client,
        "scope": plan.scope.name(),
        "written": made.contains(&plan.client),
        "base_url": plan.base_url,
        "files": files,
        "difference": difference.join("\n"),
        "notes": plan.notes,
    })
}

fn unseen() -> Failure {
    Failure::new(ErrorCode::NotConfirmed, "nothing was changed: the changes could not be shown")
        .hint("pass --yes to make them anyway")
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
