//! `ctx diff`: compares the requests at two commits, first by frames, then by text.

use std::process::ExitCode;

use clap::Args;
use ctx_api::history::{Diff, FrameDiff};

use crate::arguments::{ConversationArguments, JsonArguments, non_empty};
use crate::client::{encoded, of_conversation, understood};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::difference::{self, Line};
use crate::output::{Output, text, words};

/// Context lines around a change.
const AROUND: usize = 3;
/// Lines to show of a run that only one side has.
const MOST: usize = 8;

/// Columns of a title.
const TITLE: usize = 60;

/// Compare two commits
#[derive(Args, Debug)]
#[command(
    after_help = "A and B are commits, starts of ids, tags, branches, HEAD, or `source` (the agent's own request).

Examples:
  ctx diff                                the effect of all edits
  ctx diff 3f9a                           changes since that commit
  ctx diff before-the-tests trial"
)]
pub struct Arguments {
    /// Compare from
    #[arg(value_name = "A", default_value = "source", value_parser = non_empty)]
    from: String,
    /// Compare to
    #[arg(value_name = "B", default_value = "HEAD", value_parser = non_empty)]
    to: String,
    /// Show long content in full
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    conversation: ConversationArguments,
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let question = format!("diff?from={}&to={}", encoded(&arguments.from, ""), encoded(&arguments.to, ""));
    let answer = context.client()?.get(&of_conversation(&arguments.conversation.conversation, &question))?;
    if arguments.format.json {
        context.output.json(&answer)?;
    } else {
        let most = if arguments.full { usize::MAX } else { MOST };
        context.output.print_lines(&render(&understood(&answer)?, most, &context.output))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn render(diff: &Diff, most: usize, output: &Output) -> String {
    let paint = &output.paint;
    let tokens = |before, after| format!("{} → {} tokens", words::count(before), words::count(after));
    let between = text::line(&format!("{}..{}", diff.from, diff.to));
    let total = tokens(diff.tokens_before, diff.tokens_after);
    let mut lines = format!("{}  {}\n", paint.strong(&between), paint.faint(&total));
    let changed: Vec<&FrameDiff> = diff.frames.iter().filter(|frame| frame.change != "same").collect();
    if changed.is_empty() {
        lines.push_str("No differences.\n");
    }
    for frame in &changed {
        let sign = match frame.change.as_str() {
            "added" => paint.good("+"),
            "removed" => paint.bad("-"),
            "moved" => paint.warning(">"),
            _ => paint.warning("~"),
        };
        let (id, size) = (text::line(&frame.id), tokens(frame.tokens_before, frame.tokens_after));
        let room = output.width.map_or(TITLE, |width| width.saturating_sub(text::width(&id) + text::width(&size) + 6));
        let title = text::fit(&text::line(&frame.title), room.clamp(12, TITLE));
        lines.push_str(&format!("{sign} {}  {title}  {}\n", paint.id(&id), paint.faint(&size)));
    }
    for frame in changed.iter().filter(|frame| frame.before != frame.after) {
        lines.push_str(&format!(
            "\n{}  {}\n",
            paint.id(&text::line(&frame.id)),
            paint.strong(&text::line(&frame.title))
        ));
        lines.push_str(&body(frame, most, output));
    }
    lines
}

/// The differing lines with their context.
fn body(frame: &FrameDiff, most: usize, output: &Output) -> String {
    let (before, after) = (text::block(&frame.before), text::block(&frame.after));
    let all = difference::lines(&before, &after);
    let differs: Vec<usize> =
        (0..).zip(&all).filter(|(_, line)| !matches!(line, Line::Both(_))).map(|(at, _)| at).collect();
    let is_near = |at: usize| {
        let next = differs.partition_point(|other| *other + AROUND < at);
        differs.get(next).is_some_and(|other| *other <= at + AROUND)
    };
    let paint = &output.paint;
    // `--full` also keeps long lines whole.
    let room = output.width.filter(|_| most != usize::MAX).map_or(usize::MAX, |width| width.saturating_sub(2));
    let (mut lines, mut folded, mut in_run) = (String::new(), 0, 0);
    let mut before = None;
    for (at, line) in all.iter().enumerate() {
        let side = std::mem::discriminant(line);
        in_run = if before == Some(side) { in_run + 1 } else { 0 };
        before = Some(side);
        let shown = match line {
            Line::Both(line) if most == usize::MAX || is_near(at) => format!("  {}", text::fit(line, room)),
            Line::Old(line) if in_run < most => paint.bad(&format!("- {}", text::fit(line, room))),
            Line::New(line) if in_run < most => paint.good(&format!("+ {}", text::fit(line, room))),
            _ => {
                folded += 1;
                continue;
            }
        };
        lines.push_str(&fold(std::mem::take(&mut folded), output));
        lines.push_str(shown.trim_end());
        lines.push('\n');
    }
    lines + &fold(folded, output)
}

/// A line that stands for omitted ones.
fn fold(folded: u64, output: &Output) -> String {
    match folded {
        0 => String::new(),
        _ => format!("{}\n", output.paint.faint(&format!("  … {}", words::plural(folded, "line")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(id: &str, change: &str, before: &str, after: &str) -> FrameDiff {
        FrameDiff {
            id: id.into(),
            title: format!("Title of {id}"),
            change: change.into(),
            tokens_before: before.len() as u64,
            tokens_after: after.len() as u64,
            before: before.into(),
            after: after.into(),
        }
    }

    fn diff() -> Diff {
        let long = |word: &str| format!("1\n2\n3\n4\n5\n{word}\n7\n8\n9\n10\n11\n");
        Diff {
            conversation: "c1".into(),
            from: "source".into(),
            to: "HEAD".into(),
            tokens_before: 1_234,
            tokens_after: 300,
            frames: vec![
                frame("t1", "same", "a", "a"),
                frame("t2", "changed", &long("six"), &long("\u{1b}[2J6")),
                frame("t3", "removed", "gone", ""),
                frame("t4", "moved", "b", "b"),
                frame("a1", "added", "", "new\n\nwords\nand more"),
            ],
        }
    }

    #[test]
    fn frames_come_first_and_then_their_lines() {
        insta::assert_snapshot!(render(&diff(), 2, &Output::plain()), @r"
        source..HEAD  1,234 → 300 tokens
        ~ t2  Title of t2  26 → 28 tokens
        - t3  Title of t3  4 → 0 tokens
        > t4  Title of t4  1 → 1 tokens
        + a1  Title of a1  0 → 19 tokens

        t2  Title of t2
          … 2 lines
          3
          4
          5
        - six
        + \x1b[2J6
          7
          8
          9
          … 2 lines

        t3  Title of t3
        - gone

        a1  Title of a1
        + new
        +
          … 2 lines
        ");
    }

    #[test]
    fn full_folds_nothing() {
        let whole = render(&diff(), usize::MAX, &Output::plain());
        assert!(whole.contains("+ and more") && whole.contains("  11\n") && !whole.contains('…'), "{whole}");
    }

    #[test]
    fn lines_fit_the_terminal() {
        let mut diff = diff();
        diff.frames[4].after = "word ".repeat(100);
        let shown = render(&diff, 2, &Output::narrow(60));
        assert!(shown.lines().all(|line| text::width(line) <= 60), "{shown}");
    }

    #[test]
    fn nothing_that_differs_is_said() {
        let none = Diff { frames: vec![frame("t1", "same", "a", "a")], ..diff() };
        assert!(render(&none, 2, &Output::plain()).ends_with("No differences.\n"));
    }
}
