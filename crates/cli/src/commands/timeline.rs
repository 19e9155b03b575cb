//! `ctx timeline`: lists requests, their verdicts and the provider's figures, one row per request.

use std::process::ExitCode;

use clap::Args;
use ctx_api::timeline::{Event, Timeline, What};

use crate::arguments::{ConversationArguments, JsonArguments};
use crate::client::{of_conversation, understood};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::paint::{BAD, FAINT, GOOD, ID, PLAIN};
use crate::output::table::{Cell, Column, Table};
use crate::output::{Output, words};
use crate::{commit, event};

/// List requests, responses and commits
#[derive(Args, Debug)]
#[command(
    after_help = "ID names the request, as in `ctx sent r17`. KNOWN, NEW and CHANGED count its messages. READ and WRITTEN are tokens read
from and written to the provider's cache. A row without STATUS has no response yet.

Examples:
  ctx timeline
  ctx timeline --limit 5 --conv c3f9
  ctx timeline --json | jq '.events[] | select(.kind == \"answer\") | .usage'"
)]
pub struct Arguments {
    /// List only the newest N requests (with --json: events)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    #[command(flatten)]
    conversation: ConversationArguments,
    #[command(flatten)]
    pub format: JsonArguments,
}

/// The default number of rows.
const USUAL: u32 = 50;

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let rows = arguments.limit.unwrap_or(USUAL);
    let question = match arguments.limit {
        Some(limit) if arguments.format.json => format!("timeline?limit={limit}"),
        None if arguments.format.json => "timeline".to_owned(),
        // A request and its response are two events, possibly with others between them.
        _ => format!("timeline?limit={}", u64::from(rows) * 2 + 10),
    };
    let answer = context.client()?.get(&of_conversation(&arguments.conversation.conversation, &question))?;
    if arguments.format.json {
        context.output.json(&answer)?;
    } else {
        let timeline: Timeline = understood(&answer)?;
        context.output.print(&render(&timeline, rows as usize, ctx_service::now(), &context.output))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn render(timeline: &Timeline, most: usize, now: u64, output: &Output) -> String {
    let is_request = |event: &&Event| matches!(event.what, What::Request { .. });
    let requests: Vec<&Event> = timeline.events.iter().filter(is_request).collect();
    if requests.is_empty() {
        return "No request has been recorded yet.\n".to_owned();
    }
    let mut table = Table::new(&[
        Column::Left("ID"),
        Column::Left("WHEN"),
        Column::Left("CLASS"),
        Column::Left("VERDICT"),
        Column::Right("KNOWN"),
        Column::Right("NEW"),
        Column::Right("CHANGED"),
        Column::Right("STATUS"),
        Column::Left("STOP"),
        Column::Right("INPUT"),
        Column::Right("READ"),
        Column::Right("WRITTEN"),
        Column::Right("OUTPUT"),
        Column::Right("TIME"),
        Column::Flexible("MODEL"),
    ])
    .dispensing(&["MODEL", "TIME", "KNOWN", "CHANGED", "CLASS", "STOP", "NEW", "OUTPUT"]);
    let first = requests.get(requests.len().saturating_sub(most)).map_or(0, |request| request.seq);
    for event in timeline.events.iter().filter(|event| event.seq >= first) {
        match &event.what {
            What::Request { request, detail, .. } => {
                let answers = |what: &&What| matches!(what, What::Answer { request: number, .. } if number == request);
                let answer = timeline.events.iter().map(|event| &event.what).find(answers);
                table.row(row(event, answer, now));
                let style = if answer.is_some_and(event::is_failure) { BAD } else { FAINT };
                let remarks = answer.map(event::remarks).unwrap_or_default();
                let remarks = remarks.iter().map(|remark| Cell::styled(remark, style));
                let details = detail.iter().map(|detail| Cell::styled(detail, FAINT));
                details.chain(remarks).for_each(|remark| table.remark(remark));
            }
            what => besides(&mut table, event.at, what, now),
        }
    }
    let mut lines = table.render(output);
    if timeline.skipped > 0 {
        let skipped = words::plural(timeline.skipped, "record");
        lines.push_str(&format!("{skipped} could not be read; `ctx doctor` has details.\n"));
    }
    lines
}

/// Events between requests, with the reasons of a commit.
fn besides(table: &mut Table, at: u64, what: &What, now: u64) {
    let Some(aside) = event::aside(what) else { return };
    let (change, whys) = match what {
        What::Commit { change, note, operations, reasons, .. } => {
            (change.as_str(), commit::whys(note.as_deref(), operations, reasons))
        }
        What::Waiting { note, .. } => ("", note.iter().cloned().collect()),
        What::Noted { note, .. } => ("", vec![note.clone()]),
        _ => ("", Vec::new()),
    };
    let kind = if let What::Line { .. } = what { "branch" } else { what.kind() };
    table.row([Cell::default(), words::ago(now, at).into(), Cell::styled(kind, GOOD), change.into()]);
    table.remark(Cell::styled(&aside, FAINT));
    whys.iter().for_each(|why| table.remark(Cell::styled(why, FAINT)));
}

fn row(event: &Event, answer: Option<&What>, now: u64) -> Vec<Cell> {
    let What::Request { request, class, verdict, known, new, changed, model, .. } = &event.what else {
        return Vec::new();
    };
    let number = |count: Option<u64>| Cell::from(count.map(words::count).unwrap_or_default());
    let (usage, took) = match answer {
        Some(What::Answer { usage, total_ms, .. }) => (usage.as_ref(), Some(*total_ms)),
        _ => (None, None),
    };
    let status_style = if answer.is_some_and(event::is_failure) { BAD } else { PLAIN };
    vec![
        Cell::styled(&event::request_name(*request), ID),
        words::ago(now, event.at).into(),
        class.as_str().into(),
        verdict.as_str().into(),
        number(Some((*known).into())),
        number(Some((*new).into())),
        number(Some((*changed).into())),
        Cell::styled(&answer.map(event::status_in_words).unwrap_or_default(), status_style),
        Cell::styled(&answer.map(event::ending_in_words).unwrap_or_default(), status_style),
        number(usage.map(|usage| usage.input)),
        number(usage.map(|usage| usage.cache_read)),
        number(usage.map(|usage| usage.cache_write)),
        number(usage.map(|usage| usage.output)),
        took.map(words::duration).unwrap_or_default().into(),
        Cell::styled(model.as_deref().unwrap_or_default(), FAINT),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(skipped: u64, events: &[&str]) -> Timeline {
        let events = events.iter().map(|given| event::tests::event(given)).collect();
        Timeline { conversation: "c1".to_owned(), events, skipped }
    }

    fn exchanges() -> Timeline {
        timeline(
            1,
            &[
                r#"{"seq":1,"at":1000,"kind":"opened","class":"main"}"#,
                r#"{"seq":2,"at":1000,"kind":"request","request":1,"class":"main","verdict":"new","new":1,
                    "model":"claude-opus-5"}"#,
                r#"{"seq":3,"at":1400,"kind":"answer","request":1,"stop_reason":"tool_use",
                    "usage":{"input":3,"cache_read":0,"cache_write":12345,"output":90},"total_ms":1340}"#,
                r#"{"seq":4,"at":121000,"kind":"request","request":2,"class":"main","verdict":"next","known":2,"new":1,
                    "changed":1,"detail":"a tool result was \u001b[31mcleared","model":"claude-opus-5"}"#,
                r#"{"seq":5,"at":121200,"kind":"answer","request":2,"status":529,"total_ms":200,
                    "error":{"kind":"overloaded_error","message":"Overloaded"}}"#,
                r#"{"seq":6,"at":125000,"kind":"request","request":3,"class":"auxiliary","verdict":"side","known":3,
                    "new":1,"model":"claude-haiku-5"}"#,
            ],
        )
    }

    #[test]
    fn requests_stand_with_their_answers_in_one_row() {
        insta::assert_snapshot!(render(&exchanges(), 50, 126_000, &Output::plain()), @r"
        ID  WHEN       CLASS      VERDICT  KNOWN  NEW  CHANGED  STATUS  STOP      INPUT  READ  WRITTEN  OUTPUT    TIME  MODEL
        r1  2 min ago  main       new          0    1        0     200  tool_use      3     0   12,345      90   1.3 s  claude-opus-5
        r2  5 s ago    main       next         2    1        1     529                                          200 ms  claude-opus-5
            a tool result was \x1b[31mcleared
            error overloaded_error: Overloaded
        r3  just now   auxiliary  side         3    1        0                                                          claude-haiku-5
        1 record could not be read; `ctx doctor` has details.
        ");
    }

    #[test]
    fn commits_stand_among_what_arrived() {
        let timeline = timeline(
            0,
            &[
                r#"{"seq":1,"at":1000,"kind":"request","request":1,"verdict":"new","new":1}"#,
                r#"{"seq":2,"at":2000,"kind":"commit","change":"edit","id":"00000000a1","author":"cli","note":"too long",
                    "summary":"deleted t1","tokens_before":1234,"tokens_after":1222}"#,
                r#"{"seq":3,"at":3000,"kind":"request","request":3,"known":1,"new":1}"#,
            ],
        );
        insta::assert_snapshot!(render(&timeline, 50, 3_000, &Output::plain()), @r"
        ID  WHEN      CLASS   VERDICT  KNOWN  NEW  CHANGED  STATUS  STOP  INPUT  READ  WRITTEN  OUTPUT  TIME  MODEL
        r1  just now  main    new          0    1        0
            just now  commit  edit
            00000000a1 by cli: deleted t1 (1,234 → 1,222 tokens)
            too long
        r3  just now  main    next         1    1        0
        ");
        assert!(!render(&timeline, 1, 3_000, &Output::plain()).contains("commit"), "it is older than what is shown");
    }

    #[test]
    fn only_the_newest_are_shown_when_there_is_a_limit() {
        let short = render(&exchanges(), 1, 126_000, &Output::plain());
        assert!(short.contains("auxiliary") && !short.contains("Overloaded"), "{short}");
    }

    #[test]
    fn an_empty_timeline_says_so() {
        let empty = timeline(0, &[]);
        assert!(render(&empty, 5, 0, &Output::plain()).contains("No request"));
    }
}
