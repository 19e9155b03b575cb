//! A piece of conversation as a person wants to read it: who speaks, what is said, and the bulk folded.

use anstyle::Style;
use ctx_composer::view::{BlockView, MessageView, Shown};

use crate::terminal::paint::{FAINT, PLAIN};
use crate::terminal::{Output, text, words};

const INDENT: &str = "  ";
/// A folded line longer than this is cut: one line of JSON can be a whole file.
const FOLDED_COLUMNS: usize = 240;

pub fn render(shown: &Shown, most: usize, output: &Output) -> String {
    let paint = &output.paint;
    let page = Page { shown, most, output };
    let head = format!(
        "{}  {}  {}\n",
        paint.id(&text::line(&shown.id)),
        paint.strong(&text::line(&shown.title)),
        paint.faint(&page.tokens(shown.tokens)),
    );
    let is_gone =
        |message: &&MessageView| most != usize::MAX && message.blocks.iter().all(|block| block.covered.is_some());
    let (gone, there): (Vec<&MessageView>, _) = shown.messages.iter().partition(is_gone);
    let messages: String = there.into_iter().map(|message| page.message(message)).collect();
    let gone = match gone.iter().flat_map(|message| &message.blocks).find_map(|block| block.covered.as_ref()) {
        Some(commit) => {
            let number = words::plural(gone.len() as u64, "message");
            let is = if gone.len() == 1 { "is" } else { "are" };
            let gone = format!("{number} {is} not sent since {commit}; --full or --at source shows all");
            format!("\n{}\n", paint.faint(&text::line(&gone)))
        }
        None => String::new(),
    };
    head + &messages + &gone
}

/// All that is said, for somebody who will write it anew: who speaks, and nothing folded.
pub fn body(shown: &Shown, output: &Output) -> String {
    let page = Page { shown, most: usize::MAX, output };
    let blocks = |message: &MessageView| message.blocks.iter().map(|block| page.block(block)).collect::<String>();
    let message = |message: &MessageView| format!("{}:\n{}", text::line(&message.role), blocks(message));
    shown.messages.iter().map(message).collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

struct Page<'a> {
    shown: &'a Shown,
    most: usize,
    output: &'a Output,
}

impl Page<'_> {
    fn tokens(&self, tokens: u64) -> String {
        let unit = if tokens == 1 { "token" } else { "tokens" };
        format!("{} {unit}", words::tokens(tokens, self.shown.calibrated))
    }

    fn message(&self, message: &MessageView) -> String {
        let paint = &self.output.paint;
        let mut about = vec![self.tokens(message.tokens)];
        if message.step > 0 {
            about.push(format!("step {}", message.step));
        }
        if message.made {
            about.push("written by an edit".to_owned());
        }
        if message.pending {
            about.push("pending: the agent has not sent it back yet".to_owned());
        }
        let mut lines = format!(
            "\n{} {} {}\n",
            paint.strong(&text::line(&message.role)),
            paint.id(&text::line(&message.id)),
            paint.faint(&about.join(" · ")),
        );
        for block in &message.blocks {
            lines.push_str(&self.block(block));
        }
        lines
    }

    fn block(&self, block: &BlockView) -> String {
        let tool = block.tool.as_deref().or_else(|| self.called(block)).unwrap_or("a tool");
        if let Some(commit) = &block.covered {
            return self.headed(
                &format!("{}, not sent since {commit}", block.kind),
                block,
                &block.text,
                self.most,
                FAINT,
            );
        }
        match block.kind.as_str() {
            "text" => spoken(&text::block(&block.text), self.output),
            "system" => self.headed(&block.id, block, &block.text, usize::MAX, PLAIN),
            "reminder" => self.headed("reminder", block, &block.text, self.most, FAINT),
            "thinking" if block.text.is_empty() => self.headed("thinking, not readable", block, "", 0, FAINT),
            "thinking" => self.headed("thinking", block, &block.text, self.most, FAINT),
            "tool_use" => self.headed(&format!("calls {tool}"), block, &call(&block.text), self.most, PLAIN),
            "tool_result" => {
                let outcome = match (&block.replaced, block.is_error) {
                    (Some(commit), _) => format!("result of {tool}, written by {commit}"),
                    (None, true) => format!("{tool} failed"),
                    (None, false) => format!("result of {tool}"),
                };
                self.headed(&outcome, block, &block.text, self.most, PLAIN)
            }
            "tool" => self.headed(tool, block, &block.text, self.most, PLAIN),
            other => self.headed(other, block, &block.text, self.most, PLAIN),
        }
    }

    /// The tool that a result belongs to, if its call is on the page.
    fn called(&self, result: &BlockView) -> Option<&str> {
        let id = result.tool_use_id.as_ref()?;
        let mut blocks = self.shown.messages.iter().flat_map(|message| &message.blocks);
        blocks.find(|block| block.kind == "tool_use" && block.tool_use_id.as_ref() == Some(id))?.tool.as_deref()
    }

    /// A block under a line that says what it is and how large it is, folded to so many lines.
    fn headed(&self, heading: &str, block: &BlockView, content: &str, most: usize, style: Style) -> String {
        let paint = &self.output.paint;
        let heading = text::line(heading);
        let heading = if block.is_error { paint.bad(&heading) } else { paint.good(&heading) };
        let size = paint.faint(&self.tokens(block.tokens));
        let (shown, hidden) = folded(&text::block(content), most);
        let mut lines = format!("{INDENT}{heading} {size}\n{}", indented(&shown, 2, style, self.output));
        if hidden > 0 {
            let unit = if hidden == 1 { "line" } else { "lines" };
            let rest = format!("… {} more {unit}; --full shows all", words::count(hidden as u64));
            lines.push_str(&indented(&rest, 2, FAINT, self.output));
        }
        lines
    }
}

/// What somebody said. What the client added to it stands in reminders, which step back.
fn spoken(content: &str, output: &Output) -> String {
    let mut is_reminder = false;
    let line = |line: &str| {
        is_reminder |= line.contains("<system-reminder>");
        let style = if is_reminder { FAINT } else { PLAIN };
        is_reminder &= !line.contains("</system-reminder>");
        indented(if line.is_empty() { "\n" } else { line }, 1, style, output)
    };
    content.lines().map(line).collect()
}

/// The first lines, and how many are left out.
fn folded(content: &str, most: usize) -> (String, usize) {
    let content = content.trim_end_matches('\n');
    if most == usize::MAX || content.is_empty() {
        return (content.to_owned(), 0);
    }
    let shown: Vec<String> = content.lines().take(most).map(|line| text::fit(line, FOLDED_COLUMNS)).collect();
    (shown.join("\n"), content.lines().count().saturating_sub(most))
}

fn indented(content: &str, depth: usize, style: Style, output: &Output) -> String {
    let indent = INDENT.repeat(depth);
    let line = |line: &str| match line {
        "" => "\n".to_owned(),
        line => format!("{indent}{}\n", output.paint.apply(style, line)),
    };
    content.lines().map(line).collect()
}

/// The input of a call: one line an argument, texts without quotes and escapes.
fn call(input: &str) -> String {
    let Ok(serde_json::Value::Object(arguments)) = serde_json::from_str(input) else { return input.to_owned() };
    let line = |(name, value): (&String, &serde_json::Value)| match value.as_str() {
        Some(text) if text.contains('\n') => {
            format!("{name}:\n{}", text.lines().map(|line| format!("{INDENT}{line}\n")).collect::<String>())
        }
        Some(text) => format!("{name}: {text}\n"),
        None => format!("{name}: {value}\n"),
    };
    arguments.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn block(kind: &str, text: &str) -> BlockView {
        serde_json::from_value(json!({"id": "t1#0.0", "kind": kind, "tokens": 12, "text": text, "is_error": false}))
            .expect("a block")
    }

    fn shown() -> Shown {
        let message = |id: &str, role: &str, step: usize, blocks| MessageView {
            blocks,
            ..serde_json::from_value(
                json!({"id": id, "role": role, "tokens": 40, "step": step, "pending": false, "blocks": []}),
            )
            .expect("a message")
        };
        let of_read = |block: BlockView| BlockView {
            tool: (block.kind == "tool_use").then(|| "Read".into()),
            tool_use_id: Some("toolu_1".into()),
            ..block
        };
        Shown {
            conversation: "c3f9a1".into(),
            id: "t1".into(),
            kind: "turn".into(),
            title: "Fix the parser".into(),
            tokens: 1_234,
            calibrated: false,
            messages: vec![
                message(
                    "t1#0",
                    "user",
                    0,
                    vec![
                        block("reminder", "<system-reminder>\nBe good.\n"),
                        block("text", "Fix the parser.\n\nPlease."),
                    ],
                ),
                message(
                    "t1#1",
                    "assistant",
                    1,
                    vec![
                        block("thinking", "one\ntwo\nthree\nfour"),
                        block("thinking", ""),
                        of_read(block("tool_use", r#"{"file_path":"src/main.rs","limit":5,"why":"a\nb"}"#)),
                    ],
                ),
                MessageView {
                    pending: true,
                    ..message(
                        "t1#2",
                        "user",
                        1,
                        vec![
                            of_read(block("tool_result", "1\n2\n3\n\u{1b}[31m4")),
                            of_read(BlockView { is_error: true, ..block("tool_result", "no such file") }),
                            block("image", ""),
                        ],
                    )
                },
            ],
        }
    }

    #[test]
    fn a_frame_is_readable_and_its_bulk_is_folded() {
        insta::assert_snapshot!(render(&shown(), 3, &Output::plain()), @r"
        t1  Fix the parser  ≈1,234 tokens

        user t1#0 ≈40 tokens
          reminder ≈12 tokens
            <system-reminder>
            Be good.
          Fix the parser.

          Please.

        assistant t1#1 ≈40 tokens · step 1
          thinking ≈12 tokens
            one
            two
            three
            … 1 more line; --full shows all
          thinking, not readable ≈12 tokens
          calls Read ≈12 tokens
            file_path: src/main.rs
            limit: 5
            why:
            … 2 more lines; --full shows all

        user t1#2 ≈40 tokens · step 1 · pending: the agent has not sent it back yet
          result of Read ≈12 tokens
            1
            2
            3
            … 1 more line; --full shows all
          Read failed ≈12 tokens
            no such file
          image ≈12 tokens
        ");
    }

    #[test]
    fn what_an_edit_took_out_or_wrote_is_marked() {
        let mut shown = shown();
        let first = shown.messages.remove(0);
        let covered = |block| BlockView { covered: Some("00000000c3".into()), ..block };
        shown.messages.push(MessageView { blocks: first.blocks.into_iter().map(covered).collect(), ..first });
        shown.messages[0] = MessageView {
            made: true,
            blocks: vec![
                BlockView { covered: Some("00000000a1".into()), ..block("text", "old words") },
                block("text", "new words"),
            ],
            ..shown.messages[0].clone()
        };
        shown.messages[1].blocks.truncate(1);
        shown.messages[1].blocks[0].replaced = Some("00000000b2".into());
        insta::assert_snapshot!(render(&shown, 1, &Output::plain()), @r"
        t1  Fix the parser  ≈1,234 tokens

        assistant t1#1 ≈40 tokens · step 1 · written by an edit
          text, not sent since 00000000a1 ≈12 tokens
            old words
          new words

        user t1#2 ≈40 tokens · step 1 · pending: the agent has not sent it back yet
          result of a tool, written by 00000000b2 ≈12 tokens
            1
            … 3 more lines; --full shows all

        1 message is not sent since 00000000c3; --full or --at source shows all
        ");
    }

    #[test]
    fn reminders_inside_of_a_text_step_back() {
        let mut coloured = Output::plain();
        coloured.paint = crate::terminal::Paint::coloured();
        let said = spoken("before\n<system-reminder>\nhush\n</system-reminder>\n\nafter", &coloured);
        let faint: Vec<bool> = said.lines().map(|line| line.contains("\u{1b}[2m")).collect();
        assert_eq!(faint, [false, true, true, true, false, false], "{said:?}");
    }

    #[test]
    fn full_folds_nothing_and_still_escapes() {
        let whole = render(&shown(), usize::MAX, &Output::plain());
        assert!(whole.contains("four") && whole.contains("\\x1b[31m4"), "{whole}");
        assert!(!whole.contains(" more line") && !whole.contains('\u{1b}'), "{whole}");
    }

    #[test]
    fn one_endless_line_is_cut_when_folded() {
        let (short, hidden) = folded(&"x".repeat(10_000), 8);
        assert!(short.len() < 300 && short.ends_with('…'));
        assert_eq!(hidden, 0);
    }

    #[test]
    fn the_text_of_a_person_or_the_model_is_never_folded() {
        let mut shown = shown();
        for message in &mut shown.messages {
            message.blocks = vec![block("text", &"line\n".repeat(100))];
        }
        assert_eq!(render(&shown, 1, &Output::plain()).matches("line").count(), 300);
    }
}
