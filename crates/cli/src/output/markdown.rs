//! Light Markdown. Lines are wrapped at the terminal's edge; headings, strong text and code are styled if there are
//! colours. Without colours, every character stays as written.

use anstyle::Style;
use unicode_width::UnicodeWidthChar;

use super::Output;
use super::paint::{FAINT, ID, PLAIN, STRONG};

/// Narrower text is not wrapped; the terminal does that.
const NARROWEST: usize = 20;

/// Safe text, indented by this many columns.
pub fn render(content: &str, indent: usize, output: &Output) -> String {
    let lexicon = ctx_clients::lexicon();
    let mut lines = String::new();
    let (mut is_code, mut is_reminder) = (false, false);
    for line in content.lines() {
        is_reminder |= lexicon.opens_reminder(line);
        let is_fence = line.trim_start().starts_with("```");
        let style = if is_reminder || is_fence { FAINT } else { PLAIN };
        let shown = match is_code || is_fence || is_reminder || line.trim_start().starts_with('|') {
            true => Line { letters: letters(line, style), hang: 0, folds: is_reminder },
            false => written(line, output),
        };
        is_code ^= is_fence;
        is_reminder &= !lexicon.closes_reminder(line);
        shown.print(indent, output, &mut lines);
    }
    lines
}

/// A line before it is wrapped.
struct Line {
    letters: Vec<(char, Style)>,
    /// The indentation of its continuation lines.
    hang: usize,
    folds: bool,
}

impl Line {
    fn print(&self, indent: usize, output: &Output, lines: &mut String) {
        let room = output.width.map(|width| width.saturating_sub(indent)).filter(|_| self.folds);
        let rows = match room.filter(|room| *room >= NARROWEST + self.hang) {
            Some(room) => folded(&self.letters, room, self.hang),
            None => vec![self.letters.as_slice()],
        };
        for (number, row) in rows.into_iter().enumerate() {
            let hang = if number == 0 { 0 } else { self.hang };
            let painted = painted(row, output);
            if !painted.is_empty() {
                lines.push_str(&" ".repeat(indent + hang));
            }
            lines.push_str(&painted);
            lines.push('\n');
        }
    }
}

/// Pieces that fit, split at spaces if possible.
fn folded(letters: &[(char, Style)], room: usize, hang: usize) -> Vec<&[(char, Style)]> {
    let (mut rows, mut rest) = (Vec::new(), letters);
    let mut room_here = room;
    loop {
        let (mut used, mut cut, mut space) = (0, rest.len(), None);
        for (at, (letter, _)) in rest.iter().enumerate() {
            used += letter.width().unwrap_or(0);
            if used > room_here {
                cut = at;
                break;
            }
            if *letter == ' ' && at > 0 {
                space = Some(at);
            }
        }
        if cut == rest.len() {
            rows.push(rest);
            return rows;
        }
        if rest.get(cut).is_some_and(|(letter, _)| *letter == ' ') {
            space = Some(cut);
        }
        let cut = space.unwrap_or(cut).max(1);
        let (row, behind) = rest.split_at(cut.min(rest.len()));
        rows.push(row);
        rest = behind.get(usize::from(space.is_some())..).unwrap_or_default();
        room_here = room - hang;
    }
}

fn painted(row: &[(char, Style)], output: &Output) -> String {
    let mut painted = String::new();
    for run in row.chunk_by(|(_, a), (_, b)| a == b) {
        let text: String = run.iter().map(|(letter, _)| letter).collect();
        let style = run.first().map_or(PLAIN, |(_, style)| *style);
        painted.push_str(&output.paint.apply(style, &text));
    }
    painted
}

fn letters(text: &str, style: Style) -> Vec<(char, Style)> {
    text.chars().map(|letter| (letter, style)).collect()
}

fn written(line: &str, output: &Output) -> Line {
    let is_coloured = output.paint.is_coloured();
    let start = line.len() - line.trim_start().len();
    let (lead, body) = line.split_at(start);
    let heading = body.trim_start_matches('#');
    let is_heading = heading.len() < body.len() && body.len() - heading.len() <= 6 && heading.starts_with(' ');
    if is_heading && is_coloured {
        return Line { letters: letters(heading.trim_start(), STRONG), hang: 0, folds: true };
    }
    let mark = body.split_inclusive(' ').next().filter(|mark| is_item(mark.trim_end())).unwrap_or_default();
    let style = if body.starts_with('>') { FAINT } else { PLAIN };
    let mut all = letters(lead, style);
    match is_coloured {
        true => inline(body, style, &mut all),
        false => all.extend(letters(body, style)),
    }
    // Indentation and marks are ASCII: one column each.
    Line { letters: all, hang: start + mark.len(), folds: true }
}

/// The mark of a list item: `-`, `*`, `+`, `1.`, `2)`, `>`.
fn is_item(mark: &str) -> bool {
    let number = mark.trim_end_matches(['.', ')']);
    matches!(mark, "-" | "*" | "+" | ">")
        || (number.len() + 1 == mark.len() && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// `code` and **strong**; unclosed marks stay as they are.
fn inline(mut rest: &str, style: Style, all: &mut Vec<(char, Style)>) {
    let mut before = ' ';
    while let Some(letter) = rest.chars().next() {
        let marked = [("`", ID), ("**", STRONG)].into_iter().find_map(|(mark, marked)| {
            let inside = rest.strip_prefix(mark)?;
            let end = inside.find(mark).filter(|end| *end > 0)?;
            let (inside, behind) = (inside.get(..end)?, inside.get(end + mark.len()..)?);
            let is_meant = mark == "`" || !(inside.starts_with([' ', '*']) || inside.ends_with(' ') || before == '*');
            is_meant.then_some((inside, behind, marked))
        });
        match marked {
            Some((inside, behind, marked)) => {
                all.extend(letters(inside, marked));
                rest = behind;
                before = ' ';
            }
            None => {
                all.push((letter, style));
                rest = rest.get(letter.len_utf8()..).unwrap_or_default();
                before = letter;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{Paint, text};

    const ANSWER: &str = "## What I found\n\nThe **loop** ends too early; `<` should be `<=` in `src/parser.rs`, line 41.\n\n- first the lexer, which reads one token ahead\n- 2 * 3 ** 4\n  1. nested\n\n```rust\nlet a = **b; // a line of code that is much too long to fit in here\n```\n> quoted\n";

    #[test]
    fn without_colours_every_character_stays() {
        let plain = render(ANSWER, 0, &Output::plain());
        assert_eq!(plain, ANSWER);
        let narrow = render(ANSWER, 2, &Output::narrow(40));
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&narrow), words(ANSWER));
        insta::assert_snapshot!(narrow, @r"
          ## What I found

          The **loop** ends too early; `<`
          should be `<=` in `src/parser.rs`,
          line 41.

          - first the lexer, which reads one
            token ahead
          - 2 * 3 ** 4
            1. nested

          ```rust
          let a = **b; // a line of code that is much too long to fit in here
          ```
          > quoted
        ");
    }

    #[test]
    fn with_colours_marks_become_looks() {
        let output = Output { paint: Paint::coloured(), width: Some(60), ..Output::plain() };
        let shown = render(ANSWER, 0, &output);
        assert!(shown.starts_with("\u{1b}[1mWhat I found\u{1b}[0m\n"), "{shown:?}");
        assert!(shown.contains("The \u{1b}[1mloop\u{1b}[0m ends too early; \u{1b}[36m<\u{1b}[0m"), "{shown:?}");
        assert!(shown.contains("- 2 * 3 ** 4\n"), "{shown:?}");
        assert!(shown.contains("let a = **b;"), "code is left alone: {shown:?}");
    }

    #[test]
    fn reminders_step_back() {
        let output = Output { paint: Paint::coloured(), ..Output::plain() };
        let said = render("before\n<system-reminder>\nhush\n</system-reminder>\n\nafter", 2, &output);
        let faint: Vec<bool> = said.lines().map(|line| line.contains("\u{1b}[2m")).collect();
        assert_eq!(faint, [false, true, true, true, false, false], "{said:?}");
    }

    #[test]
    fn whatever_is_written_fits_and_nothing_is_lost() {
        let output = Output::narrow(30);
        for line in [
            "",
            "   ",
            "x".repeat(200).as_str(),
            "日本語の長い文章は折り返されるべきです、どこかで。",
            "- ** `",
            "> a ** b ` c",
        ] {
            let shown = render(line, 4, &output);
            assert!(shown.lines().all(|line| text::width(line) <= 30), "{shown}");
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            assert_eq!(letters(&shown), letters(line));
        }
    }
}
