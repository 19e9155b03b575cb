//! Trimming: removes parts of a result that carry no information before it is first sent.

use crate::tool::ToolRole;
use serde::{Deserialize, Serialize};

/// The trims that are made, by what they shorten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trims {
    /// File views lose their line numbers.
    pub views: bool,
    /// Search hits lose the file name before each line.
    pub searches: bool,
    /// Outputs lose colours, trailing blanks and repeated lines.
    pub outputs: bool,
    /// Calls of finished edits lose the text that they replaced.
    pub edits: bool,
}

impl Default for Trims {
    fn default() -> Trims {
        Trims { views: true, searches: true, outputs: true, edits: true }
    }
}

/// A run of this many equal lines is shortened to two.
const SAME: usize = 4;

/// A shorter text with the same information; none if it would not be much shorter.
pub fn trim(role: ToolRole, text: &str, trims: Trims) -> Option<String> {
    let short = match role {
        ToolRole::Read if trims.views => unnumbered(text)?,
        // The agent may copy from it verbatim.
        ToolRole::Read | ToolRole::Edit | ToolRole::Write => return None,
        _ => {
            let plain = trims.outputs.then(|| plain(text));
            let headed = trims.searches.then(|| headed(plain.as_deref().unwrap_or(text))).flatten();
            headed.or(plain)?
        }
    };
    (short.len() + short.len() / 50 + 60 < text.len()).then_some(short)
}

/// A file view without line numbers; the range is given once.
fn unnumbered(text: &str) -> Option<String> {
    let mut lines = text.split('\n').peekable();
    let (first, _) = numbered(lines.peek()?)?;
    let mut bare = String::with_capacity(text.len());
    let mut next = first;
    while let Some((number, line)) = lines.peek().and_then(|line| numbered(line)) {
        if number != next {
            break;
        }
        bare.push_str(line);
        bare.push('\n');
        next += 1;
        lines.next();
    }
    let last = next.checked_sub(1).filter(|last| *last > first)?;
    let mut out = format!("[lines {first} to {last} of the file, without their numbers]\n{bare}");
    let rest: Vec<&str> = lines.collect();
    // Client notes may follow, but no more of the file.
    if rest.iter().any(|line| numbered(line).is_some()) {
        return None;
    }
    out.push_str(&rest.join("\n"));
    Some(out)
}

/// `   12→text` or `   12<tab>text`.
fn numbered(line: &str) -> Option<(u64, &str)> {
    let line = line.trim_start_matches(' ');
    let rest = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let number = line.get(..line.len() - rest.len())?.parse().ok()?;
    Some((number, rest.strip_prefix(['→', '\t'])?))
}

/// The text without colours, trailing blanks and repeated lines.
fn plain(text: &str) -> String {
    let text = colourless(text);
    let mut out = String::with_capacity(text.len());
    let mut lines = text.split('\n').map(str::trim_end).peekable();
    while let Some(line) = lines.next() {
        let mut more = 0;
        while lines.next_if_eq(&line).is_some() {
            more += 1;
        }
        out.push_str(line);
        match more {
            _ if line.is_empty() => out.push_str(if more > 0 { "\n" } else { "" }),
            0 => {}
            more if more + 1 < SAME => (0..more).for_each(|_| out.extend(["\n", line])),
            more => out.push_str(&format!("\n[the line above {more} more times]")),
        }
        out.push('\n');
    }
    out.pop();
    out
}

/// Search hits with each file name once above its lines; none if the text is mostly something else.
fn headed(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.split('\n').collect();
    let mut finds: Vec<Find<'_>> = lines.iter().map(|line| hit(line)).collect();
    // Context lines stand before or behind a hit.
    beside_hits(lines.iter().copied().zip(&mut finds));
    beside_hits(lines.iter().copied().zip(&mut finds).rev());
    if finds.iter().flatten().count() * 2 < lines.len() {
        return None;
    }
    let file_at = |at: usize| finds.get(at).copied().flatten().map(|(file, _)| file);
    let mut out: Vec<&str> = Vec::with_capacity(lines.len());
    let mut above = None;
    for (at, (line, find)) in lines.iter().zip(&finds).enumerate() {
        match find {
            Some((file, rest)) if above == Some(*file) => out.push(rest),
            Some((file, rest)) if file_at(at + 1) == Some(file) => {
                above = Some(file);
                out.extend([file, rest]);
            }
            _ => {
                above = above.filter(|_| *line == "--");
                out.push(line);
            }
        }
    }
    Some(out.join("\n"))
}

/// A file, and the rest of the line.
type Find<'l> = Option<(&'l str, &'l str)>;

fn beside_hits<'l: 'f, 'f>(lines: impl Iterator<Item = (&'l str, &'f mut Find<'l>)>) {
    let mut known = None;
    for (line, find) in lines {
        match find {
            Some((file, _)) => known = Some(*file),
            None => *find = known.and_then(|file| beside(line, file)),
        }
    }
}

/// `path:12:text`, as the path and the rest.
fn hit(line: &str) -> Find<'_> {
    let (file, rest) = line.split_once(':')?;
    let is_path = file.contains(['/', '.']) && !file.contains(char::is_whitespace);
    let text = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
    (is_path && text.len() < rest.len() && text.starts_with(':')).then_some((file, rest))
}

/// `path-12-text`, next to a hit in the same file.
fn beside<'l>(line: &'l str, file: &'l str) -> Find<'l> {
    let rest = line.strip_prefix(file)?.strip_prefix('-')?;
    let text = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
    (text.len() < rest.len() && text.starts_with('-')).then_some((file, rest))
}

/// The text without terminal escape codes.
fn colourless(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.find(|letter: char| !matches!(letter, '0'..='9' | ';' | '?')).unwrap_or(part.len());
        let mut rest = part.get(code..).unwrap_or_default().chars();
        rest.next();
        out.push_str(rest.as_str());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(role: ToolRole, text: &str) -> Option<String> {
        trim(role, text, Trims::default())
    }

    #[test]
    fn a_view_of_a_file_loses_its_numbers() {
        let lines: Vec<String> = (10..40).map(|at| format!("{at:6}→    let x_{at} = {at};")).collect();
        let text = format!("{}\n\n<note>\nmore\n</note>", lines.join("\n"));
        let short = all(ToolRole::Read, &text).expect("shorter");
        assert!(
            short.starts_with("[lines 10 to 39 of the file, without their numbers]\n    let x_10 = 10;\n"),
            "{short}"
        );
        assert!(short.ends_with("    let x_39 = 39;\n\n<note>\nmore\n</note>"), "{short}");
        let gap = text.replace("    12→", "    99→");
        assert_eq!(all(ToolRole::Read, &gap), None, "what does not count up is left alone");
        assert_eq!(all(ToolRole::Read, "     1→a\n     2→b"), None, "too little");
        assert_eq!(all(ToolRole::Read, "no numbers"), None);
        assert_eq!(all(ToolRole::Edit, &text), None);
    }

    #[test]
    fn the_file_of_what_was_found_is_told_once() {
        let (one, other) = ("src/some/long/path/of-a-file.rs", "src/other.rs");
        let found = format!(
            "{one}-11-// before\n{one}:12:fn a() {{\n{one}-13-}}\n--\n{one}:40:let x = \"{other}:1:\";\n{other}:7:a();\n{one}:99:a();"
        );
        let told = format!(
            "{one}\n11-// before\n12:fn a() {{\n13-}}\n--\n40:let x = \"{other}:1:\";\n{other}:7:a();\n{one}:99:a();"
        );
        assert_eq!(all(ToolRole::Search, &found), Some(told));
        let mostly_words = format!("{found}\n{}", "and something else\n".repeat(3)) + "more\n".repeat(9).as_str();
        assert_eq!(headed(&mostly_words), None, "not what a search prints");
        assert_eq!(headed("12:30:01 started\n12:30:02 stopped"), None, "these are times");
    }

    #[test]
    fn an_output_loses_colours_blanks_and_repetitions() {
        let text = format!("\u{1b}[1;32mok\u{1b}[0m  \n{}end", "still waiting …\n".repeat(50));
        assert_eq!(
            all(ToolRole::Shell, &text).as_deref(),
            Some("ok\nstill waiting …\n[the line above 49 more times]\nend")
        );
        assert_eq!(plain("a\n\n\n\nb\nb\nc  "), "a\n\n\nb\nb\nc");
        assert_eq!(all(ToolRole::Shell, "a few words"), None);
    }
}
