//! Commands that only print a file or a part of one.

use super::reads::FileRead;
use std::fmt;

/// The displayed part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Range {
    /// From this line to that one, counted from 1.
    Lines(u64, u64),
    /// Expressed in another way: only equal text means the same.
    Other(String),
}

impl Range {
    pub(super) fn covers(&self, other: &Range) -> bool {
        match (self, other) {
            (Range::Lines(first, last), Range::Lines(from, to)) => first <= from && to <= last,
            _ => self == other,
        }
    }

    /// The part of this part.
    fn narrowed(self, from: u64, to: u64) -> Range {
        match self {
            Range::Lines(first, last) => {
                let start = first.saturating_add(from.saturating_sub(1));
                Range::Lines(start, last.min(first.saturating_add(to.saturating_sub(1))))
            }
            other => other,
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Range::Lines(1, u64::MAX) => Ok(()),
            Range::Lines(first, u64::MAX) => write!(formatter, " {first}–"),
            Range::Lines(first, last) => write!(formatter, " {first}–{last}"),
            Range::Other(words) => write!(formatter, " {words}"),
        }
    }
}

/// `cat FILE`, `sed -n 1,20p FILE`, `nl -ba FILE | head -50`, possibly after a `cd`.
pub(super) fn printed(command: &str) -> Option<FileRead> {
    let command = command.trim().trim_end_matches("2>&1").trim_end();
    let rest = match command.split_once("&&") {
        Some((first, rest)) if first.trim_start().starts_with("cd ") => rest,
        _ => command,
    };
    if rest.contains(['>', '<', ';', '&', '$', '*', '`', '\n']) {
        return None;
    }
    let (mut path, mut range) = (None, Range::Lines(1, u64::MAX));
    for (index, stage) in rest.split('|').enumerate() {
        let words: Vec<&str> = stage.split_whitespace().collect();
        let (program, words) = words.split_first()?;
        let file = match *program {
            "cat" | "nl" => operand(words, 0)?,
            "head" => {
                range = range.narrowed(1, count(words));
                operand(words, 0)?
            }
            "tail" => {
                range = Range::Other(rest.trim().to_owned());
                operand(words, 0)?
            }
            "sed" if !words.iter().any(|word| word.starts_with("-i")) => {
                let script = words.iter().find(|word| !word.starts_with('-'))?.trim_matches(['\'', '"']);
                let lines = script.strip_suffix('p').and_then(|lines| lines.split_once(','));
                let lines = lines.and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
                range = match lines {
                    Some((from, to)) => range.narrowed(from, to),
                    None => Range::Other(rest.trim().to_owned()),
                };
                operand(words, 1)?
            }
            _ => return None,
        };
        match (index, file) {
            (0, Some(file)) => path = Some(file.trim_matches(['\'', '"']).to_owned()),
            (0, None) | (_, Some(_)) => return None,
            _ => {}
        }
    }
    Some(FileRead { path: path?, range })
}

/// The only word after `skipped` ones that is neither an option nor its number.
fn operand<'w>(words: &[&'w str], skipped: usize) -> Option<Option<&'w str>> {
    let is_plain = |word: &&&str| !word.starts_with('-') && !word.bytes().all(|byte| byte.is_ascii_digit());
    let mut plain = words.iter().filter(is_plain).skip(skipped);
    let first = plain.next();
    if plain.next().is_some() { None } else { Some(first.copied()) }
}

/// The number of lines that `head` prints.
fn count(words: &[&str]) -> u64 {
    let number = words.iter().find_map(|word| word.trim_start_matches(['-', 'n', '=']).parse().ok());
    number.unwrap_or(10)
}
