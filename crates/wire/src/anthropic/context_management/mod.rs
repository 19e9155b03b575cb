//! The provider's own context editing (rulebook part C): the settings, the edits for one request, and their place in
//! its body beside the client's. Pure: other modules request, remember and retry.

mod answers;
mod edits;
mod merge;
mod summary;
mod wish;

pub use answers::{Capability, capabilities, refused};
pub use edits::{Edit, Facts, edits, thinks, worth_it, would_act};
pub use merge::{excluded, excluded_by_client, merge};
pub use summary::{insert_summary, remove_summary, summary, without_summary};
pub use wish::{Agents, ClearThinking, ClearToolUses, Compact, Inputs, Keep, Rules, Trigger, Who, Wish};

use crate::json;
use std::ops::Range;

/// A kind of edit that the provider makes on request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Thinking,
    ToolUses,
    Compact,
}

impl Kind {
    /// In the order that the provider requires (C6, C9).
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

    /// The beta that it requires (C1).
    pub fn beta(self) -> &'static str {
        match self {
            Kind::Thinking | Kind::ToolUses => "context-management-2025-06-27",
            Kind::Compact => "compact-2026-01-12",
        }
    }
}

/// A replacement of the client's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    pub at: Range<usize>,
    pub bytes: Vec<u8>,
}

impl Splice {
    fn insert(at: usize, text: String) -> Splice {
        Splice { at: at..at, bytes: text.into_bytes() }
    }

    fn replace(at: Range<usize>, text: String) -> Splice {
        Splice { at, bytes: text.into_bytes() }
    }
}

fn member(bytes: &[u8], object: usize, name: &str) -> Option<json::Span> {
    let mut members = json::members(bytes, object)?.flatten();
    members
        .find(|member| bytes.get(member.key.clone()).is_some_and(|key| json::key_is(key, name)))
        .map(|found| found.value)
}
