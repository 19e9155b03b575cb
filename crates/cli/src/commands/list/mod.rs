//! `ctx list`: lists the frames of a conversation in the order in which the model reads them.

mod compact;

use std::process::ExitCode;

use anstyle::Style;
use clap::Args;
use ctx_api::context::WorthView;
use ctx_api::frames::Frames;

use crate::arguments::{AtArguments, ConversationArguments, JsonArguments};
use crate::client::{of_conversation, understood};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::bar::bar;
use crate::output::paint::{BAD, FAINT, GOOD, ID, PLAIN, STRONG, WARNING};
use crate::output::table::{Cell, Column, Table};
use crate::output::{Output, text, words};

/// Columns of the largest frame's bar.
const BAR: usize = 10;

const INCOMPLETE: &str = "the newest requests could not be stored, so frames may be missing; `ctx doctor` shows why. \
    The next stored request restores them";

/// List the frames of a conversation with their tokens
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ctx list --steps --conv c3f9
  ctx list --json | jq '.frames | max_by(.tokens).id'")]
pub struct Arguments {
    /// List the steps of each frame
    #[arg(long)]
    steps: bool,
    /// Include frames from before the agent's own compaction or a rewind; they are not sent
    #[arg(long)]
    all: bool,
    /// With --json: at most 40 tokens per frame, for agents
    #[arg(long, requires = "json")]
    compact: bool,
    #[command(flatten)]
    at: AtArguments,
    #[command(flatten)]
    conversation: ConversationArguments,
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let question = match (arguments.steps, arguments.all) {
        (true, true) => "frames?steps=true&all=true",
        (true, false) => "frames?steps=true",
        (false, true) => "frames?all=true",
        (false, false) => "frames",
    };
    let question = arguments.at.of(question);
    let answer = context.client()?.get(&of_conversation(&arguments.conversation.conversation, &question))?;
    if arguments.compact {
        context.output.json(compact::of(&understood(&answer)?).to_string().as_bytes())?;
    } else if arguments.format.json {
        context.output.json(&answer)?;
    } else {
        let list: Frames = understood(&answer)?;
        let worth = if arguments.at.is_now() { worth_line(context, &list.conversation) } else { None };
        let worth = worth.map(|line| format!("{}\n", context.output.paint.warning(&text::line(&line))));
        context.output.print(&(render(&list, &context.output) + &worth.unwrap_or_default()))?;
        if let Some(elsewhere) = &list.elsewhere {
            context.note(elsewhere);
        }
        if let Some(moved) = &list.moved_from {
            context.note(&moved.in_words());
        }
        if let Some(note) = words::unread(list.unread) {
            context.note(&note);
        }
        if list.incomplete {
            context.note(INCOMPLETE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Stale content, and the command that shows it. A failure here does not affect the list.
pub fn worth_line(context: &Context, conversation: &str) -> Option<String> {
    let answer = context.client().ok()?.get(&of_conversation(conversation, "worth")).ok()?;
    let view: WorthView = understood(&answer).ok()?;
    view.worth.map(|worth| format!("{} Review: `ctx plan --stale`", worth.words))
}

/// The edits of the conversation that this one continues in another format, if they are not in force here.
pub fn moved_line(context: &Context, conversation: &str) -> Option<String> {
    let answer = context.client().ok()?.get(&of_conversation(conversation, "frames")).ok()?;
    let list: Frames = understood(&answer).ok()?;
    list.moved_from.map(|moved| moved.in_words())
}

fn render(list: &Frames, output: &Output) -> String {
    // The source column appears only if something differs from it.
    let sent = || list.frames.iter().filter(|frame| frame.left.is_none());
    let source: u64 = sent().map(|frame| frame.source_tokens).sum();
    let is_edited = list.frames.iter().any(|frame| frame.tokens != frame.source_tokens);
    let mut columns = vec![Column::Left("ID"), Column::Right("TOKENS")];
    columns.extend(is_edited.then_some(Column::Right("SOURCE")));
    columns.extend([Column::Left("SHARE"), Column::Right("MESSAGES"), Column::Right("STEPS")]);
    columns.push(Column::Flexible("TITLE"));
    let mut table = Table::new(&columns).dispensing(&["MESSAGES", "STEPS", "SHARE"]);
    let tokens = |number: u64| words::tokens(number, list.calibrated);
    let figures = |now: u64, source: u64, style: Style| {
        let was = if now == source { String::new() } else { tokens(source) };
        let was = is_edited.then(|| Cell::styled(&was, FAINT));
        std::iter::once(Cell::styled(&tokens(now), style)).chain(was)
    };
    let most = list.frames.iter().map(|frame| frame.tokens.max(frame.source_tokens)).max().unwrap_or(0);
    let share = |now: u64, source: u64| {
        let (there, gone) = bar(now, source, most, BAR);
        Cell::styled(&there, ID).then(&gone, FAINT)
    };
    let count = |number: usize| Cell::from(words::count(number as u64));
    for frame in &list.frames {
        let is_turn = frame.kind == "turn";
        let style = if is_turn && frame.tokens > 0 && frame.left.is_none() { PLAIN } else { FAINT };
        let own = [(frame.pinned, "pinned"), (frame.pending, "pending")];
        let own = own.iter().filter(|(holds, _)| *holds).map(|(_, chip)| *chip);
        let waiting: Vec<String> = frame.waiting.iter().map(|id| format!("{id} waits")).collect();
        let waiting = waiting.iter().map(String::as_str);
        let title = titled(frame.state.iter().map(String::as_str).chain(own).chain(waiting), &frame.title, style);
        let mut row = vec![Cell::styled(&frame.id, ID)];
        row.extend(figures(frame.tokens, frame.source_tokens, PLAIN));
        let steps = if is_turn { count(frame.steps) } else { Cell::default() };
        row.extend([share(frame.tokens, frame.source_tokens), count(frame.messages), steps, title]);
        table.row(row);
        for step in frame.step_list.iter().flatten() {
            let title = titled(step.state.iter().map(String::as_str), &step.title, FAINT).shifted();
            let mut row = vec![Cell::indented(&step.id, FAINT)];
            row.extend(figures(step.tokens, step.source_tokens, PLAIN));
            row.extend([share(step.tokens, step.source_tokens), count(step.messages), Cell::default(), title]);
            table.row(row);
        }
    }
    let messages: usize = sent().filter(|frame| frame.kind == "turn").map(|frame| frame.messages).sum();
    let steps: usize = sent().map(|frame| frame.steps).sum();
    let mut row = vec![Cell::styled("total", STRONG)];
    row.extend(figures(list.tokens, source, STRONG));
    row.extend([Cell::default(), count(messages), count(steps)]);
    table.row(row);
    let earlier = earlier(list).map(|line| format!("{}\n", output.paint.faint(&line))).unwrap_or_default();
    table.render(output) + &earlier + &format!("{}\n", output.paint.faint(&about(list)))
}

/// Frames that are no longer sent because of a compaction or a rewind.
fn earlier(list: &Frames) -> Option<String> {
    let frames = words::plural(list.left_frames as u64, "frame");
    match list.frames.iter().any(|frame| frame.left.is_some()) {
        true => Some(format!("{frames} from before a compaction or rewind: not sent, not in the total.")),
        false if list.left_frames > 0 => {
            Some(format!("{frames} from before a compaction or rewind: `ctx list --all` lists them."))
        }
        false => None,
    }
}

/// A title after its states.
fn titled<'a>(chips: impl Iterator<Item = &'a str>, title: &str, style: Style) -> Cell {
    let chip = |cell: Cell, chip: &str| cell.then(&format!("[{chip}]"), chip_style(chip)).space();
    chips.fold(Cell::default(), chip).then(title, style)
}

fn chip_style(chip: &str) -> Style {
    match chip {
        "deleted" => BAD,
        "pinned" => GOOD,
        "pending" | "before-compaction" | "rewound" => FAINT,
        _ => WARNING,
    }
}

/// The conversation, its model, and the usage of the window.
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
    use ctx_api::frames::FrameView;
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
        ID      TOKENS  SHARE       MESSAGES  STEPS  TITLE
        system   3,000  ██▌                4         System prompt, 2 blocks
        tools   12,000  ██████████         4         18 tools: Bash, Read, …
        t1       2,234  █▊                 4      2  Fix the parser
        t2       1,000  ▊                  4      2  [edited] [pinned] [pending] Now the\x07 tests
        total   18,234                     8      4
        c3f9a1 · claude-opus-5 · 9% of 200,000
        ");
    }

    #[test]
    fn a_narrow_terminal_has_the_figures_and_the_titles() {
        for width in [60, 80] {
            let shown = render(&frames(), &Output::narrow(width));
            assert!(shown.lines().all(|line| text::width(line) <= width), "{shown}");
            assert!(shown.contains("[edited] [pinned] [pend"), "{shown}");
        }
        assert!(!render(&frames(), &Output::narrow(60)).contains("MESSAGES"));
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
        ID      TOKENS  SOURCE  SHARE       MESSAGES  STEPS  TITLE
        system   3,000          ██▌                4         System prompt, 2 blocks
        tools   12,000          ██████████         4         18 tools: Bash, Read, …
        t1          20   2,234  ▏                  4      2  [compacted] Fix the parser
          t1/1       0      55                     2           [deleted] Read src/main.rs
        t2       1,000          ▊                  4      2  [edited] [pinned] [pending] Now the\x07 tests
        total   16,020  18,234                     8      4
        c3f9a1 · claude-opus-5 · 8% of 200,000
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
        ID       TOKENS  SHARE       MESSAGES  STEPS  TITLE
        t1       ≈2,234  ██████████         4      2  Fix the parser
          t1/1      ≈55  ▏                  2           Read src/main.rs
        total   ≈18,234                     4      2
        c3f9a1 · claude-opus-5 · estimated
        ");
    }
}
