//! Offloaded content that is kept in the store.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OffloadedQuery {
    /// Only these lines: `10-50`, `10-` or `10`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<String>,
    /// Only lines with this text, in any case, each after its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grep: Option<String>,
    /// Start at this character of the selected text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OffloadedView {
    pub conversation: String,
    /// Its handle.
    pub id: String,
    /// Lines of the whole content.
    pub lines: usize,
    /// Characters of the selected text.
    pub characters: usize,
    /// The selected text, at most 40,000 characters.
    pub text: String,
    /// Where the rest begins.
    pub next_from: Option<usize>,
}
