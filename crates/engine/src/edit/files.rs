//! Collects the files and messages of a commit while it is resolved. Nothing is written here.

use super::imports::Imports;
use ctx_core::edit::history::KeptText;
use std::path::PathBuf;

/// The files that a commit needs, and the messages about it.
#[derive(Debug, Default)]
pub struct Files {
    pub paths: Vec<PathBuf>,
    pub remarks: Vec<String>,
    /// The files to write before the commit is stored.
    pub new: Vec<NewFile>,
    /// Offloaded content that goes to no file.
    pub kept: Vec<KeptText>,
    /// Content copied from other conversations.
    pub imports: Imports,
}

/// A file in the offload folder of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile {
    pub name: String,
    pub text: String,
}

impl Files {
    /// Starts with content copied from other conversations.
    pub fn importing(imports: Imports) -> Files {
        Files { imports, ..Files::default() }
    }
}
