//! Operations. Terminal, API, MCP and log use the same JSON.

use crate::content::Content;
use crate::message::Role;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};

/// Narrows what the ids name; without ids, all of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Select {
    /// Only calls and results of this tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Only content larger than this many tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub larger_than: Option<u64>,
    /// Only content more than this many frames back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub older_than: Option<usize>,
    /// Only reads of a file that is read again, or changed, later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub superseded: bool,
    /// Only these calls and their results, by the ids of the calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
}

impl Select {
    pub fn is_empty(&self) -> bool {
        *self == Select::default()
    }
}

/// The destination; exactly one of the three.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Where {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub start: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub end: bool,
}

impl Where {
    fn is_nowhere(&self) -> bool {
        *self == Where::default()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "op", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Operation {
    Delete {
        #[serde(default)]
        ids: Vec<String>,
        #[serde(default, skip_serializing_if = "Select::is_empty", deserialize_with = "object")]
        select: Select,
        /// Also protected content.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force: bool,
    },
    /// Exactly one of `text` and `raw`.
    Edit {
        id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// A message, or a list of them; for a block a block, for a tool its definition.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw: Option<serde_json::Value>,
        /// The replacement of a block, independent of the wire. Used by the automatic editor instead of the other two.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(skip))]
        content: Option<Vec<Content>>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force: bool,
    },
    Compact {
        #[serde(default)]
        ids: Vec<String>,
        #[serde(default, skip_serializing_if = "Select::is_empty", deserialize_with = "object")]
        select: Select,
        /// Without a text, one is written before the commit, and stored here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    Offload {
        #[serde(default)]
        ids: Vec<String>,
        #[serde(default, skip_serializing_if = "Select::is_empty", deserialize_with = "object")]
        select: Select,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
    },
    Restore {
        ids: Vec<String>,
    },
    Move {
        ids: Vec<String>,
        #[serde(deserialize_with = "object")]
        to: Where,
    },
    Add {
        text: String,
        #[serde(default = "user")]
        role: Role,
        #[serde(deserialize_with = "object")]
        to: Where,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    Combine {
        ids: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<String>,
    },
    /// Exactly one of `at`, `at_step` and `each_step`.
    Split {
        id: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        at: Vec<usize>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        at_step: Vec<usize>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        each_step: bool,
    },
    DropResults {
        #[serde(default)]
        ids: Vec<String>,
        #[serde(default, skip_serializing_if = "Select::is_empty", deserialize_with = "object")]
        select: Select,
        /// Only the result of this call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<String>,
    },
    SummarizeResults {
        #[serde(default)]
        ids: Vec<String>,
        #[serde(default, skip_serializing_if = "Select::is_empty", deserialize_with = "object")]
        select: Select,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<String>,
        /// As for `compact`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    Retitle {
        id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// Generates the title, unless one is given, before the commit.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        auto: bool,
    },
    Pin {
        ids: Vec<String>,
    },
    Unpin {
        ids: Vec<String>,
    },
    /// With `edits`, neither `ids` nor `to`.
    Import {
        from: String,
        #[serde(default)]
        ids: Vec<String>,
        #[serde(default, skip_serializing_if = "Where::is_nowhere", deserialize_with = "object")]
        to: Where,
        /// Instead of frames, the edits of a conversation with the same history.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        edits: bool,
    },
}

/// Characters of a text that a list shows.
const SHORT: usize = 200;

/// Accepts fields by name only; serde would also accept a list of values in order.
fn object<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<T, D::Error> {
    let fields = serde_json::Map::deserialize(deserializer)?;
    T::deserialize(serde_json::Value::Object(fields)).map_err(D::Error::custom)
}

fn user() -> Role {
    Role::User
}

impl Operation {
    /// The ids as written.
    pub fn ids(&self) -> &[String] {
        match self {
            Operation::Delete { ids, .. }
            | Operation::Compact { ids, .. }
            | Operation::Offload { ids, .. }
            | Operation::Restore { ids }
            | Operation::Move { ids, .. }
            | Operation::Combine { ids, .. }
            | Operation::DropResults { ids, .. }
            | Operation::SummarizeResults { ids, .. }
            | Operation::Pin { ids }
            | Operation::Unpin { ids }
            | Operation::Import { ids, .. } => ids,
            Operation::Edit { id, .. } | Operation::Split { id, .. } | Operation::Retitle { id, .. } => {
                std::slice::from_ref(id)
            }
            Operation::Add { .. } => &[],
        }
    }

    /// Whether a text is missing that must be written first.
    pub fn is_open(&self) -> bool {
        match self {
            Operation::Compact { text, .. } | Operation::SummarizeResults { text, .. } => text.is_none(),
            Operation::Retitle { title, auto, .. } => *auto && title.is_none(),
            _ => false,
        }
    }

    /// The operation with the missing text.
    pub fn filled(mut self, words: String) -> Operation {
        match &mut self {
            Operation::Compact { text, .. } | Operation::SummarizeResults { text, .. } => *text = Some(words),
            Operation::Retitle { title, .. } => *title = Some(words),
            _ => {}
        }
        self
    }

    /// Shortens its texts for a list.
    pub fn shorten(&mut self) {
        let words = match self {
            Operation::Edit { text, raw, content, .. } => {
                (*raw, *content) = (None, None);
                [text.as_mut(), None]
            }
            Operation::Compact { text, .. } | Operation::SummarizeResults { text, .. } => [text.as_mut(), None],
            Operation::Offload { summary, .. } => [summary.as_mut(), None],
            Operation::Retitle { title, summary, .. } => [title.as_mut(), summary.as_mut()],
            Operation::Add { text, title, .. } => [Some(text), title.as_mut()],
            _ => [None, None],
        };
        for words in words.into_iter().flatten() {
            if let Some((end, _)) = words.char_indices().nth(SHORT) {
                words.truncate(end);
                words.push('…');
            }
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Operation::Delete { .. } => "delete",
            Operation::Edit { .. } => "edit",
            Operation::Compact { .. } => "compact",
            Operation::Offload { .. } => "offload",
            Operation::Restore { .. } => "restore",
            Operation::Move { .. } => "move",
            Operation::Add { .. } => "add",
            Operation::Combine { .. } => "combine",
            Operation::Split { .. } => "split",
            Operation::DropResults { .. } => "drop-results",
            Operation::SummarizeResults { .. } => "summarize-results",
            Operation::Retitle { .. } => "retitle",
            Operation::Pin { .. } => "pin",
            Operation::Unpin { .. } => "unpin",
            Operation::Import { .. } => "import",
        }
    }
}

#[cfg(test)]
mod tests;
