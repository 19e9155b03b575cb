//! `ctx lab week`: replays the newest conversations of the home with and without the automatic editor.

use std::process::ExitCode;

use clap::Args;
use ctx_api::status::WeekView;
use ctx_core::ErrorCode;

use super::models;
use crate::arguments::JsonArguments;
use crate::context::Context;
use crate::failure::Failure;
use crate::open_store;
use crate::output::{text, words};
use crate::platform::process;

#[derive(Args, Debug)]
#[command(
    after_help = "The daemon does the same once a week in mode \"observe\"; `ctx status` shows the newest result.

Examples:
  ctx lab week
  ctx lab week --last 100"
)]
pub struct Arguments {
    /// Number of conversations, newest first
    #[arg(long, value_name = "NUMBER", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..))]
    last: u16,
    /// Run beside the daemon: on one core, with low priority, without output
    #[arg(long, hide = true)]
    background: bool,
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: &Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let home = context.home()?;
    let cores = match arguments.background {
        true => {
            process::lower_priority();
            1
        }
        false => ctx_lab::run::all_cores(),
    };
    let (models, broken) = models(context);
    let most = usize::from(arguments.last);
    let store = open_store::reader(home.path(), context.database(&home)?.as_ref())?;
    let week = ctx_lab::week::week(&*store, most, &models, cores, ctx_service::now());
    let none = |what: &str| {
        Failure::new(ErrorCode::NoRecordings, what)
            .hint("work with an agent through ctx first, or replay its own sessions with `ctx lab run --on FOLDER`")
    };
    let week = week.map_err(|why| none(&format!("Nothing can be replayed: {why}.")))?;
    let week = week.ok_or_else(|| none("No conversation of this home can be replayed yet."))?;
    // For `ctx status`.
    home.replace(&home.path().join(WeekView::FILE), &week)?;
    if arguments.background {
        return Ok(ExitCode::SUCCESS);
    }
    match arguments.format.json {
        true => context.output.json(serde_json::json!(week).to_string().as_bytes())?,
        false => context.output.print(&format!("{}\n", text::line(&in_words(&week))))?,
    }
    broken.iter().for_each(|remark| context.note(remark));
    Ok(ExitCode::SUCCESS)
}

/// The result in a sentence.
pub fn in_words(week: &WeekView) -> String {
    let conversations = match week.conversations {
        1 => "On your last conversation".to_owned(),
        more => format!("On your last {more} conversations"),
    };
    let steps = words::plural(week.steps as u64, "step");
    let saved = match week.saved < 0.0 {
        true => format!("cost {} more", words::dollars(-week.saved)),
        false => format!("saved {}", words::dollars(week.saved)),
    };
    let likely = match week.saved_range {
        Some([least, most]) => format!(" (likely {} to {})", words::dollars(least), words::dollars(most)),
        None => String::new(),
    };
    let harmed = match week.harmed_steps {
        0 => "harmed no step".to_owned(),
        some => format!("harmed {}", words::plural(some as u64, "step")),
    };
    format!(
        "{conversations} ({steps}, {}), mode \"on\" would have {saved}{likely} and {harmed}.",
        words::dollars(week.cost)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_week_is_told_in_a_sentence() {
        let week = WeekView {
            at: 1,
            conversations: 30,
            steps: 1_840,
            cost: 61.2,
            saved: 7.4,
            saved_range: Some([5.1, 9.0]),
            harmed_steps: 4,
        };
        assert_eq!(
            in_words(&week),
            "On your last 30 conversations (1,840 steps, $61.20), mode \"on\" would have saved $7.40 (likely $5.10 to \
             $9.00) and harmed 4 steps."
        );
        let one = WeekView { conversations: 1, steps: 1, cost: 0.5, saved: -0.01, ..WeekView::default() };
        assert_eq!(
            in_words(&one),
            "On your last conversation (1 step, $0.500), mode \"on\" would have cost $0.010 more and harmed no step."
        );
    }
}
