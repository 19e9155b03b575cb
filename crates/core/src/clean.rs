//! Cleans foreign text for one line of a ledger, a log or a note. Tool names, commands and paths come over the wire;
//! none of them may start a new line, hide something, or change the order in which a line is read.

/// Reduces a text to one line of at most `most` characters: white space and control characters become single spaces,
/// invisible characters are removed.
pub fn one_line(text: &str, most: usize) -> String {
    let mut line = String::with_capacity(text.len().min(most));
    let mut characters = 0;
    let mut is_apart = false;
    for letter in text.chars() {
        if letter.is_whitespace() || letter.is_control() {
            is_apart = true;
            continue;
        }
        if is_invisible(letter) {
            continue;
        }
        if is_apart && characters > 0 {
            if characters + 2 > most {
                break;
            }
            line.push(' ');
            characters += 1;
        }
        if characters == most {
            break;
        }
        line.push(letter);
        characters += 1;
        is_apart = false;
    }
    line
}

/// Characters that take no room or reorder their neighbours: zero-width characters, marks of direction, variation selectors,
/// tags, and fillers.
pub fn is_invisible(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_begins_a_line_of_its_own() {
        for text in ["a\nb", "a\r\nb", "a\u{2028}b", "a\u{85}b", "a\u{b}b", "a\u{2029}\nb", "\na\x1b\tb\n"] {
            let line = one_line(text, 80);
            assert!(line == "a b" || line == "ab", "{text:?}: {line:?}");
        }
        assert_eq!(one_line("x\nssh-ed25519 AAAA me\n#", 80), "x ssh-ed25519 AAAA me #");
    }

    #[test]
    fn what_cannot_be_seen_is_left_out() {
        assert_eq!(one_line("a\u{200b}b\u{202e}c\u{2066}d\u{feff}e\u{e0041}f", 80), "abcdef");
        assert_eq!(one_line("naïve 日本語 👍", 80), "naïve 日本語 👍");
    }

    #[test]
    fn a_line_has_at_most_so_many_characters() {
        assert_eq!(one_line("ä b c", 3), "ä b");
        assert_eq!(one_line("abcdef", 3), "abc");
        assert_eq!(one_line("ab cd", 3), "ab");
        assert_eq!(one_line(" \n ", 3), "");
        assert_eq!(one_line(&"x".repeat(1 << 20), 5).len(), 5);
    }
}
