//! Eligibility: the results that the settings allow to clear, the protected ones, and the target of each.

use super::candidates::{Item, Look};
use super::cut::{CutKind, CutText};
use super::protect::Call;
use super::searches::is_search;
use super::settings::Settings;
use super::stub::BARE;
use super::target::Target;
use crate::tool::ToolRole;
use std::sync::Arc;

/// Facts about a call that its result does not contain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fact<'f> {
    /// The file that the call is about.
    pub path: Option<&'f str>,
    /// The command that it runs, or the pattern that it searches for.
    pub command: Option<&'f str>,
    /// Its tool loop has ended in an answer.
    pub is_done: bool,
    /// The ended phases that it belongs to.
    pub phases: &'f [&'f str],
}

/// Looks up the facts of a call by its id.
pub type Facts<'f> = &'f dyn Fn(&str) -> Fact<'f>;

/// Answers after which a result is stale.
const STALE: usize = 10;
/// Tokens from which the output of a command is long.
const VERBOSE: u64 = 1_000;
/// The most tokens of a text that only refers to another result.
const REFERENCE: u64 = 250;
/// Results of fewer tokens always stay.
pub(super) const LEAST: u64 = 100;

/// The settings applied to one conversation.
pub(super) struct Eligibility<'e, 'f> {
    pub settings: &'e Settings,
    /// The conversation, with protected results pinned and released ones marked.
    pub look: Look<'e>,
    facts: Facts<'f>,
    /// A preserved artifact is recognised by the text of a result.
    reads_texts: bool,
}

impl<'e, 'f> Eligibility<'e, 'f> {
    pub fn of(settings: &'e Settings, look: &Look<'e>, facts: Facts<'f>) -> Self {
        let by_text = |name: &String| settings.artifacts.get(name).is_some_and(|artifact| !artifact.texts.is_empty());
        let reads_texts = settings.preserve_artifacts.iter().any(by_text);
        let mut eligible = Eligibility { settings, look: look.clone(), facts, reads_texts };
        eligible.look.trims = settings.trims;
        let mut items = std::mem::take(&mut eligible.look.items);
        eligible.pin(&mut items);
        eligible.release(&mut items);
        eligible.look.items = items;
        eligible.pin_referred();
        eligible
    }

    /// Pins the results that recent or protected ones refer to: the agent has just asked for their lines.
    fn pin_referred(&mut self) {
        let look = &self.look;
        let is_short = |item: &&Item| item.pinned && !item.fresh && item.file.is_some() && item.tokens <= REFERENCE;
        let referred = look.items.iter().filter(is_short).filter_map(|item| {
            let lines = CutText::repeated_lines(&look.text(&item.call)?)?;
            let has_them = |text: &str| CutText::repeated_lines(text).is_none() && text.lines().count() == lines;
            look.view_before(item, has_them).map(|view| view.call.clone())
        });
        let referred: Vec<Arc<str>> = referred.collect();
        self.look.pin(&referred);
    }

    /// Pins recent results, and results that the settings protect by tool, path or command; tells which may be cut.
    fn pin(&self, items: &mut [Item]) {
        // A pattern is matched only where something could still go.
        let may_go =
            |item: &Item| !item.cleared || item.tokens > 2 * BARE || item.input.is_some_and(|input| input.is_worth(1));
        for item in items.iter_mut().filter(|item| !item.pinned && may_go(item)) {
            // A result that was never sent is only trimmed, so recency does not protect it.
            let is_recent = self.is_recent(item) && !item.fresh;
            item.pinned = is_recent || self.settings.excludes(&item.tool) || self.is_preserved(item, None);
            if item.fresh {
                let kind = CutKind::of(item.role, (self.facts)(&item.call).command);
                item.cut = kind.and_then(|kind| Some((kind, self.settings.cuts.of(kind)?)));
            }
        }
    }

    /// Releases results of ended phases, and of searches beyond their budget, so that [`super::Auto`] does not wait for
    /// their age.
    fn release(&self, items: &mut [Item]) {
        let (mut searched, mut older) = (0, 0);
        for item in items.iter_mut().rev().filter(|item| !item.cleared) {
            let budget = self.settings.attention_budget.filter(|_| self.is_search(item));
            searched += budget.map_or(0, |_| item.tokens);
            if self.is_recent(item) {
                continue;
            }
            older += budget.map_or(0, |_| item.tokens);
            let is_over = budget.is_some_and(|budget| {
                item.tokens > budget.single_search || older > budget.accumulated || searched > budget.session_total
            });
            item.released = is_over || self.is_of_ended_phase(item);
        }
    }

    fn is_recent(&self, item: &Item) -> bool {
        self.look.steps.saturating_sub(item.step) <= self.settings.preserve_recent_turns
    }

    fn is_preserved(&self, item: &Item, text: Option<&str>) -> bool {
        let fact = (self.facts)(&item.call);
        let call = Call { tool: &item.tool, path: fact.path, command: fact.command, text };
        self.settings.preserves(&call).is_some()
    }

    pub fn is_search(&self, item: &Item) -> bool {
        // Other tools are recognised by their role alone.
        let command = if item.role == ToolRole::Shell { (self.facts)(&item.call).command } else { None };
        is_search(item.role, command)
    }

    /// Whether a result is protected by its text. Separate from [`Self::pin`], because it reads the text.
    pub fn is_held(&self, item: &Item) -> bool {
        self.reads_texts && {
            let words = self.look.words(&item.call);
            self.is_preserved(item, words.as_ref().map(|words| words.text.as_str()))
        }
    }

    /// The same by the id of its call.
    pub fn holds(&self, call: &str) -> bool {
        self.reads_texts
            && self.look.items.iter().find(|item| &*item.call == call).is_some_and(|item| self.is_held(item))
    }

    /// Whether a result is a clearable detail of an ended phase.
    pub fn is_of_ended_phase(&self, item: &Item) -> bool {
        let phases = Target::CompletedPhaseDetails;
        self.settings.clear_targets.contains(&phases) && self.is(phases, item)
    }

    /// The first target that a result belongs to.
    fn target(&self, item: &Item) -> Option<Target> {
        self.settings.clear_targets.iter().copied().find(|target| self.is(*target, item))
    }

    fn is(&self, target: Target, item: &Item) -> bool {
        let fact = || (self.facts)(&item.call);
        match target {
            Target::StaleToolResults => self.look.steps.saturating_sub(item.step) >= STALE,
            Target::CompletedPhaseDetails => fact().phases.iter().any(|phase| self.settings.clears_after(phase)),
            Target::SupersededFileReads => item.superseded,
            Target::IntermediateOutputs => fact().is_done,
            Target::VerboseDebug => item.tokens >= VERBOSE && fact().command.is_some(),
        }
    }

    /// Clearable results, in clearing order. Includes those that [`Self::is_held`].
    pub fn results(&self) -> Vec<(Target, &Item)> {
        let is_worth = |item: &&Item| !item.fresh && item.tokens >= if is_dense(item) { 2 * BARE } else { LEAST };
        let with_target = |item| Some((self.target(item)?, item));
        let mut all: Vec<(Target, &Item)> = self.look.whole().filter(is_worth).filter_map(with_target).collect();
        all.sort_by_key(|(target, _)| self.settings.clear_targets.iter().position(|one| one == target));
        all
    }

    /// Long clearable tool inputs, the target of their results, and the tokens that each saves; oldest first.
    pub fn inputs(&self) -> Vec<(Target, &Item, u64)> {
        let with_target = |item: &'_ Item| {
            let input = item.input.filter(|input| input.is_worth(LEAST))?;
            Some((self.target(item)?, input.tokens.saturating_sub(input.left)))
        };
        let items = self.look.items.iter().filter(|item| !item.pinned && !item.fresh);
        let long = items.filter_map(|item| with_target(item).map(|(target, saved)| (target, item, saved)));
        long.filter(|(_, item, _)| !self.is_held(item)).collect()
    }
}

/// Whether a result consists mostly of names, so that a stub would not be shorter.
pub(super) fn is_dense(item: &Item) -> bool {
    item.tokens < item.left * 3 / 2
}

/// Tokens that clearing a result saves.
pub(super) fn saved(item: &Item) -> u64 {
    item.tokens.saturating_sub(if is_dense(item) { BARE } else { item.left })
}

#[cfg(test)]
mod tests {
    use super::super::{Budget, Texts};
    use super::*;

    fn item(step: usize, role: ToolRole, tokens: u64) -> Item {
        Item { call: format!("c{step}").into(), tool: "tool".into(), role, tokens, step, left: 50, ..Item::default() }
    }

    #[test]
    fn the_settings_pin_recent_and_preserved_results_and_release_others() {
        let mut items: Vec<Item> = (0..9).map(|step| item(step, ToolRole::Shell, 1_000)).collect();
        items[3].role = ToolRole::Search;
        items[4].role = ToolRole::Search;
        items[8].fresh = true;
        let look = Look { items, steps: 9, ..Look::default() };
        let settings = Settings {
            preserve_recent_turns: 3,
            attention_budget: Some(Budget { accumulated: 1_500, ..Budget::default() }),
            ..Settings::default()
        };
        let facts = |call: &str| match call {
            "c0" => Fact { path: Some("/p/NOTES.md"), ..Fact::default() },
            "c1" | "c7" => Fact { phases: &["setup"], ..Fact::default() },
            _ => Fact::default(),
        };
        let eligible = Eligibility::of(&settings, &look, &facts);
        let steps = |is: &dyn Fn(&Item) -> bool| -> Vec<usize> {
            eligible.look.items.iter().filter(|item| is(item)).map(|item| item.step).collect()
        };
        assert_eq!(steps(&|item| item.pinned), [0, 6, 7], "the notes and the recent ones, but not the fresh one");
        assert_eq!(steps(&|item| item.released), [1, 3], "the ended phase, and the older search");
        assert_eq!(eligible.look.age(&eligible.look.items[3]), 9, "a released result counts as old");
        assert_eq!(look.age(&look.items[3]), 6);
    }

    #[test]
    fn texts_are_read_only_if_an_artifact_asks_for_them() {
        let text = |_: &str| Some("Gate: pass".to_owned().into());
        let items = vec![item(0, ToolRole::Shell, 1_000)];
        let look = Look { items, steps: 20, texts: Texts(Some(&text)), ..Look::default() };
        let facts = |_: &str| Fact::default();
        let holds = |names: &[&str]| {
            let preserve_artifacts = names.iter().map(|&name| name.to_owned()).collect();
            let settings = Settings { preserve_artifacts, ..Settings::default() };
            Eligibility::of(&settings, &look, &facts).holds("c0")
        };
        assert!(holds(&["quality_gate_results"]));
        assert!(!holds(&["active_beads"]) && !holds(&[]));
    }
}
