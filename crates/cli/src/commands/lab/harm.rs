//! `ctx lab harm`: checks the measure of harm against recordings whose client removed content itself.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use ctx_lab::harm_check::{HarmCheck, KindUses, Uses, check};

use super::run::SplitChoice;
use super::{gathered, left_out};
use crate::arguments::JsonArguments;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::paint::PLAIN;
use crate::output::table::{Cell, Column, Table};
use crate::output::words;

#[derive(Args, Debug)]
#[command(
    after_help = "Clients clear old tool results and summarise long conversations. The table shows whether the agent then fetched again
the content that later steps relied on, and the same for content that was still visible.

Examples:
  ctx lab harm --on ~/.claude/projects"
)]
pub struct Arguments {
    /// Files or folders: request bodies, agents' session files, or the home of `ctx`
    #[arg(long, value_name = "PATH", required = true, num_args = 1..)]
    on: Vec<PathBuf>,
    /// Conversations to check, by the `index.json` of their folder; those without a label are `tune`
    #[arg(long, value_name = "SPLIT", default_value = "all")]
    split: SplitChoice,
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: &Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let mut gathered = gathered(&arguments.on)?;
    gathered.recordings.retain(|recording| arguments.split.takes(recording));
    let check = check(&gathered.recordings);
    match arguments.format.json {
        true => context.output.json(serde_json::json!(check).to_string().as_bytes())?,
        false => {
            context.output.print(&table(&check).render(&context.output))?;
            context.output.print(&format!("{}\n", in_words(&check)))?;
        }
    }
    left_out(&gathered.skipped).iter().for_each(|line| context.note(line));
    Ok(ExitCode::SUCCESS)
}

fn table(check: &HarmCheck) -> Table {
    let mut table = Table::new(&[
        Column::Left("AFTER"),
        Column::Left("NEED"),
        Column::Left("CONTENT"),
        Column::Right("FETCHED AGAIN"),
        Column::Right("USED ANYWAY"),
        Column::Right("TOLD AGAIN"),
        Column::Right("FETCHED"),
    ]);
    for KindUses { kind, summarized, removed, visible } in &check.uses {
        let after = if *summarized { "summary" } else { "clearing" };
        for (content, uses) in [("removed", removed), ("visible", visible)] {
            if *uses == Uses::default() {
                continue;
            }
            let share = uses.fetched_share().map_or_else(String::new, |share| format!("{:.0}%", share * 100.0));
            let count = |count: usize| Cell::styled(&words::count(count as u64), PLAIN);
            table.row([
                Cell::styled(after, PLAIN),
                Cell::styled(kind, PLAIN),
                Cell::styled(content, PLAIN),
                count(uses.fetched_again),
                count(uses.used_anyway),
                count(uses.told_again),
                Cell::styled(&share, PLAIN),
            ]);
        }
    }
    table
}

fn in_words(check: &HarmCheck) -> String {
    let HarmCheck { clearings, summaries, steps, harmed, harmed_fetched, fetched_tokens, .. } = check;
    let removals = format!(
        "{} and {} by clients, {} after them",
        words::plural(*clearings as u64, "clearing"),
        words::number_of(*summaries as u64, "summary", "summaries"),
        words::plural(*steps as u64, "step")
    );
    match harmed {
        0 => format!("{removals}; none of them relied on removed content."),
        harmed => format!(
            "{removals}; {} relied on removed content, for {} of them ({:.0}%) the agent fetched it again ({} tokens).",
            words::count(*harmed as u64),
            words::count(*harmed_fetched as u64),
            *harmed_fetched as f64 / *harmed as f64 * 100.0,
            words::count(*fetched_tokens)
        ),
    }
}
