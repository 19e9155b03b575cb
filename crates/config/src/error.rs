//! The error of this crate: a stable code for programs, a message, and advice.

use std::io;
use std::path::Path;

use ctx_core::ErrorCode;

/// A setting or a file of the home that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ConfigError {
    /// Stable, for programs.
    pub code: ErrorCode,
    pub message: String,
    pub hint: Option<String>,
}

impl ConfigError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    /// Adds advice.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into()).filter(|hint| !hint.is_empty());
        self
    }

    /// An operation on a file failed.
    pub fn file(doing: &str, path: &Path, error: &io::Error) -> Self {
        let hint = match error.kind() {
            io::ErrorKind::ReadOnlyFilesystem => "the disk is mounted read-only; choose another folder",
            io::ErrorKind::StorageFull => "the disk is full; free some space",
            io::ErrorKind::InvalidData => "it is not UTF-8 text",
            _ => "check the path and the owner of the file",
        };
        Self::new(ErrorCode::File, format!("cannot {doing} {}: {error}", path.display())).hint(hint)
    }
}
