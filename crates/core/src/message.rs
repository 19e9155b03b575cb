//! What the model of a conversation needs to know of one message. A wire format fills it in.

use crate::key::Key;
use crate::tool::ToolRole;
use serde::{Deserialize, Serialize};
use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
    /// A system message inside the conversation, not the system prompt.
    System,
    Other,
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::System => "system",
            Role::Other => "other",
        }
    }
}

/// What a block is, as far as people care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Text that the human or the model wrote.
    Text,
    /// Text that the client put in by itself: reminders, notices, output of local commands.
    Reminder,
    Thinking,
    ToolUse,
    ToolResult,
    Image,
    Document,
    /// Anything else; carried, counted, never interpreted.
    Other,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Reminder => "reminder",
            Kind::Thinking => "thinking",
            Kind::ToolUse => "tool_use",
            Kind::ToolResult => "tool_result",
            Kind::Image => "image",
            Kind::Document => "document",
            Kind::Other => "other",
        }
    }
}

/// One content block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    pub kind: Kind,
    /// Where it stands in the bytes of its message.
    pub at: Range<u32>,
    /// Characters the model reads; encrypted fields weigh nothing.
    pub chars: u32,
    /// Tokens on top of the characters (images).
    pub fixed_tokens: u32,
    pub tool: Option<Box<str>>,
    /// The part that the tool of a call plays.
    pub role: ToolRole,
    pub tool_use_id: Option<Box<str>>,
    /// What a thinking block is bound by.
    pub signature: Option<Key>,
    /// A few words on what it does: a call's main argument, or the first words of a text. A reminder has none.
    pub label: Option<Box<str>>,
    /// The file that a call reads or changes.
    pub touches: Option<Box<Touch>>,
}

/// A call that is about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touch {
    pub file: Key,
    pub how: How,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// The part of it, if it is not the whole.
    Read(Option<Key>),
    Change,
}

/// Something in a message by which it is recognised even when the rest was re-written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Anchor {
    /// A tool id or a thinking signature: given by the provider, unique.
    Id(Key),
    /// A text too long to be said twice by chance.
    Text(Key),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub role: Role,
    /// Equal for two spellings of the same message: see `design`, "key".
    pub key: Key,
    pub anchors: Vec<Anchor>,
    pub blocks: Vec<Block>,
    /// The block from which on a human speaks; `None` when only tools and the client do.
    pub speaks: Option<u32>,
    /// The human's words, or the model's, cut to a line.
    pub title: Option<Box<str>>,
}

impl Message {
    /// Whether a block is a note that the client keeps for the model: project instructions, environment, reminders.
    /// The output of local commands and notices of interrupts are not: they belong to what happened.
    pub fn is_client_note(&self, block: usize) -> bool {
        let found = self.blocks.get(block).filter(|block| block.kind == Kind::Reminder);
        found.is_some_and(|block| self.role == Role::System || block.label.is_none())
    }

    /// The number of places that it takes when a cache breakpoint looks back: calls beside each other count as one, and
    /// so do results.
    pub fn cache_places(&self) -> usize {
        let is_run = |pair: &[Block]| {
            pair.iter().all(|block| block.kind == Kind::ToolUse)
                || pair.iter().all(|block| block.kind == Kind::ToolResult)
        };
        self.blocks.len() - self.blocks.windows(2).filter(|pair| is_run(pair)).count()
    }

    /// The tool results that a user message opens with.
    pub fn has_results(&self) -> bool {
        self.blocks.iter().any(|block| block.kind == Kind::ToolResult)
    }
}
