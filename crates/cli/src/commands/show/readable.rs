//! Formats a part of a conversation: roles, text, and long content folded.

#[cfg(test)]
mod tests;

use anstyle::Style;
use ctx_api::show::{BlockView, ContentView, MessageView};

use crate::output::paint::{FAINT, PLAIN};
use crate::output::{Output, markdown, text, words};

const INDENT: &str = "  ";
/// Longer folded lines are cut: one line of JSON can be a whole file.
const FOLDED_COLUMNS: usize = 240;

pub fn render(shown: &ContentView, most: usize, output: &Output) -> String {
    let paint = &output.paint;
    let page = Page { shown, most, output };
    let mut frames: Vec<&str> = shown.messages.iter().map(frame_of).collect();
    frames.dedup();
    let title = match frames.len() {
        0 | 1 => text::line(&shown.title),
        many => words::plural(many as u64, "frame"),
    };
    let chips: String = shown.state.iter().map(|chip| format!("[{}] ", text::line(chip))).collect();
    let (id, tokens) = (text::line(&shown.id), page.tokens(shown.tokens));
    let used = text::width(&id) + text::width(&chips) + text::width(&tokens) + 4;
    let room = output.width.map_or(usize::MAX, |width| width.saturating_sub(used));
    let title = text::fit(&title, room.max(12));
    let chips = paint.warning(&chips);
    let head = format!("{}  {chips}{}  {}\n", paint.id(&id), paint.strong(&title), paint.faint(&tokens));
    let is_gone =
        |message: &&MessageView| most != usize::MAX && message.blocks.iter().all(|block| block.covered.is_some());
    let (gone, there): (Vec<&MessageView>, _) = shown.messages.iter().partition(is_gone);
    let messages: String = there.into_iter().map(|message| page.message(message)).collect();
    let gone = match gone.iter().flat_map(|message| &message.blocks).find_map(|block| block.covered.as_ref()) {
        Some(commit) => {
            let number = words::plural(gone.len() as u64, "message");
            let is = if gone.len() == 1 { "is" } else { "are" };
            let gone = format!("{number} {is} not sent since {commit}; --full or --at source shows all");
            let lines = text::wrap(&text::line(&gone), output.width.unwrap_or(usize::MAX));
            format!("\n{}\n", lines.iter().map(|line| paint.faint(line)).collect::<Vec<_>>().join("\n"))
        }
        None => String::new(),
    };
    head + &messages + &gone
}

/// The frame of a message, by its id.
fn frame_of(message: &MessageView) -> &str {
    message.id.split('#').next().unwrap_or_default()
}

struct Page<'a> {
    shown: &'a ContentView,
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
        if let Some(why) = &block.repaired {
            let heading = format!("{}, omitted: {why}", block.kind);
            return self.headed(&heading, block, &block.text, self.most, FAINT);
        }
        match block.kind.as_str() {
            "text" => markdown::render(&text::block(&block.text), INDENT.len(), self.output),
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

    /// The tool of a result, if its call is shown too.
    fn called(&self, result: &BlockView) -> Option<&str> {
        let id = result.tool_use_id.as_ref()?;
        let mut blocks = self.shown.messages.iter().flat_map(|message| &message.blocks);
        blocks.find(|block| block.kind == "tool_use" && block.tool_use_id.as_ref() == Some(id))?.tool.as_deref()
    }

    /// A block under a heading with its kind and size, folded to this many lines.
    fn headed(&self, heading: &str, block: &BlockView, content: &str, most: usize, style: Style) -> String {
        let paint = &self.output.paint;
        let heading = text::line(heading);
        let heading = if block.is_error { paint.bad(&heading) } else { paint.good(&heading) };
        let size = paint.faint(&self.tokens(block.tokens));
        let room = self.output.width.map_or(FOLDED_COLUMNS, |width| width.saturating_sub(2 * INDENT.len()));
        let (shown, hidden) = folded(&text::block(content), most, room.min(FOLDED_COLUMNS));
        let mut lines = format!("{INDENT}{heading} {size}\n{}", indented(&shown, 2, style, self.output));
        if hidden > 0 {
            let unit = if hidden == 1 { "line" } else { "lines" };
            let rest = format!("… {} more {unit}; --full shows all", words::count(hidden as u64));
            lines.push_str(&indented(&rest, 2, FAINT, self.output));
        }
        lines
    }
}

/// The first lines, and the number of omitted ones.
fn folded(content: &str, most: usize, columns: usize) -> (String, usize) {
    let content = content.trim_end_matches('\n');
    if most == usize::MAX || content.is_empty() {
        return (content.to_owned(), 0);
    }
    let shown: Vec<String> = content.lines().take(most).map(|line| text::fit(line, columns)).collect();
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

/// The input of a call: one line per argument, texts without quotes and escapes.
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
