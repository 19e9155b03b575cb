//! Explanations of the provider's rules and of error codes.

use crate::codes::Explanation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TermKind {
    /// A provider rule, named by a repair or a refusal.
    Rule,
    /// An error code of the control API, the proxy, the MCP server or the command line.
    Code,
}

/// A rule or an error code, explained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Term {
    /// A number such as `A30`, or a code such as `unknown-id`.
    pub name: String,
    pub kind: TermKind,
    pub meaning: String,
    /// The reason for the provider's rule and the consequence of breaking it; codes have none.
    #[serde(default)]
    pub why: Option<String>,
    /// Advice.
    pub advice: String,
}

/// All rules and error codes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Terms {
    pub terms: Vec<Term>,
}

impl Term {
    /// An explained error code.
    pub fn code(code: &Explanation) -> Term {
        let (meaning, advice) = (code.meaning.to_owned(), code.advice.to_owned());
        Term { name: code.code.to_string(), kind: TermKind::Code, meaning, why: None, advice }
    }
}
