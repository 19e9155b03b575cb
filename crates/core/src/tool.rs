//! The role of a tool, independent of the client's name for it. Policies use roles; the names are in `ctx-clients`.

use serde::{Deserialize, Serialize};

/// The purpose of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolRole {
    /// Shows a file.
    Read,
    /// Writes a whole file.
    Write,
    /// Changes a part of a file.
    Edit,
    /// Searches contents, here or on the web.
    Search,
    /// Lists files whose names match a pattern.
    Find,
    /// Fetches a page.
    Fetch,
    /// Runs a command.
    Shell,
    /// Keeps the list of tasks.
    Todo,
    /// Starts a sub-agent.
    Agent,
    /// Asks the human.
    Ask,
    /// Loads a skill.
    Skill,
    /// Any other tool.
    #[default]
    Other,
}

impl ToolRole {
    /// Whether its results are short, or steer the agent.
    pub fn is_steering(self) -> bool {
        matches!(self, ToolRole::Find | ToolRole::Agent | ToolRole::Todo | ToolRole::Ask)
    }

    /// Whether it changes a file.
    pub fn changes(self) -> bool {
        matches!(self, ToolRole::Write | ToolRole::Edit)
    }

    /// Whether its results are search results.
    pub fn searches(self) -> bool {
        matches!(self, ToolRole::Search | ToolRole::Find | ToolRole::Fetch)
    }
}
