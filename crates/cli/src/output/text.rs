//! Makes foreign text safe to print, and measures it in columns. Conversations contain any output of tools; none of it
//! may move the cursor, change colours or reverse the reading order.

use std::borrow::Cow;
use std::fmt::Write;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const TAB: &str = "    ";

/// Several lines, without control characters.
pub fn block(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut letters = letters(text).peekable();
    while let Some((letter, active)) = letters.next() {
        match letter {
            '\n' => safe.push('\n'),
            '\r' if letters.peek().is_some_and(|(next, _)| *next == '\n') => {}
            '\t' => safe.push_str(TAB),
            other => push_visible(&mut safe, other, active),
        }
    }
    safe
}

/// Everything on one line: whitespace is collapsed.
pub fn line(text: &str) -> String {
    if text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return text.to_owned();
    }
    let mut safe = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !safe.is_empty() {
            safe.push(' ');
        }
        letters(word).for_each(|(letter, active)| push_visible(&mut safe, letter, active));
    }
    safe
}

/// A finished page of output: lines, tabs and colours stay; other control characters are escaped.
pub fn printable(text: &str) -> Cow<'_, str> {
    if letters(text).all(|(letter, active)| !active || matches!(letter, '\n' | '\t')) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    let mut colour_ends = 0;
    let mut at = 0;
    for (letter, active) in letters(text) {
        if letter == '\x1b' {
            colour_ends = at + colour(text.get(at..).unwrap_or_default());
        }
        let stays = at < colour_ends || matches!(letter, '\n' | '\t');
        push_visible(&mut safe, letter, active && !stays);
        at += letter.len_utf8();
    }
    Cow::Owned(safe)
}

/// The length of a sequence that only changes colour or weight: `ESC [ 1;31 m`. 0 if it is not one.
fn colour(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("\x1b[") else { return 0 };
    let digits = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
    if rest.as_bytes().get(digits) == Some(&b'm') { digits + 3 } else { 0 }
}

/// Equivalent JSON without control characters. Valid JSON can contain them only inside strings, where an escape can
/// replace them.
pub fn json(text: &str) -> Cow<'_, str> {
    let harmless = |(letter, active): (char, bool)| !active || matches!(letter, '\n' | '\t');
    if letters(text).all(harmless) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    for (letter, active) in letters(text) {
        if harmless((letter, active)) {
            safe.push(letter);
        } else if letter != '\r' {
            // A carriage return can only occur between values, where it is meaningless.
            for unit in letter.encode_utf16(&mut [0; 2]) {
                let _ = write!(safe, "\\u{unit:04x}");
            }
        }
    }
    Cow::Owned(safe)
}

fn push_visible(safe: &mut String, letter: char, active: bool) {
    if !active {
        safe.push(letter);
    } else if u32::from(letter) <= 0xff {
        let _ = write!(safe, "\\x{:02x}", u32::from(letter));
    } else {
        let _ = write!(safe, "\\u{{{:x}}}", u32::from(letter));
    }
}

/// Each character, and whether it acts as a control.
fn letters(text: &str) -> impl Iterator<Item = (char, bool)> {
    let mut before = None;
    let mut letters = text.chars().peekable();
    std::iter::from_fn(move || {
        let letter = letters.next()?;
        let joins =
            is_joiner(letter) && before.is_some_and(is_joined) && letters.peek().copied().is_some_and(is_joined);
        before = Some(letter);
        Some((letter, is_active(letter) && !joins))
    })
}

/// Persian, Hindi and other scripts use joiners, and so do emoji. Between other letters, a joiner only hides.
fn is_joiner(letter: char) -> bool {
    matches!(letter, '\u{200c}' | '\u{200d}')
}

fn is_joined(letter: char) -> bool {
    !letter.is_ascii() && !is_active(letter)
}

/// Controls, marks that reorder text, and invisible characters.
fn is_active(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Columns on a terminal: wide characters take two.
pub fn width(text: &str) -> usize {
    // The common case; measured text is safe, so every character is visible.
    if text.is_ascii() { text.len() } else { text.width() }
}

/// Cuts to this many columns, with an ellipsis for the missing part.
pub fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut used = 0;
    for letter in text.chars() {
        used += letter.width().unwrap_or(0);
        // The ellipsis needs its own column.
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

/// Wraps words to lines of this many columns; a longer word gets its own line.
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

/// Wraps the lines of a finished page that are wider than this. Continuation lines are indented like their line.
pub fn wrap_page(page: &str, columns: usize) -> String {
    let mut wrapped = String::with_capacity(page.len());
    for line in page.split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let hang = if indent * 2 < columns { indent } else { 0 };
        let mut used = 0;
        for word in line.split_inclusive(' ') {
            if used > indent && used + painted_width(word.trim_end_matches([' ', '\n'])) > columns {
                wrapped.truncate(wrapped.trim_end_matches(' ').len());
                wrapped.push('\n');
                wrapped.push_str(&" ".repeat(hang));
                used = hang;
            }
            wrapped.push_str(word);
            used += painted_width(word.trim_end_matches('\n'));
        }
    }
    wrapped
}

/// Columns of a printable text: its colours take none.
fn painted_width(text: &str) -> usize {
    let mut pieces = text.split('\x1b');
    let first = pieces.next().map_or(0, width);
    first + pieces.map(|piece| piece.split_once('m').map_or(0, |(_, shown)| width(shown))).sum::<usize>()
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
    fn characters_without_width_do_not_hide_in_a_word() {
        let hidden = ['\u{ad}', '\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}', '\u{feff}', '\u{e0041}', '\u{3164}'];
        for letter in hidden {
            let word = format!("pass{letter}word");
            let spelt = format!("pass\\{}word", letter.escape_unicode().to_string().trim_start_matches('\\'));
            let spelt = spelt.replace("u{ad}", "xad");
            assert_eq!((line(&word), block(&word), printable(&word).as_ref()), (spelt.clone(), spelt.clone(), &*spelt));
            let json = json(&format!("\"{word}\"")).into_owned();
            assert!(json.is_ascii(), "{json}");
            assert_eq!(serde_json::from_str::<String>(&json).expect("a text"), word);
        }
        for written in ["👨\u{200d}👩\u{200d}👧", "می\u{200c}خواهم", "❤\u{fe0f}"] {
            assert_eq!((line(written), block(written)), (written.to_owned(), written.to_owned()));
        }
    }

    #[test]
    fn a_finished_page_keeps_its_colours_and_nothing_else_that_a_terminal_obeys() {
        let page = "\x1b[1;31mbad\x1b[0m\tnext\n";
        assert_eq!(printable(page), page);
        assert_eq!(printable("\x1b[2mfaint \x1b]0;PWN\x07\x1b[0m"), "\x1b[2mfaint \\x1b]0;PWN\\x07\x1b[0m");
        assert_eq!(printable("\x1b[2Jé\r\u{9b}m"), "\\x1b[2Jé\\x0d\\x9bm");
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
    fn long_lines_of_a_page_are_wrapped_between_words_and_keep_their_indentation() {
        let page = "one two three\n  \x1b[2mfour five six\x1b[0m  seven\n\nshort\n";
        assert_eq!(wrap_page(page, 11), "one two\nthree\n  \x1b[2mfour five\n  six\x1b[0m\n  seven\n\nshort\n");
        assert_eq!(wrap_page(page, 40), page);
        assert_eq!(wrap_page("see https://localhost/a/long/link now", 12), "see\nhttps://localhost/a/long/link\nnow");
        assert_eq!(wrap_page("         deep words", 12), "         deep\nwords", "no room beside the indentation");
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
