//! What somebody asks for. This JSON is the same in the terminal, the API, MCP and the log.

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
    /// Only what is larger than so many tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub larger_than: Option<u64>,
    /// Only what lies more than so many frames back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub older_than: Option<usize>,
    /// Only what was read from a file that is read again, or changed, later.
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

/// Where something should go; exactly one of the three.
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
        /// Also what is protected.
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
        /// What a block becomes, on whichever wire it is sent. The automatic editor writes it, instead of the other two.
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
        /// Without one it is found out before the commit is made, and stands here from then on.
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
        /// The title is not somebody's: without one it is found out before the commit is made.
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

/// As many characters of a text as a list shows.
const SHORT: usize = 200;

/// Fields by their names only: a list would be taken as the fields in their order.
fn object<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<T, D::Error> {
    let fields = serde_json::Map::deserialize(deserializer)?;
    T::deserialize(serde_json::Value::Object(fields)).map_err(D::Error::custom)
}

fn user() -> Role {
    Role::User
}

impl Operation {
    /// What it is asked to change, as it was written.
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

    /// Whether words are missing that somebody has to find before it can be done.
    pub fn is_open(&self) -> bool {
        match self {
            Operation::Compact { text, .. } | Operation::SummarizeResults { text, .. } => text.is_none(),
            Operation::Retitle { title, auto, .. } => *auto && title.is_none(),
            _ => false,
        }
    }

    /// The same with the words that were missing.
    pub fn filled(mut self, words: String) -> Operation {
        match &mut self {
            Operation::Compact { text, .. } | Operation::SummarizeResults { text, .. } => *text = Some(words),
            Operation::Retitle { title, .. } => *title = Some(words),
            _ => {}
        }
        self
    }

    /// Leaves of its words what a list shows.
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
