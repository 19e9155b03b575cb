//! A refused edit: code, reason and hint. Nothing has changed.

use crate::hint;
use crate::hint::Command;
use crate::{ErrorCode, Hint};

/// `code` is for programs, `message` and `hint` are for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub code: ErrorCode,
    pub message: String,
    pub hint: Hint,
}

impl Refusal {
    /// Refuses an edit without effect.
    pub fn nothing(message: impl Into<String>) -> Refusal {
        Refusal::new(
            ErrorCode::NothingToDo,
            message,
            hint![Command::List, " shows the context, ", Command::History, " the edits."],
        )
    }

    pub fn new(code: ErrorCode, message: impl Into<String>, hint: impl Into<Hint>) -> Refusal {
        Refusal { code, message: message.into(), hint: hint.into() }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

/// The known names most similar to `name`, best first.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    // People remember a word of a long name.
    let words = |other: &str| other.split('_').map(|word| distance(name, word) + 1).min();
    let score = |other: &str| distance(name, other).min(words(other).unwrap_or(usize::MAX));
    let mut scored: Vec<(usize, &str)> = known.map(|other| (score(other), other)).collect();
    scored.sort();
    let worst = name.chars().count() / 3 + 1;
    scored.into_iter().filter(|(distance, _)| *distance <= worst).take(3).map(|(_, other)| other).collect()
}

/// The hint behind the nearest names, if there are any.
pub fn suggest(near: &[&str], otherwise: impl Into<Hint>) -> Hint {
    match near {
        [] => otherwise.into(),
        near => otherwise.into().after(format!("Did you mean {}? ", near.join(", "))),
    }
}

/// The edit distance between two names.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let cost = before + usize::from(x != *y);
            before = row[j + 1];
            row[j + 1] = cost.min(before + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_are_offered() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(nearest("t13", ["t1", "t3", "t12", "system"].into_iter()), ["t1", "t12", "t3"]);
        let keys = ["compact_threshold_percent", "webhook", "hook"];
        assert_eq!(nearest("treshold", keys.into_iter()), ["compact_threshold_percent"]);
        assert!(nearest("zzzzzz", ["t1", "system"].into_iter()).is_empty());
    }
}
