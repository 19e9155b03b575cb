//! Lines of a text, for syntaxes with one entry per line.

use std::ops::Range;

use super::jsonc::splice::Draft;

/// The line break of a text.
pub fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text.get(..at).is_some_and(|line| line.ends_with('\r')) => "\r\n",
        _ => "\n",
    }
}

/// The position behind the line break of this line.
pub fn end_of_line(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |length| at + length + 1)
}

/// The start of this line.
pub fn start_of_line(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1)
}

/// Inserts a line at the start of a line, or behind the last one.
pub fn insert(draft: &mut Draft, at: usize, line: &str) {
    let newline = newline(&draft.text);
    let is_open = at > 0 && !draft.text.get(..at).is_some_and(|before| before.ends_with(['\n', '\u{feff}']));
    let new = if is_open { format!("{newline}{line}{newline}") } else { format!("{line}{newline}") };
    draft.replace(at..at, &new);
}

/// Removes the lines that a range touches.
pub fn remove(draft: &mut Draft, range: Range<usize>) {
    let span = start_of_line(&draft.text, range.start)..end_of_line(&draft.text, range.end);
    draft.replace(span, "");
}
