//! `ctx lab explain`: shows the actions of a policy before one request of a recording, with reasons.

use std::cmp::Ordering;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use ctx_core::ErrorCode;
use ctx_lab::frames::Row;
use ctx_lab::needs::Kind;
use ctx_lab::replay::{PlayOutcome, Turn, Watch, play, play_watching};
use ctx_lab::run::with_known;

use super::{gathered, models, named};
use crate::arguments::{JsonArguments, non_empty};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::paint::{FAINT, ID, PLAIN, WARNING};
use crate::output::table::{Cell, Column, Table};
use crate::output::{Output, text, words};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx lab explain session.jsonl
  ctx lab explain session.jsonl --policy cold --turn 40")]
pub struct Arguments {
    /// Recorded conversation
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Request, counted from 1 [default: every request before which the policy acted]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    turn: Option<u32>,
    /// Policy
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = non_empty)]
    policy: String,
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: &Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let policy = named(&arguments.policy)?;
    let gathered = gathered(std::slice::from_ref(&arguments.file))?;
    let output = &context.output;
    let (models, broken) = models(context);
    if let Some(broken) = broken {
        context.note(&broken);
    }
    let watch = arguments.turn.map_or(Watch::Changes, |turn| Watch::Turn(turn as usize - 1));
    let mut told = Vec::new();
    for recording in &gathered.recordings {
        let played = with_known(recording, &models, |known| {
            Ok::<_, ctx_lab::replay::Unplayable>((
                play_watching(known, policy.clone(), watch)?,
                play(known, Arc::new(ctx_lab::policies::Nothing))?,
            ))
        });
        let (played, none) = played.map_err(|error| {
            Failure::new(
                ErrorCode::Unplayable,
                format!(
                    "The conversation cannot be replayed: \
                {error}."
                ),
            )
        })?;
        let count = played.turns.len();
        if let Some(turn) = arguments.turn.filter(|turn| *turn as usize > count) {
            let requests = words::plural(count as u64, "request");
            return Err(Failure::new(
                ErrorCode::NoSuchTurn,
                format!("No request {turn}: {} has {requests}.", played.name),
            )
            .hint("requests are counted from 1"));
        }
        told.push((played, none));
    }
    if arguments.format.json {
        let json: Vec<serde_json::Value> =
            told.iter().map(|(played, none)| as_json(played, none, arguments.turn)).collect();
        output.json(serde_json::to_string(&json).unwrap_or_default().as_bytes())?;
    } else {
        let pages: Vec<String> = told
            .iter()
            .map(|(played, none)| render((&arguments.policy, played), none, arguments.turn, output))
            .collect();
        output.print(&pages.join("\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The requests to print.
fn chosen(played: &PlayOutcome, turn: Option<u32>) -> Vec<usize> {
    let is_told = |at: &usize| match turn {
        Some(turn) => at + 1 == turn as usize,
        None => played.turns.get(*at).is_some_and(|turn| !turn.done.is_empty() || !turn.missed.is_empty()),
    };
    (0..played.turns.len()).filter(is_told).collect()
}

fn render((policy, played): (&str, &PlayOutcome), none: &PlayOutcome, turn: Option<u32>, output: &Output) -> String {
    let mut page = format!("{}\n", output.paint.strong(&text::line(&played.name)));
    let chosen = chosen(played, turn);
    if chosen.is_empty() {
        let requests = words::plural(played.turns.len() as u64, "request");
        page.push_str(&format!(
            "  {}\n",
            output.paint.faint(&format!("{policy} did nothing before any of its {requests}"))
        ));
    }
    for at in chosen {
        let (Some(turn), Some(without)) = (played.turns.get(at), none.turns.get(at)) else { continue };
        let tokens = |tokens: f64| words::count(tokens.round() as u64);
        let sent = format!(
            "request {}: {} tokens, {} from the cache; without a policy {}",
            at + 1,
            tokens(turn.reading.prompt()),
            tokens(turn.reading.read),
            tokens(without.reading.prompt())
        );
        page.push_str(&format!("{sent}\n"));
        if turn.done.is_empty() {
            page.push_str(&format!("  {}\n", output.paint.faint(&format!("{policy} did nothing before this request"))));
        }
        page.push_str(&done(turn, output));
        if !turn.frames.is_empty() {
            page.push_str(&frames(&turn.frames).render(output));
        }
        let repeated = turn.repeated.iter().map(|what| (&Kind::Repeat, what));
        for (kind, what) in turn.missed.iter().map(|(kind, what)| (kind, what)).chain(repeated) {
            let missed = format!("{} {}", relied(*kind), text::fit(&text::line(what), 60));
            page.push_str(&format!("  {}\n", output.paint.warning(&missed)));
        }
    }
    page
}

/// The actions with their reasons, and their consequences.
fn done(turn: &Turn, output: &Output) -> String {
    let mut lines = String::new();
    for told in &turn.done {
        lines.push_str(&format!("  {}\n", words::grouped(&text::line(&told.what))));
        for why in &told.why {
            lines.push_str(&format!("    {}\n", output.paint.faint(&words::grouped(&text::line(why)))));
        }
    }
    if turn.taken_along() > 0 {
        let tokens = words::plural(turn.taken_along(), "token");
        lines.push_str(&format!("  another {tokens} less: thinking after a change is dropped\n"));
    }
    lines
}

/// The request frame by frame, with the changed steps.
fn frames(rows: &[Row]) -> Table {
    let mut table = Table::new(&[
        Column::Left("FRAME"),
        Column::Right("CLIENT'S"),
        Column::Right("SENT"),
        Column::Right("HERE"),
        Column::Flexible("WHAT"),
    ]);
    for row in rows {
        let here = match row.before.cmp(&row.sent) {
            Ordering::Greater => format!("-{}", words::count(row.before - row.sent)),
            Ordering::Equal => String::new(),
            Ordering::Less => format!("+{}", words::count(row.sent - row.before)),
        };
        let style = if row.step_of.is_some() { FAINT } else { PLAIN };
        table.row([
            Cell::styled(&row.id, ID),
            Cell::styled(&words::count(row.source), FAINT),
            Cell::styled(&words::count(row.sent), style),
            Cell::styled(&here, WARNING),
            Cell::styled(&row.title, style),
        ]);
    }
    table
}

fn relied(kind: Kind) -> &'static str {
    match kind {
        Kind::Edit => "the reply replaced text that was no longer visible:",
        Kind::Name => "the reply used a name that was no longer visible:",
        Kind::Reread => "the reply fetched removed content again:",
        Kind::Repeat => "the reply repeated this without its earlier result:",
    }
}

fn as_json(played: &PlayOutcome, none: &PlayOutcome, turn: Option<u32>) -> serde_json::Value {
    let turns: Vec<serde_json::Value> = chosen(played, turn)
        .into_iter()
        .filter_map(|at| Some((at, played.turns.get(at)?, none.turns.get(at)?)))
        .map(|(at, turn, without)| {
            let missed: Vec<[String; 2]> =
                turn.missed.iter().map(|(kind, what)| [format!("{kind:?}").to_lowercase(), what.clone()]).collect();
            serde_json::json!({
                "turn": at + 1, "tokens": turn.reading.prompt().round(), "cache_read": turn.reading.read.round(),
                "tokens_without": without.reading.prompt().round(), "cost": turn.input_cost + turn.output_cost,
                "done": turn.done, "tokens_taken_along": turn.taken_along(), "missed": missed, "repeated": turn.repeated, "frames": turn.frames,
            })
        })
        .collect();
    serde_json::json!({"conversation": played.name, "turns": turns})
}
