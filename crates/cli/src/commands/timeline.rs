//! `ctx timeline`: what arrived, how it was understood, and what the provider reported; one row an exchange.

use std::process::ExitCode;

use clap::Args;
use serde::Deserialize;

use crate::arguments::{ConversationArguments, JsonArguments};
use crate::client::{of_conversation, understood};
use crate::context::Context;
use crate::event::Event;
use crate::failure::Failure;
use crate::output::paint::{BAD, FAINT, GOOD, ID, PLAIN};
use crate::output::table::{Cell, Column, Table};
use crate::output::{Output, words};

/// Show requests, responses and commits
#[derive(Args, Debug)]
#[command(
    after_help = "Columns: ID names the request (`ctx sent r17`); KNOWN, NEW and CHANGED count messages of the request; READ and WRITTEN are the
provider's cache; a row without STATUS has no answer yet.

Examples:
  ctx timeline
  ctx timeline --limit 5 --conv c3f9
  ctx timeline --json | jq '.events[] | select(.kind == \"answer\") | .usage'"
)]
pub struct Arguments {
    /// Show only the newest N exchanges (with --json: events)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    #[command(flatten)]
    conversation: ConversationArguments,
    #[command(flatten)]
    pub format: JsonArguments,
}

/// Rows that are shown unless more are asked for.
const USUAL: u32 = 50;

#[derive(Deserialize)]
struct Timeline {
    events: Vec<Event>,
    #[serde(default)]
    skipped: u64,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let rows = arguments.limit.unwrap_or(USUAL);
    let question = match arguments.limit {
        Some(limit) if arguments.format.json => format!("timeline?limit={limit}"),
        None if arguments.format.json => "timeline".to_owned(),
        // An exchange is two events, and others may lie between.
        _ => format!("timeline?limit={}", u64::from(rows) * 2 + 10),
    };
    let answer = context.client()?.get(&of_conversation(&arguments.conversation.conversation, &question))?;
    if arguments.format.json {
        context.output.json(&answer)?;
    } else {
        let timeline: Timeline = understood(&answer)?;
        context.output.print(&render(&timeline, rows as usize, ctx_composer::now(), &context.output))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn render(timeline: &Timeline, most: usize, now: u64, output: &Output) -> String {
    let requests: Vec<&Event> = timeline.events.iter().filter(|event| event.kind == "request").collect();
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
    let shown = |event: &&Event| event.seq >= first && (event.kind == "request" || event.aside().is_some());
    for request in timeline.events.iter().filter(shown) {
        if let Some(aside) = request.aside() {
            let change = request.change.as_deref().unwrap_or_default();
            let kind = if request.kind == "line" { "branch" } else { &request.kind };
            table.row([Cell::default(), words::ago(now, request.at).into(), Cell::styled(kind, GOOD), change.into()]);
            table.remark(Cell::styled(&aside, FAINT));
            request.commit.whys().iter().for_each(|why| table.remark(Cell::styled(why, FAINT)));
            continue;
        }
        let answer = timeline.events.iter().find(|event| event.answers(request));
        table.row(row(request, answer, now));
        let details = request.detail.iter().map(|detail| Cell::styled(detail, FAINT));
        let style = if answer.is_some_and(Event::is_failure) { BAD } else { FAINT };
        let remarks = answer.map(Event::remarks).unwrap_or_default();
        let remarks = remarks.iter().map(|remark| Cell::styled(remark, style));
        details.chain(remarks).for_each(|remark| table.remark(remark));
    }
    let mut lines = table.render(output);
    if timeline.skipped > 0 {
        let skipped = words::plural(timeline.skipped, "record");
        lines.push_str(&format!("{skipped} could not be read; `ctx doctor` has details.\n"));
    }
    lines
}

fn row(request: &Event, answer: Option<&Event>, now: u64) -> Vec<Cell> {
    let number = |count: Option<u64>| Cell::from(count.map(words::count).unwrap_or_default());
    let usage = answer.and_then(|answer| answer.usage.as_ref());
    let status_style = if answer.is_some_and(Event::is_failure) { BAD } else { PLAIN };
    vec![
        Cell::styled(&request.name_of_request().unwrap_or_default(), ID),
        words::ago(now, request.at).into(),
        request.class.as_deref().unwrap_or_default().into(),
        request.verdict.as_deref().unwrap_or_default().into(),
        number(request.known),
        number(request.new),
        number(request.changed),
        Cell::styled(&answer.map(Event::status_in_words).unwrap_or_default(), status_style),
        Cell::styled(&answer.map(Event::ending_in_words).unwrap_or_default(), status_style),
        number(usage.map(|usage| usage.input)),
        number(usage.map(|usage| usage.cache_read)),
        number(usage.map(|usage| usage.cache_write)),
        number(usage.map(|usage| usage.output)),
        answer.and_then(|answer| answer.total_ms).map(words::duration).unwrap_or_default().into(),
        Cell::styled(request.model.as_deref().unwrap_or_default(), FAINT),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: &str = r#"{"conversation":"c1","skipped":1,"events":[
        {"seq":1,"at":1000,"kind":"opened","class":"main"},
        {"seq":2,"at":1000,"kind":"request","request":1,"class":"main","verdict":"new","known":0,"new":1,"changed":0,
         "detail":null,"model":"claude-opus-5","bytes":51234},
        {"seq":3,"at":1400,"kind":"answer","request":1,"status":200,"ending":"complete","stop_reason":"tool_use",
         "usage":{"input":3,"cache_read":0,"cache_write":12345,"output":90},"total_ms":1340,"error":null,
         "applied_edits":[],"transformations":[]},
        {"seq":4,"at":121000,"kind":"request","request":2,"class":"main","verdict":"next","known":2,"new":1,"changed":1,
         "detail":"a tool result was \u001b[31mcleared","model":"claude-opus-5","bytes":51300},
        {"seq":5,"at":121200,"kind":"answer","request":2,"status":529,"ending":"complete","stop_reason":null,"usage":null,
         "total_ms":200,"error":{"kind":"overloaded_error","message":"Overloaded"}},
        {"seq":6,"at":125000,"kind":"request","request":3,"class":"auxiliary","verdict":"side","known":3,"new":1,
         "changed":0,"model":"claude-haiku-5","bytes":900}]}"#;

    fn timeline() -> Timeline {
        understood(EVENTS.as_bytes()).expect("a timeline")
    }

    #[test]
    fn requests_stand_with_their_answers_in_one_row() {
        insta::assert_snapshot!(render(&timeline(), 50, 126_000, &Output::plain()), @r"
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
        let json = r#"{"events":[
            {"seq":1,"at":1000,"kind":"request","request":1,"class":"main","verdict":"new","known":0,"new":1,"changed":0},
            {"seq":2,"at":2000,"kind":"commit","change":"edit","id":"00000000a1","author":"cli","note":"too long",
             "summary":"deleted t1","tokens_before":1234,"tokens_after":1222},
            {"seq":3,"at":3000,"kind":"request","request":3,"class":"main","verdict":"next","known":1,"new":1,"changed":0}]}"#;
        let timeline = understood(json.as_bytes()).expect("a timeline");
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
        let short = render(&timeline(), 1, 126_000, &Output::plain());
        assert!(short.contains("auxiliary") && !short.contains("Overloaded"), "{short}");
    }

    #[test]
    fn an_empty_timeline_says_so() {
        let empty = Timeline { events: Vec::new(), skipped: 0 };
        assert!(render(&empty, 5, 0, &Output::plain()).contains("No request"));
    }
}
