//! Session files: conversations as a client keeps them on disk, in the form that its requests have.

use ctx_core::content::WireId;
use serde_json::value::RawValue;
use std::path::Path;

/// How the session files of a client are known and read.
#[derive(Debug, Clone, Copy)]
pub struct SessionFiles {
    pub recognises: fn(&Path, &[u8]) -> bool,
    /// Reads a file of this name.
    pub read: fn(&str, &[u8]) -> SessionFile,
    /// Whether a file lies beside session files and holds no conversation.
    pub passes_over: fn(&Path) -> bool,
}

/// The contents of a session file.
#[derive(Debug)]
pub struct SessionFile {
    pub conversations: Vec<SessionConversation>,
    /// Lines, counted from 1, and why they were not used; no number where it is about the whole file.
    pub skipped: Vec<(Option<usize>, String)>,
}

/// One conversation, as it stood at its last request.
#[derive(Debug)]
pub struct SessionConversation {
    pub name: String,
    /// The format of its messages.
    pub wire: WireId,
    /// The model of its last answer.
    pub model: String,
    /// The request without its messages, as an object; system and tools where the file holds them.
    pub head: Box<RawValue>,
    pub messages: Vec<Box<RawValue>>,
    pub turns: Vec<SessionTurn>,
}

/// One request and its answer.
#[derive(Debug, Clone)]
pub struct SessionTurn {
    /// The first message that the model answered with. The request held the messages before it.
    pub answer: usize,
    /// When it was asked, as the file writes it.
    pub at: Option<Box<str>>,
    pub usage: Option<SessionUsage>,
    pub model: Option<Box<str>>,
}

/// The tokens that the provider reported for a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionUsage {
    pub input: u64,
    pub cache_read: u64,
    pub cache_written: u64,
    /// The share of it that was written for an hour, where the file says so.
    pub cache_written_1h: Option<u64>,
    pub output: u64,
}
