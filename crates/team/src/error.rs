//! Refused or failed changes.

use ctx_core::ErrorCode;
use ctx_store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum TeamError {
    #[error("{message}")]
    Refused { code: ErrorCode, message: String, hint: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl TeamError {
    pub(crate) fn refused(code: ErrorCode, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Refused { code, message: message.into(), hint: hint.into() }
    }

    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Refused { code, .. } => *code,
            Self::Store(error) => error.code(),
        }
    }
}
