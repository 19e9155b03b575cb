//! Why a client cannot be configured.

use super::jsonc::Broken;
use std::io;
use std::path::{Path, PathBuf};

use ctx_core::{ErrorCode, ReceivedCode};

#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A file operation failed.
    #[error("cannot {doing} {}: {error}", path.display())]
    File { doing: &'static str, path: PathBuf, error: io::Error },
    /// A stable code, a sentence, and advice.
    #[error("{message}")]
    Refused { code: ReceivedCode, message: String, hint: Option<String> },
}

impl SetupError {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>, hint: impl Into<String>) -> SetupError {
        SetupError::Refused { code: code.into(), message: message.into(), hint: Some(hint.into()) }
    }

    pub(crate) fn file(doing: &'static str, path: &Path, error: io::Error) -> SetupError {
        SetupError::File { doing, path: path.to_owned(), error }
    }

    /// Refuses to write a settings file that cannot be parsed.
    pub(crate) fn unreadable(path: &Path, broken: &Broken) -> SetupError {
        let message = format!("{}: {broken}; nothing was changed", path.display());
        SetupError::new(ErrorCode::SettingsBroken, message, "correct the file or move it aside, and run this again")
    }

    pub fn code(&self) -> ReceivedCode {
        match self {
            SetupError::File { .. } => ErrorCode::File.into(),
            SetupError::Refused { code, .. } => code.clone(),
        }
    }
}
