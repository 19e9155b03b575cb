//! The diet: the tools that the model need not read from the start, because the agent has not called them lately. They
//! are deferred: the provider's tool search still finds them. The lists that the client injects for such tools are
//! shortened.

mod lists;

pub use lists::shortened;

use super::settings::Mode;
use crate::pattern;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The permissions of the diet. The mode of the automatic editor limits them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum DietMode {
    Off,
    /// Records the edits it would have made, and their savings.
    Observe,
    #[default]
    On,
}

/// The settings of the diet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diet {
    pub mode: DietMode,
    /// Earlier conversations that must have offered a tool without a call of it.
    pub after_conversations: u32,
    /// Shorten the lists that the client injects for deferred tools.
    pub shorten_lists: bool,
    /// Patterns of tools that always stay.
    pub keep_tools: Vec<String>,
    /// Patterns of tools that are left out if they were not called: the model cannot find them any more.
    pub leave_out: Vec<String>,
}

impl Default for Diet {
    fn default() -> Diet {
        Diet {
            mode: DietMode::On,
            after_conversations: 10,
            shorten_lists: true,
            keep_tools: Vec::new(),
            leave_out: Vec::new(),
        }
    }
}

impl Diet {
    /// The mode under that of the editor. An editor that asks leaves the tools alone.
    pub fn under(&self, mode: Mode) -> DietMode {
        match mode {
            Mode::Off => DietMode::Off,
            Mode::Observe | Mode::Ask => self.mode.min(DietMode::Observe),
            Mode::On => self.mode,
        }
    }

    fn keeps(&self, tool: &str) -> bool {
        self.keep_tools.iter().any(|pattern| pattern::matches(pattern, tool))
    }

    fn leaves_out(&self, tool: &str) -> bool {
        self.leave_out.iter().any(|pattern| pattern::matches(pattern, tool))
    }
}

/// The conversations that offered a tool, and those that called it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ToolFigure {
    pub offered: u32,
    pub called: u32,
}

/// The figures of each tool, by name.
pub type ToolFigures = HashMap<String, ToolFigure>;

/// A tool of a request that the diet may touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OfferedTool<'t> {
    pub name: &'t str,
    pub tokens: u64,
    /// The provider's tool search can load it.
    pub deferrable: bool,
}

/// The way in which a tool leaves the prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Portion {
    Deferred,
    LeftOut,
}

/// A tool that leaves the prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SparedTool<'t> {
    pub name: &'t str,
    pub portion: Portion,
    pub reason: String,
}

/// Smaller savings, in tokens, are not worth a search for tools.
const LEAST: u64 = 1_000;

/// The tools that leave the prefix.
pub fn spared<'t>(diet: &Diet, tools: &[OfferedTool<'t>], figures: &ToolFigures) -> Vec<SparedTool<'t>> {
    let mut spared = Vec::new();
    let mut deferred = 0;
    for tool in tools.iter().filter(|tool| !diet.keeps(tool.name)) {
        let figure = figures.get(tool.name).copied().unwrap_or_default();
        if figure.called > 0 || figure.offered < diet.after_conversations {
            continue;
        }
        let portion = match (diet.leaves_out(tool.name), tool.deferrable) {
            (true, _) => Portion::LeftOut,
            (false, true) => Portion::Deferred,
            (false, false) => continue,
        };
        deferred += if portion == Portion::Deferred { tool.tokens } else { 0 };
        let reason = format!("not called in {} conversations", figure.offered);
        spared.push(SparedTool { name: tool.name, portion, reason });
    }
    if deferred < LEAST {
        spared.retain(|tool| tool.portion == Portion::LeftOut);
    }
    spared
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, deferrable: bool) -> OfferedTool<'_> {
        OfferedTool { name, tokens: 600, deferrable }
    }

    fn figures() -> ToolFigures {
        let figure = |name: &str, offered, called| (name.to_owned(), ToolFigure { offered, called });
        [figure("Agent", 12, 0), figure("Skill", 10, 0), figure("Bash", 12, 9), figure("New", 9, 0)].into()
    }

    fn names(diet: &Diet, tools: &[OfferedTool<'_>]) -> Vec<(String, Portion)> {
        spared(diet, tools, &figures()).into_iter().map(|tool| (tool.name.to_owned(), tool.portion)).collect()
    }

    #[test]
    fn tools_that_many_conversations_did_not_call_are_deferred() {
        let tools = [tool("Agent", true), tool("Bash", true), tool("New", true), tool("Skill", true), tool("X", true)];
        let spared = spared(&Diet::default(), &tools, &figures());
        let told: Vec<_> = spared.iter().map(|tool| (tool.name, tool.reason.as_str())).collect();
        assert_eq!(told, [("Agent", "not called in 12 conversations"), ("Skill", "not called in 10 conversations")]);
        assert!(spared.iter().all(|tool| tool.portion == Portion::Deferred));
    }

    #[test]
    fn without_a_search_only_tools_that_a_person_names_are_left_out() {
        let tools = [tool("Agent", false), tool("Bash", false), tool("Skill", false)];
        assert_eq!(names(&Diet::default(), &tools), []);
        let diet = Diet { leave_out: vec!["Sk*".into(), "Bash".into()], ..Diet::default() };
        assert_eq!(names(&diet, &tools), [("Skill".to_owned(), Portion::LeftOut)], "a called tool stays");
    }

    #[test]
    fn kept_tools_and_small_savings_stay() {
        let tools = [tool("Agent", true), tool("Skill", true)];
        let diet = Diet { keep_tools: vec!["Skill".into()], ..Diet::default() };
        assert_eq!(names(&diet, &tools), [], "600 tokens are not worth it");
        assert_eq!(names(&Diet::default(), &tools).len(), 2);
    }

    #[test]
    fn the_editors_mode_limits_the_diets() {
        let diet = Diet::default();
        assert_eq!(
            [Mode::Off, Mode::Observe, Mode::Ask, Mode::On].map(|mode| diet.under(mode)),
            [DietMode::Off, DietMode::Observe, DietMode::Observe, DietMode::On]
        );
        let off = Diet { mode: DietMode::Off, ..Diet::default() };
        assert_eq!((off.under(Mode::On), off.under(Mode::Observe)), (DietMode::Off, DietMode::Off));
    }
}
