//! A refusal of the control API.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The header that names the reader of a client's hints.
pub const CLIENT: &str = "ctx-client";
/// The command line, whose hints name commands and flags.
pub const SHELL: &str = "shell";

/// The body of every refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    pub error: ApiError,
}

/// Why something was refused: a stable code, a sentence for people, and a hint what to do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ApiError {
    pub code: String,
    pub message: String,
    #[serde(default)]
    pub hint: Option<String>,
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ApiError {}
