//! Line differences between two texts.

use similar::{Algorithm, ChangeTag, capture_diff_slices_deadline};
use std::time::{Duration, Instant};

/// A line, and the text that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    Both(&'a str),
    Old(&'a str),
    New(&'a str),
}

/// After this time, the rest is compared roughly.
const LONGEST: Duration = Duration::from_millis(500);

/// The lines of both texts, with as many in common as the time allows.
pub fn lines<'a>(old: &'a str, new: &'a str) -> Vec<Line<'a>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let operations = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(Instant::now() + LONGEST));
    let changes = operations.iter().flat_map(|operation| operation.iter_changes(&old, &new));
    let line = |change: similar::Change<&'a str>| match change.tag() {
        ChangeTag::Equal => Line::Both(change.value()),
        ChangeTag::Delete => Line::Old(change.value()),
        ChangeTag::Insert => Line::New(change.value()),
    };
    changes.map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(old: &str, new: &str) -> String {
        let letters = |text: &str| text.chars().map(|letter| format!("{letter}\n")).collect::<String>();
        let (old, new) = (letters(old), letters(new));
        let sign = |line: Line| match line {
            Line::Both(text) => text.to_owned(),
            Line::Old(text) => format!("-{text}"),
            Line::New(text) => format!("+{text}"),
        };
        lines(&old, &new).into_iter().map(sign).collect()
    }

    #[test]
    fn what_both_have_stays_and_the_rest_is_told() {
        assert_eq!(told("abc", "abc"), "abc");
        assert_eq!(told("abc", "axc"), "a-b+xc");
        assert_eq!(told("abcdef", "acxdf"), "a-bc+xd-ef");
        assert_eq!(told("", "ab"), "+a+b");
        assert_eq!(told("ab", ""), "-a-b");
        assert_eq!(told("aab", "ab"), "a-ab");
    }

    #[test]
    fn texts_too_large_to_compare_are_replaced() {
        let many = |word: &str| (0..3_000).map(|number| format!("{word}{number}\n")).collect::<String>();
        let (old, new) = (many("a"), many("b"));
        assert_eq!(lines(&old, &new).len(), 6_000);
    }
}
