//! Patterns with `*`, as in settings and vocabularies.

/// Whether a text matches a pattern: `*` matches any text, ASCII case is ignored.
pub fn matches(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(first) = pieces.next() else { return false };
    let Some(mut rest) = strip(text, first) else { return false };
    let mut last = first;
    let mut is_open = false;
    for piece in pieces {
        is_open = true;
        last = piece;
        let Some(at) = find(rest, piece) else { return false };
        rest = rest.get(at + piece.len()..).unwrap_or_default();
    }
    if !is_open {
        return rest.is_empty();
    }
    // The last piece is anchored at the end.
    last.is_empty() || rest.is_empty() || text.len() >= last.len() && ends(text, last)
}

fn strip<'t>(text: &'t str, start: &str) -> Option<&'t str> {
    let head = text.get(..start.len())?;
    head.eq_ignore_ascii_case(start).then(|| &text[start.len()..])
}

fn ends(text: &str, end: &str) -> bool {
    text.get(text.len() - end.len()..).is_some_and(|tail| tail.eq_ignore_ascii_case(end))
}

fn find(text: &str, piece: &str) -> Option<usize> {
    let (text, piece) = (text.as_bytes(), piece.as_bytes());
    let Some(first) = piece.first() else { return Some(0) };
    // Texts are long, and most of them do not contain the piece.
    memchr::memchr2_iter(first.to_ascii_lowercase(), first.to_ascii_uppercase(), text)
        .find(|&at| text.get(at..at + piece.len()).is_some_and(|here| here.eq_ignore_ascii_case(piece)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything_and_case_does_not_matter() {
        for (pattern, text) in [
            ("*notes.md", "/home/me/NOTES.md"),
            ("bd *", "bd ready --json"),
            ("*", ""),
            ("read", "Read"),
            ("a*b*c", "a-b-b-c"),
            ("*ä*", "xäy"),
            ("*aa", "baaa"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("*notes.md", "NOTES.md.bak"),
            ("bd *", "abd x"),
            ("read", "Reader"),
            ("a*b*c", "a-b-c-d"),
            ("ab", "a"),
            ("*x*", "ä"),
        ] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }
}
