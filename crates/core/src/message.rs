//! A message as the domain sees it. A wire format fills it in.

use crate::key::Key;
use crate::tool::ToolRole;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

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

/// The kind of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Text that the human or the model wrote.
    Text,
    /// Text injected by the client: reminders, notices, output of local commands.
    Reminder,
    Thinking,
    ToolUse,
    ToolResult,
    Image,
    Document,
    /// Anything else: carried and counted, never interpreted.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    pub kind: Kind,
    /// Its byte range in the message.
    pub at: Range<u32>,
    /// Characters that the model reads; encrypted fields count as none.
    pub chars: u32,
    /// Tokens on top of the characters: of images, and of thinking without text.
    pub fixed_tokens: u32,
    pub tool: Option<Arc<str>>,
    /// The role of the called tool.
    pub role: ToolRole,
    pub tool_use_id: Option<Arc<str>>,
    /// The signature of a thinking block.
    pub signature: Option<Key>,
    /// A short label: a call's main argument, or the first words of a text. A reminder has none.
    pub label: Option<Box<str>>,
    /// The file that a call reads or changes.
    pub touches: Option<Box<Touch>>,
    /// The key of the words in a text, without the client's reminders; of an image or another block that no id names, the
    /// key of its bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<Key>,
    /// It is the provider's summary of everything before it, which the provider then no longer reads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sums_up: bool,
}

/// The effect of a call on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touch {
    pub file: Key,
    pub how: How,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum How {
    /// The part that was read; `None` for the whole file.
    Read(Option<Key>),
    Change,
}

/// A part of a message that identifies it even after the rest was rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Anchor {
    /// A tool id or a thinking signature: given by the provider, unique.
    Id(Key),
    /// A text too long to occur twice by chance.
    Text(Key),
}

impl Anchor {
    /// The anchor of a tool call.
    pub fn of_call(id: &str) -> Anchor {
        Anchor::Id(Key::of([b"call".as_slice(), id.as_bytes()]))
    }

    /// The anchor of a result.
    pub fn of_result(call: &str) -> Anchor {
        Anchor::Id(Key::of([b"result".as_slice(), call.as_bytes()]))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    /// Equal for two spellings of the same message.
    pub key: Key,
    pub anchors: Vec<Anchor>,
    pub blocks: Vec<Block>,
    /// The first block in which a human speaks; `None` if only tools and the client do.
    pub speaks: Option<u32>,
    /// The human's or the model's words, cut to a line.
    pub title: Option<Box<str>>,
}

impl Message {
    /// Whether a block is a note from the client to the model: project instructions, environment, reminders. Output of
    /// local commands and notices of interrupts are events, not notes.
    pub fn is_client_note(&self, block: usize) -> bool {
        let found = self.blocks.get(block).filter(|block| block.kind == Kind::Reminder);
        found.is_some_and(|block| self.role == Role::System || block.label.is_none())
    }

    /// Whether a block is a setting: a provider's compaction, which stands for earlier content, or tools declared in
    /// mid-conversation. Everything behind it depends on it.
    pub fn is_setting(&self, block: usize) -> bool {
        let is_so = |block: &Block| block.sums_up || self.role == Role::System && block.kind == Kind::Other;
        self.blocks.get(block).is_some_and(is_so)
    }

    /// Whether a block stays when content around it is edited, unless it is named itself.
    pub fn stays(&self, block: usize) -> bool {
        self.is_client_note(block) || self.is_setting(block)
    }

    /// The number of places it takes in the look-back of a cache breakpoint: adjacent calls count as one, and so do
    /// adjacent results.
    pub fn cache_places(&self) -> usize {
        let is_run = |pair: &[Block]| {
            pair.iter().all(|block| block.kind == Kind::ToolUse)
                || pair.iter().all(|block| block.kind == Kind::ToolResult)
        };
        self.blocks.len() - self.blocks.windows(2).filter(|pair| is_run(pair)).count()
    }

    /// Whether it contains tool results.
    pub fn has_results(&self) -> bool {
        self.blocks.iter().any(|block| block.kind == Kind::ToolResult)
    }
}
