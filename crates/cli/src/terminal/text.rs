//! Text of others made safe to print, and measured in columns. Conversations hold whatever tools print; none
//! of it may move the cursor, change colours or reverse the order of what is read.

use std::borrow::Cow;
use std::fmt::Write;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const TAB: &str = "    ";

/// Several lines, as they are, without anything that a terminal obeys.
pub fn block(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\n' => safe.push('\n'),
            '\r' if letters.peek() == Some(&'\n') => {}
            '\t' => safe.push_str(TAB),
            other => push_visible(&mut safe, other),
        }
    }
    safe
}

/// All on one line: every run of white space is one space.
pub fn line(text: &str) -> String {
    if text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return text.to_owned();
    }
    let mut safe = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !safe.is_empty() {
            safe.push(' ');
        }
        word.chars().for_each(|letter| push_visible(&mut safe, letter));
    }
    safe
}

/// JSON that means the same and drives no terminal. Inside of strings is the only place where valid JSON can
/// hold such characters, and there an escape may stand for them.
pub fn json(text: &str) -> Cow<'_, str> {
    let harmless = |letter: char| !is_active(letter) || matches!(letter, '\n' | '\t');
    if text.chars().all(harmless) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        if harmless(letter) {
            safe.push(letter);
        } else if letter != '\r' {
            // A carriage return can only stand between values, where it is as good as nothing.
            let _ = write!(safe, "\\u{:04x}", u32::from(letter));
        }
    }
    Cow::Owned(safe)
}

fn push_visible(safe: &mut String, letter: char) {
    if !is_active(letter) {
        safe.push(letter);
    } else if u32::from(letter) <= 0xff {
        let _ = write!(safe, "\\x{:02x}", u32::from(letter));
    } else {
        let _ = write!(safe, "\\u{{{:x}}}", u32::from(letter));
    }
}

/// Characters that act instead of being read: controls, and marks that reorder what follows.
fn is_active(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Columns on a terminal: wide characters take two.
pub fn width(text: &str) -> usize {
    // Most of what is measured is this; what is measured is safe, so every character shows.
    if text.is_ascii() { text.len() } else { text.width() }
}

/// Cut to so many columns, with an ellipsis where something is missing.
pub fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut used = 0;
    for letter in text.chars() {
        used += letter.width().unwrap_or(0);
        // The ellipsis needs a column of its own.
        if used >= columns {
            break;
        }
        cut.push(letter);
    }
    if columns > 0 {
        cut.push('…');
    }
    cut
}

/// Words on lines of so many columns; a longer word has a line of its own.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_conversation_reaches_the_terminal_raw() {
        let hostile = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{7f}\u{8}\u{202e}txt\u{2066}\rback\0";
        for safe in [block(hostile), line(hostile), json(hostile).into_owned()] {
            assert!(!safe.chars().any(is_active), "{safe:?}");
        }
        assert_eq!(block("\u{1b}[31mred"), "\\x1b[31mred");
        assert_eq!(line("a\u{202e}b"), "a\\u{202e}b");
    }

    #[test]
    fn lines_and_indents_of_a_block_stay() {
        assert_eq!(block("a\r\n\tb\n\nc"), "a\n    b\n\nc");
        assert_eq!(block("a\rb"), "a\\x0db");
        assert_eq!(line("  a\n\tb  c "), "a b c");
    }

    #[test]
    fn safe_json_means_the_same() {
        let given = "{\n\t\"a\":\"\u{9b}\u{7f}é\u{202e}\"}";
        let safe = json(given);
        assert!(safe.contains("\\u009b\\u007fé\\u202e"), "{safe}");
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("json");
        assert_eq!(value(&safe), value(given));
        assert!(matches!(json("{\"a\":\n1}"), Cow::Borrowed(_)));
    }

    #[test]
    fn words_are_wrapped_and_none_is_lost() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("one two three", usize::MAX), ["one two three"]);
        assert_eq!(wrap("extraordinary one", 5), ["extraordinary", "one"]);
    }

    #[test]
    fn wide_characters_count_two_columns() {
        assert_eq!(width("日本"), 4);
        assert_eq!(fit("日本語", 6), "日本語");
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(fit("abc", 1), "…");
        assert_eq!(fit("abc", 0), "");
    }
}
