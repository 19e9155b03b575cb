//! `ctx list`: the frames of a conversation, in the order in which the model reads them.

use std::process::ExitCode;

use clap::Args;
use ctx_composer::view::{FrameView, Frames};

use crate::arguments::{AtArguments, ConversationArguments, JsonArguments};
use crate::client::{of_conversation, understood};
use crate::context::Context;
use crate::failure::Failure;
use crate::terminal::paint::{FAINT, ID, PLAIN, STRONG};
use crate::terminal::table::{Cell, Column, Table};
use crate::terminal::{Output, text, words};

/// List the frames of a conversation with their tokens
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx list
  ctx list --steps --conv c3f9
  ctx list --json | jq '.frames | max_by(.tokens).id'")]
pub struct Arguments {
    /// Also list the steps of each frame
    #[arg(long)]
    steps: bool,
    #[command(flatten)]
    at: AtArguments,
    #[command(flatten)]
    conversation: ConversationArguments,
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let question = arguments.at.of(if arguments.steps { "frames?steps=true" } else { "frames" });
    let answer = context.client()?.get(&of_conversation(&arguments.conversation.conversation, &question))?;
    if arguments.format.json {
        context.output.json(&answer)?;
    } else {
        context.output.print(&render(&understood(&answer)?, &context.output))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn render(list: &Frames, output: &Output) -> String {
    // What the agent sent is worth a column only where something else goes out.
    let source: u64 = list.frames.iter().map(|frame| frame.source_tokens).sum();
    let is_edited = list.frames.iter().any(|frame| frame.tokens != frame.source_tokens);
    let mut columns = vec![Column::Left("ID"), Column::Right("TOKENS")];
    columns.extend(is_edited.then_some(Column::Right("SOURCE")));
    columns.extend([Column::Right("MESSAGES"), Column::Right("STEPS"), Column::Flexible("TITLE")]);
    let mut table = Table::new(&columns);
    let tokens = |number: u64| words::tokens(number, list.calibrated);
    let source_cell = |now: u64, source: u64| {
        is_edited.then(|| Cell::styled(&if now == source { String::new() } else { tokens(source) }, FAINT))
    };
    for frame in &list.frames {
        let style = if frame.kind == "turn" && frame.tokens > 0 { PLAIN } else { FAINT };
        let start = [Cell::styled(&frame.id, ID), tokens(frame.tokens).into()];
        let steps = if frame.kind == "turn" { frame.steps.to_string() } else { String::new() };
        let rest = [frame.messages.to_string().into(), steps.into(), Cell::styled(&title(frame), style)];
        table.row(start.into_iter().chain(source_cell(frame.tokens, frame.source_tokens)).chain(rest));
        for step in frame.step_list.iter().flatten() {
            let start = [Cell::indented(&step.id, FAINT), tokens(step.tokens).into()];
            let title = format!("{}{}", chips(&step.state), step.title);
            let rest = [step.messages.to_string().into(), Cell::default(), Cell::indented(&title, FAINT)];
            table.row(start.into_iter().chain(source_cell(step.tokens, step.source_tokens)).chain(rest));
        }
    }
    let messages: usize = list.frames.iter().filter(|frame| frame.kind == "turn").map(|frame| frame.messages).sum();
    let steps: usize = list.frames.iter().map(|frame| frame.steps).sum();
    let start = [Cell::styled("total", STRONG), Cell::styled(&tokens(list.tokens), STRONG)];
    let rest = [messages.to_string().into(), steps.to_string().into(), Cell::styled(&about(list), FAINT)];
    table.row(start.into_iter().chain(source_cell(list.tokens, source)).chain(rest));
    table.render(output)
}

fn title(frame: &FrameView) -> String {
    let own = [(frame.pinned, "pinned"), (frame.pending, "pending")];
    let own: Vec<&str> = own.into_iter().filter(|(holds, _)| *holds).map(|(_, chip)| chip).collect();
    format!("{}{}{}", chips(&frame.state), chips(&own), frame.title)
}

fn chips<T: AsRef<str>>(chips: &[T]) -> String {
    chips.iter().map(|chip| format!("[{}] ", chip.as_ref())).collect()
}

/// The conversation, its model, and how full its window is.
fn about(list: &Frames) -> String {
    let mut about = vec![list.conversation.clone()];
    about.extend(list.model.clone());
    if let Some(window) = list.window.filter(|window| *window > 0) {
        let share = list.tokens.saturating_mul(100) / window;
        about.push(format!("{share}% of {}", words::count(window)));
    }
    if !list.calibrated {
        about.push("estimated".to_owned());
    }
    text::line(&about.join(" · "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn frame(id: &str, kind: &str, title: &str, tokens: u64) -> FrameView {
        let steps = if kind == "turn" { 2 } else { 0 };
        understood(
            json!({"id": id, "kind": kind, "title": title, "tokens": tokens, "source_tokens": tokens, "messages": 4,
                "steps": steps, "state": [], "pinned": false, "pending": false})
            .to_string()
            .as_bytes(),
        )
        .expect("a frame")
    }

    fn frames() -> Frames {
        let empty = r#"{"conversation":"c3f9a1","model":"claude-opus-5","calibrated":true,"tokens":18234,"window":200000,
            "frames":[]}"#;
        Frames {
            frames: vec![
                frame("system", "system", "System prompt, 2 blocks", 3_000),
                frame("tools", "tools", "18 tools: Bash, Read, …", 12_000),
                frame("t1", "turn", "Fix the parser", 2_234),
                FrameView {
                    state: vec!["edited".into()],
                    pinned: true,
                    pending: true,
                    ..frame("t2", "turn", "Now the\u{7} tests", 1_000)
                },
            ],
            ..understood(empty.as_bytes()).expect("frames")
        }
    }

    #[test]
    fn frames_are_listed_with_their_tokens_and_a_total() {
        insta::assert_snapshot!(render(&frames(), &Output::plain()), @r"
        ID      TOKENS  MESSAGES  STEPS  TITLE
        system   3,000         4         System prompt, 2 blocks
        tools   12,000         4         18 tools: Bash, Read, …
        t1       2,234         4      2  Fix the parser
        t2       1,000         4      2  [edited] [pinned] [pending] Now the\x07 tests
        total   18,234         8      4  c3f9a1 · claude-opus-5 · 9% of 200,000
        ");
    }

    #[test]
    fn what_the_agent_sent_has_a_column_where_something_else_goes_out() {
        let mut list = frames();
        list.tokens = 16_020;
        let step = r#"{"id":"t1/1","title":"Read src/main.rs","tokens":0,"source_tokens":55,"messages":2,"tools":["Read"],
            "state":["deleted"]}"#;
        list.frames[2] = FrameView {
            tokens: 20,
            state: vec!["compacted".into()],
            step_list: Some(vec![understood(step.as_bytes()).expect("a step")]),
            ..list.frames[2].clone()
        };
        insta::assert_snapshot!(render(&list, &Output::plain()), @r"
        ID      TOKENS  SOURCE  MESSAGES  STEPS  TITLE
        system   3,000                 4         System prompt, 2 blocks
        tools   12,000                 4         18 tools: Bash, Read, …
        t1          20   2,234         4      2  [compacted] Fix the parser
          t1/1       0      55         2           [deleted] Read src/main.rs
        t2       1,000                 4      2  [edited] [pinned] [pending] Now the\x07 tests
        total   16,020  18,234         8      4  c3f9a1 · claude-opus-5 · 8% of 200,000
        ");
    }

    #[test]
    fn steps_stand_under_their_frame_and_estimates_are_marked() {
        let step = r#"{"id":"t1/1","title":"Read src/main.rs","tokens":55,"messages":2,"tools":["Read"]}"#;
        let step = understood(step.as_bytes()).expect("a step");
        let mut list = frames();
        list.calibrated = false;
        list.window = None;
        list.frames = vec![FrameView { step_list: Some(vec![step]), ..frame("t1", "turn", "Fix the parser", 2_234) }];
        insta::assert_snapshot!(render(&list, &Output::plain()), @r"
        ID       TOKENS  MESSAGES  STEPS  TITLE
        t1       ≈2,234         4      2  Fix the parser
          t1/1      ≈55         2           Read src/main.rs
        total   ≈18,234         4      2  c3f9a1 · claude-opus-5 · estimated
        ");
    }
}
