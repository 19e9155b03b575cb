//! The settings of the automatic editor.

use super::protect::{self, Artifact, Call};
use super::target::Target;
use crate::pattern;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What it may do by itself; the more, the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Nothing.
    #[default]
    Off,
    /// It notes what it would have done, and what that would have saved.
    Observe,
    /// It proposes, and a person accepts.
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

/// How many tokens results of searches may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Budget {
    /// One of them. What is longer goes as soon as it is not recent any more and that pays.
    pub single_search: u64,
    /// Those that are not recent any more. Beyond, the oldest go as soon as that pays.
    pub accumulated: u64,
    /// All that are left in the conversation, the recent ones with them. Beyond, the oldest go even if that does not pay.
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
    /// From this share of what the model takes on, it is cleared whether that pays or not.
    pub compact_threshold_percent: u64,
    /// The same while the provider edits by itself, so that the two do not fight.
    pub threshold_with_provider_percent: u64,
    /// Down to this share.
    pub target_percent: u64,
    /// Results of the newest answers stay.
    pub preserve_recent_turns: usize,
    /// What goes first stands first.
    pub clear_targets: Vec<Target>,
    /// Phases whose details may go when they have ended; `*` for all.
    pub clear_after_phases: Vec<String>,
    /// Budgets for results of searches; none where nothing is said.
    pub attention_budget: Option<Budget>,
    /// What never goes, by name.
    pub preserve_artifacts: Vec<String>,
    /// What these names mean.
    pub artifacts: BTreeMap<String, Artifact>,
    /// Results of these tools never go. Clients name those that keep an agent's books.
    pub exclude_tools: Vec<String>,
    /// The file to which a line is added for everything that goes: absolute, or in the project.
    pub ledger: String,
    /// A command that is told of signals, on its input; and an address on this machine.
    pub hook: Option<String>,
    pub webhook: Option<String>,
}

/// What is believed where nothing is said.
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
            hook: None,
            webhook: None,
        }
    }
}

impl Settings {
    /// The share of what the model takes from which on it is cleared whether that pays or not.
    pub fn threshold(&self, provider_edits: bool) -> u64 {
        let raised = self.threshold_with_provider_percent.max(self.compact_threshold_percent);
        if provider_edits { raised } else { self.compact_threshold_percent }
    }

    /// The share down to which it is cleared then.
    pub fn target(&self, provider_edits: bool) -> u64 {
        self.target_percent.min(self.threshold(provider_edits).saturating_sub(5))
    }

    /// Whether the details of a phase that has ended may go.
    pub fn clears_after(&self, phase: &str) -> bool {
        self.clear_after_phases.iter().any(|one| one == EVERY_PHASE || one == phase)
    }

    /// The artifact that a call with its result belongs to, if it must stay for one.
    pub fn preserves(&self, call: &Call<'_>) -> Option<&str> {
        let named = self.preserve_artifacts.iter().map(String::as_str);
        named.into_iter().find(|name| match self.artifacts.get(*name) {
            Some(artifact) => artifact.holds(call),
            // A name that nobody defined means what is called so.
            None => Artifact::named(name).holds(call),
        })
    }

    /// Whether results of a tool never go.
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
