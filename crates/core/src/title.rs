//! Titles: the first words of a text.

/// The first words of a text on one line, cut at a word, at most 80 characters.
pub fn line(text: &str) -> String {
    const LIMIT: usize = 80;
    // The title comes from the beginning of a text of any length.
    const BEGINNING: usize = 64 * LIMIT;
    let text = text.trim_start();
    let text = text.get(..text.floor_char_boundary(BEGINNING)).unwrap_or(text);
    let mut out = String::new();
    let mut length = 0;
    for word in text.split_whitespace().take(LIMIT) {
        let word_length = word.chars().take(LIMIT + 1).count();
        if length > 0 && length + 1 + word_length > LIMIT {
            out.push('…');
            return out;
        }
        if length > 0 {
            out.push(' ');
            length += 1;
        }
        if word_length > LIMIT {
            out.extend(word.chars().filter(|c| !c.is_control()).take(LIMIT - 1));
            out.push('…');
            return out;
        }
        out.extend(word.chars().filter(|c| !c.is_control()));
        length += word_length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line_of_at_most_eighty_characters() {
        let long = line(&"word ".repeat(100));
        assert!(long.chars().count() <= 81 && long.ends_with('…'), "{long}");
        assert!(line(&"x".repeat(5000)).chars().count() <= 81);
        assert_eq!(line("a\u{1b}[31mred\nb"), "a[31mred b");
        assert_eq!(line(&"ä".repeat(1_000_000)), line(&"ä".repeat(100)));
        assert_eq!(line(&format!("{}title", " ".repeat(100_000))), "title");
    }
}
