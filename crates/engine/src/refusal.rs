//! Reasons to refuse an edit request, or to fail to record a request.

use ctx_core::hint::{Command, Hint};
use ctx_core::{ErrorCode, hint};
use ctx_store::StoreError;
use ctx_wire::rules;

/// Why passing traffic could not be recorded. It was forwarded nevertheless.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("the request cannot be read: {0}")]
    Unreadable(#[from] ctx_wire::body::Unreadable),
    #[error("the request cannot be decoded: {0}")]
    Encoding(#[from] ctx_wire::encoding::DecodeError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("a record with edits of this conversation is damaged")]
    LostEdits,
    /// Needed to tell what was removed.
    #[error("the history of this conversation cannot be read: {0}")]
    History(Refusal),
}

/// A refusal: the error, its reason and a hint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub code: ErrorCode,
    pub message: String,
    pub hint: Hint,
    /// The name that the error is about.
    pub about: Option<String>,
}

impl Refusal {
    pub fn new(code: ErrorCode, message: impl Into<String>, hint: impl Into<Hint>) -> Refusal {
        Refusal { code, message: message.into(), hint: hint.into(), about: None }
    }

    pub fn about(self, name: &str) -> Refusal {
        Refusal { about: Some(name.to_owned()), ..self }
    }
}

impl From<ctx_core::edit::Refusal> for Refusal {
    fn from(refusal: ctx_core::edit::Refusal) -> Refusal {
        Refusal::new(refusal.code, rules::spelled_out(&refusal.message), refusal.hint.map_text(rules::spelled_out))
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Refusal {
        Refusal::new(
            ErrorCode::Store,
            format!("The store cannot be read: {error}."),
            hint!["Run ", Command::Doctor, " to find the cause."],
        )
    }
}
