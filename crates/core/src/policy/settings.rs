//! The settings of the automatic editor.

use super::cut::Cuts;
use super::diet::Diet;
use super::protect::{self, Artifact, Call};
use super::stub::StubForm;
use super::target::Target;
use super::trim::Trims;
use crate::pattern;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The permissions of the editor, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// No automatic editing.
    #[default]
    Off,
    /// Records the edits it would have made, and their savings.
    Observe,
    /// Proposes edits for a person to accept.
    Ask,
    On,
}

impl Mode {
    pub const ALL: [Mode; 4] = [Mode::Off, Mode::Observe, Mode::Ask, Mode::On];

    pub fn name(self) -> &'static str {
        match self {
            Mode::Off => "off",
            Mode::Observe => "observe",
            Mode::Ask => "ask",
            Mode::On => "on",
        }
    }

    pub fn named(name: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// Token budgets of search results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Budget {
    /// One result. A longer one is cleared as soon as it is no longer recent and clearing pays.
    pub single_search: u64,
    /// Results that are no longer recent. Beyond it, the oldest are cleared as soon as that pays.
    pub accumulated: u64,
    /// All search results in the conversation, including recent ones. Beyond it, those that are no longer recent are
    /// cleared as soon as that pays.
    pub session_total: u64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { single_search: 2_000, accumulated: 5_000, session_total: 15_000 }
    }
}

/// The settings in force, merged from all sources.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub mode: Mode,
    /// Usage of the model's window, in percent, from which to clear regardless of cost.
    pub compact_threshold_percent: u64,
    /// The same while the provider edits by itself, so that the two do not compete.
    pub threshold_with_provider_percent: u64,
    /// Usage to clear down to, in percent.
    pub target_percent: u64,
    /// Answers, counted from the newest, whose results stay.
    pub preserve_recent_turns: usize,
    /// Targets in clearing order.
    pub clear_targets: Vec<Target>,
    /// Phases whose details may be cleared after their end; `*` for all.
    pub clear_after_phases: Vec<String>,
    /// Budgets of search results; none if unset.
    pub attention_budget: Option<Budget>,
    /// Names of artifacts that are never cleared.
    pub preserve_artifacts: Vec<String>,
    /// The definitions of these names.
    pub artifacts: BTreeMap<String, Artifact>,
    /// Tools whose results are never cleared. Clients name their bookkeeping tools.
    pub exclude_tools: Vec<String>,
    /// The file that gets a line for each clearing: absolute, or in the project.
    pub ledger: String,
    /// The trims of new results.
    pub trims: Trims,
    /// The longest new results, by kind.
    pub cuts: Cuts,
    /// The diet for tools.
    pub diet: Diet,
    /// A command that gets signals on stdin; and an address on this machine.
    pub hook: Option<String>,
    pub webhook: Option<String>,
    /// The parameters of the policy. No file sets them; the lab compares others.
    #[serde(skip)]
    pub rules: Rules,
}

/// The parameters of [`super::Auto`]. Ages are in answers. They were chosen on recordings: see docs/lab.md.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// The age from which a file view may be cleared.
    pub view_age: usize,
    /// The same for any other result.
    pub other_age: usize,
    /// The same for the replaced text in an edit's input.
    pub input_age: usize,
    /// Content stays while its file was touched within this many answers.
    pub quiet: usize,
    /// The age from which thinking is a reason for an edit.
    pub thinking_age: usize,
    /// The share of these ages that counts when the cache has expired.
    pub cold_share: f64,
    /// An edit of a part must save at least this many tokens.
    pub least: u64,
    /// The requests to come, as a share of those so far: a long conversation usually continues.
    pub horizon: f64,
    /// How many times its price an edit must bring within these requests, beyond paying off.
    pub gain: f64,
    /// Shorter requests are only shortened on arrival: near the shortest prompt that the provider caches, less may cost
    /// more.
    pub smallest: u64,
    /// The form of stubs.
    pub stub: StubForm,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            view_age: 20,
            other_age: 10,
            input_age: 25,
            quiet: 20,
            thinking_age: 3,
            cold_share: 0.5,
            least: 150,
            horizon: 0.6,
            gain: 2.0,
            smallest: 20_000,
            stub: StubForm::default(),
        }
    }
}

/// The default ledger.
pub const LEDGER: &str = "NOTES.md";
pub const EVERY_PHASE: &str = "*";

impl Default for Settings {
    fn default() -> Settings {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        Settings {
            mode: Mode::Off,
            compact_threshold_percent: 80,
            threshold_with_provider_percent: 95,
            target_percent: 60,
            preserve_recent_turns: 5,
            clear_targets: Target::ALL.to_vec(),
            clear_after_phases: words(&[EVERY_PHASE]),
            attention_budget: Some(Budget::default()),
            preserve_artifacts: words(&protect::KNOWN),
            artifacts: protect::known(),
            exclude_tools: Vec::new(),
            ledger: LEDGER.to_owned(),
            trims: Trims::default(),
            cuts: Cuts::SHIPPED,
            diet: Diet::default(),
            hook: None,
            webhook: None,
            rules: Rules::default(),
        }
    }
}

impl Settings {
    /// The usage of the window from which to clear regardless of cost.
    pub fn threshold(&self, provider_edits: bool) -> u64 {
        let raised = self.threshold_with_provider_percent.max(self.compact_threshold_percent);
        if provider_edits { raised } else { self.compact_threshold_percent }
    }

    /// The usage to clear down to.
    pub fn target(&self, provider_edits: bool) -> u64 {
        self.target_percent.min(self.threshold(provider_edits).saturating_sub(5))
    }

    /// Whether the details of an ended phase may be cleared.
    pub fn clears_after(&self, phase: &str) -> bool {
        self.clear_after_phases.iter().any(|one| one == EVERY_PHASE || one == phase)
    }

    /// The artifact that protects a call with its result, if any.
    pub fn preserves(&self, call: &Call<'_>) -> Option<&str> {
        let named = self.preserve_artifacts.iter().map(String::as_str);
        named.into_iter().find(|name| match self.artifacts.get(*name) {
            Some(artifact) => artifact.holds(call),
            // An undefined name matches by its words.
            None => Artifact::named(name).holds(call),
        })
    }

    /// Whether results of a tool are never cleared.
    pub fn excludes(&self, tool: &str) -> bool {
        self.exclude_tools.iter().any(|pattern| pattern::matches(pattern, tool))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_rises_while_the_provider_edits() {
        let settings = Settings::default();
        assert_eq!((settings.threshold(false), settings.threshold(true)), (80, 95));
        let high = Settings { compact_threshold_percent: 98, target_percent: 97, ..Settings::default() };
        assert_eq!((high.threshold(true), high.target(true)), (98, 93));
    }
}
