//! Session files: a client's conversations on disk, in the form of its requests.

use ctx_core::content::WireId;
use serde_json::Value;
use serde_json::value::RawValue;
use std::path::{Path, PathBuf};

/// Recognises and reads the session files of a client.
#[derive(Debug, Clone, Copy)]
pub struct SessionFiles {
    pub recognises: fn(&Path, &[u8]) -> bool,
    /// Reads a file of this name.
    pub read: fn(&str, &[u8]) -> SessionFile,
    /// Whether a file beside session files contains no conversation.
    pub passes_over: fn(&Path) -> bool,
    /// For a client that keeps its sessions in an SQLite database: the rows are a session's name and its text for
    /// [`SessionFiles::read`].
    pub query: Option<&'static str>,
    /// The name of the session in a file, if its own name does not tell.
    pub name: fn(&Path) -> Option<String>,
    pub companion: Option<Companion>,
}

impl SessionFiles {
    /// Recognises nothing.
    pub const BASE: SessionFiles = SessionFiles {
        recognises: |_, _| false,
        read: |_, _| SessionFile { conversations: Vec::new(), skipped: Vec::new() },
        passes_over: |_| false,
        query: None,
        name: |_| None,
        companion: None,
    };
}

/// A second file of a session.
#[derive(Debug, Clone, Copy)]
pub struct Companion {
    /// Its path beside that of a session file.
    pub path: fn(&Path) -> Option<PathBuf>,
    /// Reads both files.
    pub read: fn(&str, &[u8], &[u8]) -> SessionFile,
}

/// The contents of a session file.
#[derive(Debug)]
pub struct SessionFile {
    pub conversations: Vec<SessionConversation>,
    /// Lines, counted from 1, and why they were skipped; no number if it concerns the whole file.
    pub skipped: Vec<(Option<usize>, String)>,
}

impl SessionFile {
    /// A file without a conversation says so.
    pub(crate) fn new(
        conversations: Vec<SessionConversation>,
        mut skipped: Vec<(Option<usize>, String)>,
    ) -> SessionFile {
        if conversations.is_empty() {
            skipped.push((None, NO_ANSWER.to_owned()));
        }
        SessionFile { conversations, skipped }
    }
}

/// Why a file has no conversation.
pub(crate) const NO_ANSWER: &str = "it contains no reply of a model";

/// The name of a recording: those after a compaction are numbered.
pub(crate) fn numbered(name: &str, before: usize) -> String {
    match before {
        0 => name.to_owned(),
        before => format!("{name}#{}", before + 1),
    }
}

/// The text of a value.
pub(crate) fn raw(value: &Value) -> Option<Box<RawValue>> {
    RawValue::from_string(value.to_string()).ok()
}

/// One conversation, as of its last request.
#[derive(Debug)]
pub struct SessionConversation {
    pub name: String,
    /// The format of its messages.
    pub wire: WireId,
    /// The model of its last answer.
    pub model: String,
    /// The request without its messages, as an object; with system prompt and tools if the file has them.
    pub head: Box<RawValue>,
    pub messages: Vec<Box<RawValue>>,
    pub turns: Vec<SessionTurn>,
}

/// One request and its answer.
#[derive(Debug, Clone)]
pub struct SessionTurn {
    /// The model's first message in the answer. The request consisted of the messages before it.
    pub answer: usize,
    /// The time of the request, as spelled in the file.
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
    /// The part written for an hour, if the file states it.
    pub cache_written_1h: Option<u64>,
    pub output: u64,
}
