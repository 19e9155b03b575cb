//! `ctx lab run`: replays conversations and compares policies.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use ctx_core::ErrorCode;
use ctx_lab::policies::foresight;
use ctx_lab::recording::{Recording, Split};
use ctx_lab::report::{self, Group, Summary, WithoutProject};
use ctx_lab::run::{Outcome, all_cores};

use super::{SHOWN, gathered, left_out, models, named};
use crate::arguments::{JsonArguments, non_empty};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::busy::Busy;
use crate::output::paint::{FAINT, ID, PLAIN, WARNING};
use crate::output::table::{Cell, Column, Table};
use crate::output::{Output, file, text, words};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx lab run --on ~/.claude/projects
  ctx lab run --on ~/.local/share/ctx --compare none,cold,auto --html report.html")]
pub struct Arguments {
    /// Files or folders: request bodies, agents' session files, or the home of `ctx`
    #[arg(long, value_name = "PATH", required = true, num_args = 1..)]
    on: Vec<PathBuf>,
    /// Policy to compare with `none`
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = non_empty)]
    policy: String,
    /// Policies to compare with the first of them, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "policy")]
    compare: Vec<String>,
    /// Conversations to replay, by the `index.json` of their folder; those without a label are `tune`
    #[arg(long, value_name = "SPLIT", default_value = "all")]
    split: SplitChoice,
    /// Also replay two policies that know the future, and show the share of their saving
    #[arg(long)]
    bound: bool,
    /// Also show the cost by cause, as shares of the first policy's cost
    #[arg(long)]
    causes: bool,
    /// Print CSV, one line per conversation and policy
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Also write an HTML report with plots
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    pub format: JsonArguments,
}

/// The conversations to replay: those that policies are chosen by, those that check a choice, or both. The values have no
/// help of their own, which would double the length of the command's.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitChoice {
    Tune,
    Validate,
    All,
}

impl SplitChoice {
    pub fn takes(self, recording: &Recording) -> bool {
        match self {
            SplitChoice::Tune => recording.labels.split == Split::Tune,
            SplitChoice::Validate => recording.labels.split == Split::Validate,
            SplitChoice::All => true,
        }
    }
}

pub fn run(arguments: &Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let mut names = match arguments.compare.as_slice() {
        [] if arguments.policy == "none" => vec!["none".to_owned()],
        [] => vec!["none".to_owned(), arguments.policy.clone()],
        names => names.to_vec(),
    };
    if arguments.bound {
        let bounds = [foresight::NAME, foresight::EARLY].map(str::to_owned);
        names.extend(bounds.into_iter().filter(|bound| !names.contains(bound)).collect::<Vec<_>>());
    }
    let policies = names.iter().map(|name| named(name)).collect::<Result<Vec<_>, _>>()?;
    let mut gathered = gathered(&arguments.on)?;
    let all = gathered.recordings.len();
    gathered.recordings.retain(|recording| arguments.split.takes(recording));
    if gathered.recordings.is_empty() {
        let why = format!("None of the {} belongs to this split.", words::plural(all as u64, "conversation"));
        return Err(Failure::new(ErrorCode::NoRecordings, why).hint("use --split all"));
    }
    let (models, broken) = models(context);
    let count = gathered.recordings.len();
    let busy = Busy::start("replaying conversations");
    let progress = busy.progress();
    let replayed = |done: usize| progress.report(done as u64, count as u64);
    replayed(0);
    let outcome = ctx_lab::run::run_on(all_cores(), &gathered.recordings, &policies, &models, &replayed);
    drop(busy);
    let about: Vec<(String, String)> =
        policies.iter().map(|policy| (policy.name().to_owned(), policy.about().to_owned())).collect();
    let groups = report::groups(&outcome, &about);
    let mut left_out = left_out(&gathered.skipped);
    if let Some(total) = left_out.get_mut(SHOWN) {
        total.push_str("; --json names each");
    }
    let remarks: Vec<String> = broken.into_iter().chain(remarks(&outcome)).chain(left_out).collect();
    if let Some(file) = &arguments.html {
        let html = report::html(&outcome, &groups, &remarks);
        file::keep(file, html.as_bytes(), true).map_err(|failure| {
            Failure::new(ErrorCode::CannotWrite, failure.message).hint("choose another path with --html")
        })?;
    }
    let output = &context.output;
    let lines = report::lines(&outcome, &about);
    if arguments.format.json {
        let policies = groups.first().map(|group| group.policies.as_slice()).unwrap_or_default();
        let json = serde_json::json!({"policies": policies, "groups": groups, "conversations": lines,
            "left_out": gathered.skipped, "remarks": remarks});
        output.json(json.to_string().as_bytes())?;
    } else if arguments.csv {
        output.print_lines(&report::csv(&lines))?;
        remarks.iter().for_each(|remark| context.note(remark));
    } else {
        output.print(&render(&groups, arguments.causes, &remarks, output))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The number of conversations with matching pronouns.
fn these(count: usize) -> (String, &'static str, &'static str) {
    let (are, their) = if count == 1 { ("is", "its") } else { ("are", "their") };
    (words::plural(count as u64, "conversation"), are, their)
}

/// Caveats about the figures.
fn remarks(outcome: &Outcome) -> Vec<String> {
    let mut remarks = Vec::new();
    if !outcome.strange_models.is_empty() {
        let models: Vec<String> =
            outcome.strange_models.iter().map(|(model, as_what)| format!("{model} as {as_what}")).collect();
        remarks.push(format!("≈ unknown models, priced as another: {}", models.join(", ")));
    }
    if outcome.untimed > 0 {
        let (count, _, their) = these(outcome.untimed);
        remarks.push(format!("{count} without times: {their} pauses are unknown"));
    }
    if outcome.uncounted > 0 {
        let (count, _, their) = these(outcome.uncounted);
        remarks.push(format!("{count} without the provider's token counts: {their} tokens are estimates"));
    }
    if outcome.beyond_window > 0 {
        let (count, are, their) = these(outcome.beyond_window);
        let they = if outcome.beyond_window == 1 { "it" } else { "they" };
        let larger = format!("{count} {are} larger than {their} model's window");
        remarks.push(format!("{larger}: {they} cannot have been sent in that form"));
    }
    if outcome.shortened_by_client > 0 {
        let (count, _, their) = these(outcome.shortened_by_client);
        remarks.push(format!("{count} whose client removed content itself: {their} replay keeps that content"));
    }
    remarks.extend(outcome.unplayable.iter().map(|(name, why)| format!("skipped: {name}: {why}")));
    remarks
}

fn render(groups: &[Group], with_causes: bool, remarks: &[String], output: &Output) -> String {
    let mut page = String::new();
    for group in groups {
        let first = group.policies.first();
        let count = words::plural(first.map_or(0, |policy| policy.conversations) as u64, "conversation");
        let steps = words::count(first.map_or(0, |policy| policy.steps) as u64);
        let name = match group.name {
            "long" => format!("long, {} tokens and more", words::count(report::LONG)),
            other => other.to_owned(),
        };
        page.push_str(&format!(
            "{} {}\n",
            output.paint.strong(&name),
            output.paint.faint(&format!("· {count} · {steps} steps"))
        ));
        let columns = [
            Column::Left("POLICY"),
            Column::Right("TOKENS SENT"),
            Column::Right("FINAL"),
            Column::Right("PEAK"),
            Column::Right("COST"),
            Column::Right("CHANGE"),
            Column::Right("LIKELY"),
            Column::Right("OF BOUND"),
            Column::Right("WORST"),
            Column::Right("FROM CACHE"),
            Column::Right("EVENTS"),
            Column::Right("HARM"),
        ];
        let mut table =
            Table::new(&columns).dispensing(&["FINAL", "EVENTS", "PEAK", "FROM CACHE", "LIKELY", "OF BOUND"]);
        group.policies.iter().for_each(|policy| table.row(row(policy)));
        page.push_str(&table.render(output));
        if with_causes {
            page.push_str(&causes(group).render(output));
        }
        for line in group.policies.iter().skip(1).flat_map(|policy| without(policy).into_iter().chain(repeated(policy)))
        {
            page.push_str(&format!("{}\n", output.paint.faint(&text::line(&line))));
        }
        page.push('\n');
    }
    for remark in remarks {
        page.push_str(&format!("{}\n", output.paint.faint(&text::line(remark))));
    }
    page
}

/// The share of the possible saving: without and with early edits.
fn of_bound(policy: &Summary) -> String {
    let bounds = [policy.foresight_change, policy.foresight_early_change];
    let share = |bound: Option<f64>| bound.filter(|bound| *bound < 0.0).map(|bound| policy.change / bound * 100.0);
    match bounds.map(share) {
        [Some(kept), Some(early)] => format!("{kept:.0} / {early:.0} %"),
        [Some(share), None] | [None, Some(share)] => format!("{share:.0} %"),
        [None, None] => String::new(),
    }
}

/// The steps of a policy that repeated a lookup.
fn repeated(policy: &Summary) -> Option<String> {
    let Summary { repeated_steps, repeated_tokens, repeated_cost, missed_tokens, .. } = policy;
    let Summary { forced_cost, forced_seconds, .. } = policy;
    let missed = format!(
        "{}: harmed steps relied on {} tokens; re-reads would take ${forced_cost:.2} and {:.0} min",
        policy.policy,
        words::count(*missed_tokens),
        forced_seconds / 60.0
    );
    let steps = words::plural(*repeated_steps as u64, "step");
    let tokens = words::count(*repeated_tokens);
    let repeats = format!(
        "{steps} repeated a command or a search whose result was hidden ({tokens} tokens, ${repeated_cost:.2})"
    );
    (*missed_tokens > 0 || *repeated_steps > 0).then(|| format!("{missed}; {repeats}"))
}

/// The cost of each policy by cause, as shares of the first policy's cost.
fn causes(group: &Group) -> Table {
    let all = group.policies.first().map_or(0.0, |policy| policy.cost).max(f64::MIN_POSITIVE);
    let columns = ["READS", "FIRST WRITES", "AFTER EDITS", "WHEN COLD", "ANSWERS", "RE-READS"];
    let columns: Vec<Column> = [Column::Left("COST BY CAUSE")].into_iter().chain(columns.map(Column::Right)).collect();
    let mut table = Table::new(&columns);
    for policy in &group.policies {
        let shares = policy.causes.each().map(|(_, cost)| Cell::styled(&format!("{:.1} %", cost / all * 100.0), PLAIN));
        table.row([Cell::styled(&policy.policy, ID)].into_iter().chain(shares).collect::<Vec<_>>());
    }
    table
}

/// The figures of a policy without the project that changes them most.
fn without(policy: &Summary) -> Option<String> {
    let WithoutProject { project, change, harm } = policy.without_project.as_ref()?;
    let harms = policy.harm_range.map(|[from, to]| format!(" ({:.2} to {:.2} %)", from * 100.0, to * 100.0));
    let own = format!("{}: harm {:.2} %{}", policy.policy, policy.harm * 100.0, harms.unwrap_or_default());
    Some(format!("{own}; without {project} {:+.1} % at {:.2} % harm", change * 100.0, harm * 100.0))
}

/// The interval that contains the change for most resamples of the projects.
fn likely(policy: &Summary) -> String {
    let range = policy.change_range.map(|range| range.map(|change| change * 100.0));
    range.map(|[from, to]| format!("{from:+.0} to {to:+.0} %")).unwrap_or_default()
}

fn row(policy: &Summary) -> Vec<Cell> {
    let percent = |share: f64| format!("{:+.1} %", share * 100.0);
    let style = |is_bad: bool| if is_bad { WARNING } else { PLAIN };
    vec![
        Cell::styled(&policy.policy, ID),
        Cell::styled(&words::count(policy.cumulative_tokens), PLAIN),
        Cell::styled(&words::count(policy.final_tokens), FAINT),
        Cell::styled(&words::count(policy.peak_tokens), PLAIN),
        Cell::styled(
            &format!("{}${:.2}", if policy.stand_in_conversations > 0 { "≈" } else { "" }, policy.cost),
            PLAIN,
        ),
        Cell::styled(&percent(policy.change), style(policy.change > 0.0)),
        Cell::styled(&likely(policy), FAINT),
        Cell::styled(&of_bound(policy), FAINT),
        Cell::styled(&percent(policy.worst), style(policy.worst > 0.01)),
        Cell::styled(&format!("{:.1} %", policy.cache_read_share * 100.0), FAINT),
        Cell::styled(&words::count(policy.clear_events as u64), FAINT),
        Cell::styled(&format!("{:.2} %", policy.harm * 100.0), style(policy.harm > 0.01)),
    ]
}
