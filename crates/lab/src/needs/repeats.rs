//! Commands and searches that are run again although nothing has changed.

use super::blocks::{Block, What};
use super::printed::printed;
use super::{Place, calls, calls_of};
use ctx_core::ToolRole;
use serde_json::Value;
use std::collections::HashMap;

/// Older ones do not count, as with files that are read again.
const STEPS: usize = 20;

#[derive(Default)]
pub(super) struct Repeats {
    /// The number of replies.
    step: usize,
    /// The lookups since the last change: their step, and the place of the result.
    known: Vec<(String, usize, Place)>,
    /// Calls without a result so far.
    open: HashMap<String, String>,
}

impl Repeats {
    /// The lookups of a reply that were made before.
    pub(super) fn again(&self, answer: &[Block]) -> Vec<(String, Vec<Place>)> {
        let lookups = calls_of(answer).filter_map(|(_, tool, input)| lookup(tool, input));
        let earlier =
            |lookup: &str| self.known.iter().filter(|(known, ..)| known == lookup).map(|(.., place)| *place).collect();
        lookups.map(|lookup| (lookup.clone(), earlier(&lookup))).collect()
    }

    /// Processes a message: the lookups and changes of a reply, or the results.
    pub(super) fn note(&mut self, blocks: &[Block]) {
        let mut answers = false;
        for block in blocks {
            match &block.what {
                What::Call { id, name, input } => {
                    answers = true;
                    if let Some(lookup) = lookup(name, input) {
                        self.open.insert(id.clone(), lookup);
                    } else if changes(name, input) {
                        self.known.clear();
                        self.open.clear();
                    }
                }
                What::Result { id, is_error } => {
                    let failed = *is_error || ctx_clients::lexicon().is_failed_result(&block.text);
                    if let Some(lookup) = self.open.remove(id).filter(|_| !failed) {
                        self.known.push((lookup, self.step, block.place));
                    }
                }
                What::Said => answers = true,
                What::Other => {}
            }
        }
        self.step += usize::from(answers);
        self.known.retain(|(_, step, _)| self.step - step < STEPS);
    }
}

/// The search or the command of a call that changes nothing. Printing a file counts as a read instead.
fn lookup(tool: &str, input: &Value) -> Option<String> {
    if let Some(command) = calls::shell(tool, input) {
        return (calls::only_looks(command) && printed(command).is_none()).then(|| command.trim().to_owned());
    }
    let searches = matches!(ctx_clients::role(tool), ToolRole::Search | ToolRole::Find | ToolRole::Fetch);
    searches.then(|| format!("{tool} {input}"))
}

/// Whether a call may change a file.
fn changes(tool: &str, input: &Value) -> bool {
    if let Some(command) = calls::shell(tool, input) {
        return !calls::only_looks(command);
    }
    if ctx_clients::role(tool) == ToolRole::Agent {
        let kind = calls::word(input, &["subagent_type"]);
        return !kind.is_some_and(|kind| ctx_clients::lexicon().is_looking_agent(kind));
    }
    input.as_object().is_some_and(|fields| fields.keys().any(|key| calls::is_written(key)))
}
