//! `ctx watch`: prints events live.

use std::ops::ControlFlow;
use std::process::ExitCode;

use clap::Args;
use ctx_api::live::{LiveEvent, Reset};
use ctx_api::timeline::{Event, What};

use crate::arguments::{JsonArguments, non_empty};
use crate::context::Context;
use crate::event;
use crate::failure::Failure;
use crate::output::{Output, text, words};

/// Watch requests, responses and commits live
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx watch
  ctx watch --conv active
  ctx watch --json | jq 'select(.kind == \"answer\") | .usage'")]
pub struct Arguments {
    /// Watch only this conversation: an id, the start of one, or `active`
    #[arg(long = "conv", value_name = "ID", value_parser = non_empty)]
    conversation: Option<String>,
    /// Start after this event
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,
    /// Stop after this many events
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let client = context.client()?;
    let only = arguments.conversation.as_deref().map(|name| client.resolve(name)).transpose()?;
    let path = arguments.after.map_or("/events".to_owned(), |after| format!("/events?after={after}"));
    let mut left = arguments.limit;
    client.events(&path, |data| {
        // Skip an event that cannot be parsed: it comes from another version.
        let Ok(event) = serde_json::from_str::<LiveEvent>(data) else { return ControlFlow::Continue(()) };
        let of = match &event {
            LiveEvent::Happened(event) => Some(&event.conversation),
            LiveEvent::Streaming(part) => Some(&part.conversation),
            LiveEvent::Reset(_) => None,
        };
        if only.is_some() && only.as_ref() != of {
            return ControlFlow::Continue(());
        }
        let printed = match (&event, arguments.format.json) {
            (_, true) => context.output.json(data.as_bytes()),
            (LiveEvent::Happened(event), false) => context.output.print(&render(event, &context.output)),
            (LiveEvent::Reset(reset), false) => context.output.print(&restarted(reset, &context.output)),
            (LiveEvent::Streaming(_), false) => Ok(()),
        };
        if let Err(error) = printed {
            return ControlFlow::Break(Err(error.into()));
        }
        left = left.map(|left| left - 1);
        if left == Some(0) { ControlFlow::Break(Ok(())) } else { ControlFlow::Continue(()) }
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Events between the given number and this one are missing.
fn restarted(reset: &Reset, output: &Output) -> String {
    format!("{}  {} reset\n", output.paint.faint(&words::clock(reset.at)), output.paint.strong("*"))
}

fn render(event: &Event, output: &Output) -> String {
    let paint = &output.paint;
    let what = &event.what;
    let (mark, said) = match what {
        What::Opened { .. } => (paint.strong("+"), opened(what)),
        What::Request { .. } => (paint.id("→"), request(what)),
        What::Answer { .. } if event::is_failure(what) => (paint.bad("←"), paint.bad(&answer(what))),
        What::Answer { .. } => (paint.good("←"), answer(what)),
        other => (paint.strong("*"), text::line(&event::aside(other).unwrap_or_else(|| other.kind().to_owned()))),
    };
    let conversation = text::line(&event.conversation);
    let mut lines = format!("{} {} {mark} {said}\n", paint.faint(&words::clock(event.at)), paint.id(&conversation));
    for remark in note(what).into_iter().chain(event::remarks(what)) {
        lines.push_str(&format!("    {}\n", paint.faint(&text::line(&remark))));
    }
    lines
}

/// The remarks of an author or the recorder.
fn note(what: &What) -> Option<String> {
    match what {
        What::Request { detail: note, .. } | What::Commit { note, .. } | What::Waiting { note, .. } => note.clone(),
        What::Noted { note, .. } => Some(note.clone()),
        _ => None,
    }
}

fn opened(what: &What) -> String {
    let What::Opened { class, parent, forked_from, client, .. } = what else { return String::new() };
    let of = |what: &str, id: &Option<String>| id.as_ref().map(|id| format!("{what} {id}"));
    let parts = [
        Some(format!("a new {class} conversation")),
        of("agent of", parent),
        of("fork of", forked_from),
        client.clone(),
    ];
    text::line(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

fn request(what: &What) -> String {
    let What::Request { request, class, verdict, known, new, changed, bytes, model, .. } = what else {
        return String::new();
    };
    let [known, new, changed] = [known, new, changed].map(|count| words::count((*count).into()));
    let parts = [
        Some(event::request_name(*request)),
        Some(format!("{class} {verdict}")),
        Some(format!("known {known} new {new} changed {changed}")),
        Some(words::bytes(*bytes)),
        model.clone(),
    ];
    text::line(&parts.into_iter().flatten().collect::<Vec<_>>().join(" · "))
}

fn answer(what: &What) -> String {
    let What::Answer { request, status, usage, total_ms, .. } = what else { return String::new() };
    let usage = usage.as_ref().map(|usage| {
        format!(
            "input {} read {} written {} output {}",
            words::count(usage.input),
            words::count(usage.cache_read),
            words::count(usage.cache_write),
            words::count(usage.output)
        )
    });
    let ended = match status {
        0 => event::ending_in_words(what),
        status => format!("{status} {}", event::ending_in_words(what)),
    };
    let parts = [Some(event::request_name(*request)), Some(ended), usage, Some(words::duration(*total_ms))];
    text::line(&parts.into_iter().flatten().collect::<Vec<_>>().join(" · "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(json: &str) -> String {
        render(&event::tests::event(json), &Output::plain())
    }

    #[test]
    fn each_event_is_a_line() {
        insta::assert_snapshot!(
            [
                rendered(r#"{"kind":"opened","at":0,"conversation":"c1","class":"subagent","parent":"c0","client":"claude-cli/2"}"#),
                rendered(r#"{"kind":"request","at":1000,"conversation":"c1","request":7,"class":"main","verdict":"next","known":5,"new":2,"changed":0,"model":"claude-opus-5","bytes":51234,"detail":"two \u001b[2J tips"}"#),
                rendered(r#"{"kind":"answer","at":62000,"conversation":"c1","request":7,"status":200,"stop_reason":"end_turn","ending":"complete","usage":{"input":3,"cache_read":100,"cache_write":20,"output":9},"total_ms":340}"#),
                rendered(r#"{"kind":"answer","at":62000,"conversation":"c1","request":8,"status":0,"ending":"unreachable","usage":null,"total_ms":12,"error":{"kind":"api_error","message":"no way"}}"#),
                rendered(r#"{"kind":"commit","change":"edit","at":62000,"conversation":"c1","id":"00000000a1","author":"ui","summary":"pinned t1","note":"keep","tokens_before":9,"tokens_after":9}"#),
                rendered(r#"{"kind":"edited","at":62000,"conversation":"c1"}"#),
            ]
            .concat(),
            @r"
            00:00:00Z c1 + a new subagent conversation, agent of c0, claude-cli/2
            00:00:01Z c1 → r7 · main next · known 5 new 2 changed 0 · 51.2 KB · claude-opus-5
                two \x1b[2J tips
            00:01:02Z c1 ← r7 · 200 end_turn · input 3 read 100 written 20 output 9 · 340 ms
            00:01:02Z c1 ← r8 · unreachable · 12 ms
                error api_error: no way
            00:01:02Z c1 * 00000000a1 by ui: pinned t1 (9 → 9 tokens)
                keep
            00:01:02Z c1 * unknown
            "
        );
    }
}
