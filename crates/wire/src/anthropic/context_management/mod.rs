//! The provider's own context editing (rulebook part C): what somebody wants of it, the edits that this makes for one
//! request, and how they come into its body beside those of the client. Pure: who asks, remembers and retries is
//! elsewhere.

mod wish;

pub use wish::{Agents, ClearThinking, ClearToolUses, Compact, Inputs, Keep, Rules, Trigger, Who, Wish};

/// One kind of edit that the provider makes when it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Thinking,
    ToolUses,
    Compact,
}

impl Kind {
    /// In the order in which the provider wants them (C6, C9).
    pub const ALL: [Kind; 3] = [Kind::Thinking, Kind::ToolUses, Kind::Compact];

    /// Its `type`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Thinking => "clear_thinking_20251015",
            Kind::ToolUses => "clear_tool_uses_20250919",
            Kind::Compact => "compact_20260112",
        }
    }

    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The beta without which it is refused (C1).
    pub fn beta(self) -> &'static str {
        match self {
            Kind::Thinking | Kind::ToolUses => "context-management-2025-06-27",
            Kind::Compact => "compact-2026-01-12",
        }
    }
}
