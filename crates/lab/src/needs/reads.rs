//! Files that are read again.

use super::blocks::{Block, What};
use super::printed::{Range, printed};
use super::{Place, calls, calls_of};
use ctx_core::ToolRole;
use serde_json::Value;
use std::collections::HashMap;

/// Older reads do not count.
const STEPS: usize = 20;

/// The number of lines of a read without a limit.
const LINES: u64 = 2000;

/// A file, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileRead {
    pub(super) path: String,
    pub(super) range: Range,
}

#[derive(Default)]
pub(super) struct Reads {
    /// The number of replies. A result is recorded after its reply was counted.
    step: usize,
    /// Unchanged reads: their step, and the place of the result.
    known: Vec<(FileRead, usize, Place)>,
    /// Calls without a result so far.
    open: HashMap<String, FileRead>,
}

impl Reads {
    /// The reads of a reply that show only known content.
    pub(super) fn again(&self, answer: &[Block]) -> Vec<(String, Vec<Place>)> {
        let mut again = Vec::new();
        for read in calls_of(answer).filter_map(|(_, tool, input)| read(tool, input)) {
            let shown = |known: &FileRead| is_same(&known.path, &read.path) && known.range.covers(&read.range);
            let earlier = self.known.iter().filter(|(known, ..)| shown(known)).map(|(.., place)| *place);
            again.push((format!("{}{}", read.path, read.range), earlier.collect()));
        }
        again
    }

    /// Processes a message: the reads and changes of a reply, or the results.
    pub(super) fn note(&mut self, blocks: &[Block]) {
        let mut answers = false;
        for block in blocks {
            match &block.what {
                What::Call { id, name, input } => {
                    answers = true;
                    match read(name, input) {
                        Some(read) => drop(self.open.insert(id.clone(), read)),
                        None => self.change(name, input),
                    }
                }
                What::Result { id, is_error } => {
                    let failed = *is_error || ctx_clients::lexicon().is_failed_result(&block.text);
                    // Then it refers to the file instead of showing it.
                    let refers = ctx_clients::lexicon().is_repeated_result(&block.text);
                    if let Some(read) = self.open.remove(id).filter(|_| !failed && !refers) {
                        self.known.push((read, self.step, block.place));
                    }
                }
                What::Said => answers = true,
                What::Other => {}
            }
        }
        self.step += usize::from(answers);
        self.known.retain(|(_, step, _)| self.step - step < STEPS);
    }

    fn change(&mut self, tool: &str, input: &Value) {
        if let Some(command) = calls::shell(tool, input) {
            if calls::only_looks(command) {
                return;
            }
            let words =
                || command.split(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '_' | '.' | '-'));
            let everything = words().any(|word| calls::CHANGING.contains(&word));
            let mentioned: std::collections::HashSet<&str> = words().collect();
            let is_mentioned = |path: &str| path.rsplit('/').next().is_some_and(|name| mentioned.contains(name));
            self.forget(|path| everything || is_mentioned(path));
        } else if ctx_clients::role(tool) == ToolRole::Agent {
            let kind = calls::word(input, &["subagent_type"]);
            let only_looks = kind.is_some_and(|kind| ctx_clients::lexicon().is_looking_agent(kind));
            self.forget(|_| !only_looks);
        } else if input.as_object().is_some_and(|fields| fields.keys().any(|key| calls::is_written(key))) {
            let changed = calls::path(input);
            self.forget(|path| changed.is_none_or(|changed| is_same(path, changed)));
        }
    }

    fn forget(&mut self, changed: impl Fn(&str) -> bool) {
        self.known.retain(|(read, ..)| !changed(&read.path));
        self.open.retain(|_, read| !changed(&read.path));
    }
}

/// One path may start at the root, the other at a folder below it.
fn is_same(one: &str, other: &str) -> bool {
    let (long, short) = if one.len() > other.len() { (one, other) } else { (other, one) };
    let rest = long.strip_suffix(short.trim_start_matches("./"));
    rest.is_some_and(|start| start.is_empty() || start.ends_with('/'))
}

/// The file and range that a call reads, if it does nothing else.
fn read(tool: &str, input: &Value) -> Option<FileRead> {
    if let Some(command) = calls::shell(tool, input) {
        return printed(command);
    }
    let views = input.get("command").is_some_and(|command| command == "view");
    let reads = ctx_clients::role(tool) == ToolRole::Read;
    if !(views || reads) {
        return None;
    }
    let number = |key: &str| input.get(key).and_then(Value::as_u64);
    let range = match input.get("view_range").and_then(Value::as_array).map(Vec::as_slice) {
        Some([first, last]) => Range::Lines(first.as_u64().unwrap_or(1), last.as_u64().unwrap_or(u64::MAX)),
        _ if input.get("pages").is_some() => {
            Range::Other(format!("pages {}", input.get("pages").unwrap_or(&Value::Null)))
        }
        _ => {
            let first = number("offset").unwrap_or(1).max(1);
            Range::Lines(first, first.saturating_add(number("limit").unwrap_or(LINES).saturating_sub(1)))
        }
    };
    Some(FileRead { path: calls::path(input)?.to_owned(), range })
}
