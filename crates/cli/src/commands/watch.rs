//! `ctx watch`: what happens, as it happens.

use std::ops::ControlFlow;
use std::process::ExitCode;

use clap::Args;
use serde::Deserialize;

use crate::arguments::{JsonArguments, non_empty};
use crate::client::{Client, of_conversation, understood};
use crate::context::Context;
use crate::event::Event;
use crate::failure::Failure;
use crate::output::{Output, text, words};

/// Watch requests, responses and commits live
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx watch
  ctx watch --conv active
  ctx watch --json | jq 'select(.kind == \"answer\") | .usage'")]
pub struct Arguments {
    /// Only this conversation: an id, the start of one, or `active`
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
    let only = arguments.conversation.as_deref().map(|name| resolve(&client, name)).transpose()?;
    let path = arguments.after.map_or("/events".to_owned(), |after| format!("/events?after={after}"));
    let mut left = arguments.limit;
    client.events(&path, |data| {
        // What cannot be read comes from another version; the next one may be known again.
        let Ok(event) = serde_json::from_str::<Event>(data) else { return ControlFlow::Continue(()) };
        if only.is_some() && event.conversation != only {
            return ControlFlow::Continue(());
        }
        let printed = match arguments.format.json {
            true => context.output.json(data.as_bytes()),
            false => context.output.print(&render(&event, &context.output)),
        };
        if let Err(error) = printed {
            return ControlFlow::Break(Err(error.into()));
        }
        left = left.map(|left| left - 1);
        if left == Some(0) { ControlFlow::Break(Ok(())) } else { ControlFlow::Continue(()) }
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The id that a name stands for: the daemon knows, and it knows what is near if nothing fits.
fn resolve(client: &Client, name: &str) -> Result<String, Failure> {
    #[derive(Deserialize)]
    struct Named {
        conversation: String,
    }
    let answer = client.get(&of_conversation(name, "timeline?limit=1"))?;
    understood::<Named>(&answer).map(|named| named.conversation)
}

fn render(event: &Event, output: &Output) -> String {
    let paint = &output.paint;
    let conversation = text::line(event.conversation.as_deref().unwrap_or_default());
    let (mark, said) = match event.kind.as_str() {
        "opened" => (paint.strong("+"), opened(event)),
        "request" => (paint.id("→"), request(event)),
        "answer" if event.is_failure() => (paint.bad("←"), paint.bad(&answer(event))),
        "answer" => (paint.good("←"), answer(event)),
        other => (paint.strong("*"), text::line(&event.aside().unwrap_or_else(|| other.to_owned()))),
    };
    let mut lines = format!("{} {} {mark} {said}\n", paint.faint(&words::clock(event.at)), paint.id(&conversation));
    for remark in event.detail.iter().chain(&event.commit.note).cloned().chain(event.remarks()) {
        lines.push_str(&format!("    {}\n", paint.faint(&text::line(&remark))));
    }
    lines
}

fn opened(event: &Event) -> String {
    let of = |what: &str, id: &Option<String>| id.as_ref().map(|id| format!("{what} {id}"));
    let parts = [
        Some(format!("a new {} conversation", event.class.as_deref().unwrap_or_default())),
        of("agent of", &event.parent),
        of("fork of", &event.forked_from),
        event.client.clone(),
    ];
    text::line(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

fn request(event: &Event) -> String {
    let number = |count: Option<u64>| words::count(count.unwrap_or(0));
    let parts = [
        event.name_of_request(),
        Some([event.class.as_deref(), event.verdict.as_deref()].map(Option::unwrap_or_default).join(" ")),
        Some(format!("known {} new {} changed {}", number(event.known), number(event.new), number(event.changed))),
        event.bytes.map(words::bytes),
        event.model.clone(),
    ];
    text::line(&parts.into_iter().flatten().collect::<Vec<_>>().join(" · "))
}

fn answer(event: &Event) -> String {
    let usage = event.usage.as_ref().map(|usage| {
        format!(
            "input {} read {} written {} output {}",
            words::count(usage.input),
            words::count(usage.cache_read),
            words::count(usage.cache_write),
            words::count(usage.output)
        )
    });
    let ended = match event.status {
        Some(0) | None => event.ending_in_words(),
        Some(status) => format!("{status} {}", event.ending_in_words()),
    };
    let parts = [event.name_of_request(), Some(ended), usage, event.total_ms.map(words::duration)];
    text::line(&parts.into_iter().flatten().collect::<Vec<_>>().join(" · "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(json: &str) -> String {
        render(&serde_json::from_str(json).expect("an event"), &Output::plain())
    }

    #[test]
    fn each_event_is_a_line() {
        insta::assert_snapshot!(
            [
                rendered(r#"{"kind":"opened","at":0,"conversation":"c1","class":"subagent","parent":"c0","client":"claude-cli/2"}"#),
                rendered(r#"{"kind":"request","at":1000,"conversation":"c1","request":7,"class":"main","verdict":"next","known":5,"new":2,"changed":0,"model":"claude-opus-5","bytes":51234,"detail":"two \u001b[2J tips"}"#),
                rendered(r#"{"kind":"answer","at":62000,"conversation":"c1","request":7,"status":200,"stop_reason":"end_turn","ending":"complete","usage":{"input":3,"cache_read":100,"cache_write":20,"output":9},"total_ms":340}"#),
                rendered(r#"{"kind":"answer","at":62000,"conversation":"c1","status":0,"ending":"unreachable","usage":null,"total_ms":12,"error":{"kind":"api_error","message":"no way"}}"#),
                rendered(r#"{"kind":"commit","change":"edit","at":62000,"conversation":"c1","id":"00000000a1","author":"ui","summary":"pinned t1","note":"keep","tokens_before":9,"tokens_after":9}"#),
                rendered(r#"{"kind":"edited","at":62000,"conversation":"c1"}"#),
            ]
            .concat(),
            @r"
            00:00:00Z c1 + a new subagent conversation, agent of c0, claude-cli/2
            00:00:01Z c1 → r7 · main next · known 5 new 2 changed 0 · 51.2 KB · claude-opus-5
                two \x1b[2J tips
            00:01:02Z c1 ← r7 · 200 end_turn · input 3 read 100 written 20 output 9 · 340 ms
            00:01:02Z c1 ← unreachable · 12 ms
                error api_error: no way
            00:01:02Z c1 * 00000000a1 by ui: pinned t1 (9 → 9 tokens)
                keep
            00:01:02Z c1 * edited
            "
        );
    }
}
