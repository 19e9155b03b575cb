//! Edits that a provider makes itself on request: the settings, and the interface of a wire whose provider makes them.

mod settings;
mod trigger;

pub use settings::{
    Agents, ClearThinking, ClearToolUses, Compact, Inputs, Keep, ProviderSettings, Rules, Trigger, Who,
};
pub use trigger::{CLEAR_KEEP, CLEAR_PERCENT, CLEAR_TOKENS, worth_clearing};
pub(crate) use trigger::{COMPACT_PERCENT, COMPACT_TOKENS, LEAST_COMPACT};

use crate::body::Body;
use crate::envelope::Envelope;
use crate::json::Span;
use ctx_core::Lexicon;
use ctx_models::Price;
use std::ops::Range;

/// The edits of a provider. Pure: other modules request, remember and retry.
pub trait ProviderEdits: Sync {
    /// The edits to add to a request beside its client's, of the kinds that its model supports.
    fn addition(
        &self,
        settings: &ProviderSettings,
        request: &EditableRequest<'_>,
        is_supported: &dyn Fn(Kind) -> bool,
    ) -> Addition;

    /// The tools whose results the client's own clearing keeps; `None` if it requests none.
    fn excluded_by_client(&self, body: &Body) -> Option<Vec<String>>;

    /// The added edits that a refusal may concern. None if it clearly concerns something else.
    fn refused(&self, status: u16, answer: &[u8], added: &[Kind]) -> Vec<Kind>;

    /// The capabilities of models in the provider's answer to a client.
    fn capabilities(&self, answer: &[u8]) -> Vec<Capability>;

    /// The provider's summary in a reply, as it spelled it.
    fn summary<'m>(&self, message: &'m [u8]) -> Option<&'m [u8]>;

    /// The message without that summary, as an unaware client sends it back.
    fn without_summary(&self, message: &[u8]) -> Vec<u8>;

    /// Removes the summary from a message in a body. `None` if there is none.
    fn remove_summary(&self, body: &[u8], message: Span) -> Option<Splice>;

    /// Inserts a summary into a message of a body. `None` if it has one, or if it can have none.
    fn insert_summary(&self, body: &[u8], message: Span, block: &[u8]) -> Option<Vec<Splice>>;
}

/// A request that the provider may edit, and facts about its model.
#[derive(Debug, Clone, Copy)]
pub struct EditableRequest<'a> {
    pub body: &'a Body,
    pub envelope: &'a Envelope,
    /// Knows the tools.
    pub lexicon: &'a Lexicon,
    /// It only counts tokens.
    pub counting: bool,
    /// The tokens of the model's window.
    pub window: Option<u64>,
    pub price: Option<Price>,
    /// The lifetime of the cache, in seconds.
    pub lifetime: u64,
}

/// The edits to add to a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Addition {
    pub splices: Vec<Splice>,
    /// The kinds that were added.
    pub kinds: Vec<Kind>,
    /// The tools whose results are not cleared; `None` if no clearing is asked for.
    pub excluded: Option<Vec<String>>,
    /// The provider may summarise.
    pub compacts: bool,
}

/// The provider's statement about one of its models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capability {
    pub model: String,
    /// The tokens of its window.
    pub window: Option<u64>,
    /// Supported and unsupported kinds; kinds that it does not mention are missing.
    pub can: Vec<(Kind, bool)>,
}

/// A kind of edit that a provider makes on request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Thinking,
    ToolUses,
    Compact,
}

impl Kind {
    /// In the order that the provider requires.
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
    pub(crate) fn insert(at: usize, text: String) -> Splice {
        Splice { at: at..at, bytes: text.into_bytes() }
    }

    pub(crate) fn replace(at: Range<usize>, text: String) -> Splice {
        Splice { at, bytes: text.into_bytes() }
    }
}
