//! A refusal as the control API writes it.

use std::fmt;

use ctx_core::ReceivedCode;
use serde::{Deserialize, Serialize};

/// The body of every answer that is a refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    pub error: ApiError,
}

/// Why something was refused: a stable code, a sentence for people, and a hint what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiError {
    pub code: ReceivedCode,
    pub message: String,
    #[serde(default)]
    pub hint: Option<String>,
    /// The name that the error is about, such as that of an unknown conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ApiError {}
