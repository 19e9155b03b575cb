//! What somebody wants of the automatic editor.

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

/// All that is decided. What a layer does not say is as by default.
#[derive(Debug, Clone, PartialEq, Serialize)]
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

/// What one source says: a file, a section of one, a skill.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Layer {
    pub mode: Option<Mode>,
    pub compact_threshold_percent: Option<u64>,
    pub threshold_with_provider_percent: Option<u64>,
    pub target_percent: Option<u64>,
    pub preserve_recent_turns: Option<usize>,
    pub clear_targets: Option<Vec<Target>>,
    pub clear_after_phases: Option<Vec<String>>,
    pub single_search: Option<u64>,
    pub accumulated: Option<u64>,
    pub session_total: Option<u64>,
    pub preserve_artifacts: Option<Vec<String>>,
    pub artifacts: BTreeMap<String, Artifact>,
    pub exclude_tools: Option<Vec<String>>,
    pub ledger: Option<String>,
    pub hook: Option<String>,
    pub webhook: Option<String>,
}

impl Settings {
    /// Lays what a stronger source says over this.
    pub fn lay(&mut self, layer: &Layer) {
        fn set<T: Clone>(value: &mut T, said: &Option<T>) {
            if let Some(said) = said {
                value.clone_from(said);
            }
        }
        set(&mut self.mode, &layer.mode);
        set(&mut self.compact_threshold_percent, &layer.compact_threshold_percent);
        set(&mut self.threshold_with_provider_percent, &layer.threshold_with_provider_percent);
        set(&mut self.target_percent, &layer.target_percent);
        set(&mut self.preserve_recent_turns, &layer.preserve_recent_turns);
        set(&mut self.clear_targets, &layer.clear_targets);
        set(&mut self.clear_after_phases, &layer.clear_after_phases);
        set(&mut self.preserve_artifacts, &layer.preserve_artifacts);
        set(&mut self.exclude_tools, &layer.exclude_tools);
        set(&mut self.ledger, &layer.ledger);
        if let Some(budget) = &mut self.attention_budget {
            set(&mut budget.single_search, &layer.single_search);
            set(&mut budget.accumulated, &layer.accumulated);
            set(&mut budget.session_total, &layer.session_total);
        }
        self.artifacts.extend(layer.artifacts.clone());
        self.hook = layer.hook.clone().or(self.hook.take());
        self.webhook = layer.webhook.clone().or(self.webhook.take());
    }

    /// Lays over this what a source says that nobody vouches for: each key only as far as less is cleared by it, or more is
    /// preserved. Keys without such a direction do not count.
    pub fn lay_quieter(&mut self, layer: &Layer) {
        fn raise<T: Ord + Copy>(value: &mut T, said: Option<T>) {
            *value = said.map_or(*value, |said| said.max(*value));
        }
        if let Some(mode) = layer.mode.filter(|mode| *mode < self.mode) {
            self.mode = mode;
        }
        raise(&mut self.compact_threshold_percent, layer.compact_threshold_percent);
        raise(&mut self.threshold_with_provider_percent, layer.threshold_with_provider_percent);
        raise(&mut self.target_percent, layer.target_percent);
        raise(&mut self.preserve_recent_turns, layer.preserve_recent_turns);
        if let Some(targets) = &layer.clear_targets {
            self.clear_targets.retain(|target| targets.contains(target));
        }
        if let Some(phases) = &layer.clear_after_phases {
            self.keep_phases(phases);
        }
        if let Some(budget) = &mut self.attention_budget {
            raise(&mut budget.single_search, layer.single_search);
            raise(&mut budget.accumulated, layer.accumulated);
            raise(&mut budget.session_total, layer.session_total);
        }
        self.preserve_more(layer);
        add_new(&mut self.exclude_tools, &layer.exclude_tools);
    }

    /// The same of a skill: it can preserve more.
    pub fn add_quieter(&mut self, skill: &Layer) {
        self.preserve_more(skill);
    }

    /// Only phases that both name are cleared.
    fn keep_phases(&mut self, phases: &[String]) {
        let is_every = |phase: &String| phase == EVERY_PHASE;
        if phases.iter().any(is_every) {
            return;
        }
        match self.clear_after_phases.iter().any(is_every) {
            true => self.clear_after_phases = phases.to_vec(),
            false => self.clear_after_phases.retain(|phase| phases.contains(phase)),
        }
    }

    /// What a name means already stays as it is: another meaning could preserve less.
    fn preserve_more(&mut self, layer: &Layer) {
        let known = |name: &String| self.preserve_artifacts.contains(name) || self.artifacts.contains_key(name);
        let new: Vec<_> = layer.artifacts.iter().filter(|(name, _)| !known(name)).collect();
        let new: Vec<_> = new.into_iter().map(|(name, artifact)| (name.clone(), artifact.clone())).collect();
        self.artifacts.extend(new);
        add_new(&mut self.preserve_artifacts, &layer.preserve_artifacts);
    }

    /// Adds what a skill wants while it is active: it can preserve more, and name more phases, and nothing else.
    pub fn add(&mut self, skill: &Layer) {
        self.artifacts.extend(skill.artifacts.clone());
        add_new(&mut self.clear_after_phases, &skill.clear_after_phases);
        add_new(&mut self.preserve_artifacts, &skill.preserve_artifacts);
    }

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

fn add_new(all: &mut Vec<String>, more: &Option<Vec<String>>) {
    let new: Vec<String> = more.iter().flatten().filter(|name| !all.contains(name)).cloned().collect();
    all.extend(new);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stronger_layer_says_only_what_it_says() {
        let mut settings = Settings::default();
        settings.lay(&Layer { mode: Some(Mode::On), accumulated: Some(9), ..Layer::default() });
        settings.lay(&Layer { preserve_recent_turns: Some(2), ..Layer::default() });
        assert_eq!((settings.mode, settings.preserve_recent_turns), (Mode::On, 2));
        assert_eq!(settings.attention_budget, Some(Budget { accumulated: 9, ..Budget::default() }));
        assert_eq!(settings.compact_threshold_percent, 80);
    }

    #[test]
    fn a_source_that_nobody_vouches_for_can_only_make_it_quieter() {
        let words = |words: &[&str]| Some(words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
        let home = Settings { mode: Mode::Ask, exclude_tools: vec!["Plan*".into()], ..Settings::default() };
        let louder = Layer {
            mode: Some(Mode::On),
            compact_threshold_percent: Some(1),
            threshold_with_provider_percent: Some(1),
            target_percent: Some(1),
            preserve_recent_turns: Some(0),
            clear_targets: Some(Target::ALL.to_vec()),
            clear_after_phases: words(&["*"]),
            single_search: Some(1),
            accumulated: Some(1),
            session_total: Some(1),
            preserve_artifacts: words(&[]),
            artifacts: [("decision_records".to_owned(), Artifact::default())].into(),
            exclude_tools: words(&[]),
            ledger: Some("Makefile".into()),
            hook: Some("x".into()),
            webhook: Some("http://localhost".into()),
        };
        let mut settings = home.clone();
        settings.lay_quieter(&louder);
        assert_eq!(settings, home, "nothing of it counts");
        settings.lay_quieter(&Layer {
            mode: Some(Mode::Observe),
            compact_threshold_percent: Some(90),
            threshold_with_provider_percent: Some(99),
            target_percent: Some(70),
            preserve_recent_turns: Some(9),
            clear_targets: Some(vec![Target::VerboseDebug]),
            clear_after_phases: words(&["testing"]),
            single_search: Some(9_000),
            accumulated: Some(90_000),
            session_total: Some(900_000),
            preserve_artifacts: words(&["plans"]),
            artifacts: [("plans".to_owned(), Artifact::named("plan"))].into(),
            exclude_tools: words(&["Read"]),
            ..Layer::default()
        });
        assert_eq!((settings.mode, settings.preserve_recent_turns), (Mode::Observe, 9));
        assert_eq!((settings.threshold(false), settings.threshold(true), settings.target_percent), (90, 99, 70));
        assert_eq!(
            (&*settings.clear_targets, &*settings.clear_after_phases),
            (&[Target::VerboseDebug][..], &["testing".to_owned()][..])
        );
        let budget = Budget { single_search: 9_000, accumulated: 90_000, session_total: 900_000 };
        assert_eq!(settings.attention_budget, Some(budget));
        assert!(settings.preserve_artifacts.starts_with(&home.preserve_artifacts));
        assert!(settings.preserve_artifacts.contains(&"plans".to_owned()) && settings.artifacts.contains_key("plans"));
        assert!(settings.excludes("Read") && settings.excludes("planner"));
        settings.lay_quieter(&Layer { clear_after_phases: words(&["coding"]), ..Layer::default() });
        assert!(settings.clear_after_phases.is_empty(), "only what both name");
        let before = settings.clone();
        settings.add_quieter(&Layer { clear_after_phases: words(&["setup"]), ..louder });
        assert_eq!(settings, before, "nor does a skill clear more");
    }

    #[test]
    fn a_skill_adds_and_takes_nothing_away() {
        let mut settings = Settings { clear_after_phases: vec!["testing".into()], ..Settings::default() };
        let before = settings.clone();
        settings.add(&Layer {
            mode: Some(Mode::On),
            clear_after_phases: Some(vec!["coding".into(), "testing".into()]),
            preserve_artifacts: Some(vec!["coverage_data".into()]),
            ..Layer::default()
        });
        assert_eq!(settings.mode, before.mode);
        assert_eq!(settings.clear_after_phases, ["testing", "coding"]);
        assert_eq!(settings.preserve_artifacts.len(), before.preserve_artifacts.len() + 1);
        assert!(settings.clears_after("coding") && !settings.clears_after("setup"));
        let read = Call { tool: "Read", path: Some("/p/out/coverage-data.json"), ..Call::default() };
        assert_eq!(
            settings.preserves(&read),
            Some("coverage_data"),
            "a name without a definition means what is called so"
        );
    }

    #[test]
    fn the_threshold_rises_while_the_provider_edits() {
        let settings = Settings::default();
        assert_eq!((settings.threshold(false), settings.threshold(true)), (80, 95));
        let high = Settings { compact_threshold_percent: 98, target_percent: 97, ..Settings::default() };
        assert_eq!((high.threshold(true), high.target(true)), (98, 93));
    }
}
