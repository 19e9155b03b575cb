//! Texts that a reply replaced in files.

use super::blocks::Block;
use super::index::Index;
use super::{Place, calls_of};
use serde_json::Value;

/// A line with fewer visible characters does not identify its origin.
const DISTINCTIVE: usize = 12;

/// The texts that the edits of a reply replace.
pub(super) fn replaced(blocks: &[Block]) -> Vec<String> {
    let mut found = Vec::new();
    for (_, _, input) in calls_of(blocks) {
        gather(input, &mut found);
    }
    found.retain(|text| !text.trim().is_empty());
    found
}

fn gather(input: &Value, found: &mut Vec<String>) {
    match input {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text) if key == "old_string" || key == "old_str" => found.push(text.clone()),
                    Value::String(text) if text.contains("*** Begin Patch") => hunks(text, found),
                    _ => gather(value, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| gather(value, found)),
        _ => {}
    }
}

/// The old side of each hunk of a patch.
fn hunks(patch: &str, found: &mut Vec<String>) {
    let (mut old, mut updates) = (Vec::new(), false);
    for line in patch.lines() {
        if line.starts_with("***") || line.starts_with("@@") {
            found.push(std::mem::take(&mut old).join("\n"));
            updates = if line.starts_with("***") { line.starts_with("*** Update File") } else { updates };
        } else if let Some(line) = line.strip_prefix([' ', '-']).filter(|_| updates) {
            old.push(line);
        }
    }
    found.push(old.join("\n"));
}

/// The places of a replaced text: as a whole, or line by line. Line numbers that were copied from a view are no part of
/// it: such an edit fails, and without the numbers it would have been made correctly.
pub(super) fn sources(text: &str, index: &Index) -> Vec<(String, Vec<Place>)> {
    let plain = without_numbers(text);
    let text = plain.as_deref().unwrap_or(text).trim_matches('\n');
    let whole = index.text(text);
    if !whole.is_empty() {
        return vec![(text.to_owned(), whole)];
    }
    let mut lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines.retain(|line| line.chars().filter(|letter| !letter.is_whitespace()).count() >= DISTINCTIVE);
    lines.sort_unstable();
    lines.dedup();
    lines.into_iter().map(|line| (line.to_owned(), index.text(line))).collect()
}

/// A result without line prefixes of a tool; none if it has no prefixes.
pub(crate) fn bare(text: &str) -> Option<String> {
    let is_diff = text.contains("@@ -");
    let mut bare = String::new();
    let mut changed = false;
    for line in text.split('\n') {
        let rest =
            unnumbered(line).or_else(|| found(line)).or_else(|| line.strip_prefix(['+', '-', ' ']).filter(|_| is_diff));
        changed |= rest.is_some();
        bare.push_str(rest.unwrap_or(line));
        bare.push('\n');
    }
    changed.then_some(bare)
}

/// A text without line numbers, if each of its lines has one.
fn without_numbers(text: &str) -> Option<String> {
    let lines: Option<Vec<&str>> = text.trim_matches('\n').split('\n').map(unnumbered).collect();
    lines.map(|lines| lines.join("\n"))
}

/// `   12→text` or `   12<tab>text`
fn unnumbered(line: &str) -> Option<&str> {
    let line = line.trim_start_matches(' ');
    let rest = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    if rest.len() == line.len() { None } else { rest.strip_prefix(['→', '\t']) }
}

/// `12:text`, `path:12:text`, and the same with `-` next to a hit.
fn found(line: &str) -> Option<&str> {
    let mut from = 0;
    loop {
        let left = line.get(from..)?;
        let digits = from + left.find(|letter: char| letter.is_ascii_digit())?;
        let before = line.get(..digits)?;
        // A path contains no blanks.
        if before.contains(char::is_whitespace) {
            return None;
        }
        let rest = line.get(digits..)?.trim_start_matches(|letter: char| letter.is_ascii_digit());
        if (before.is_empty() || before.ends_with([':', '-'])) && rest.starts_with([':', '-']) {
            return rest.get(1..);
        }
        from = line.len() - rest.len();
    }
}
