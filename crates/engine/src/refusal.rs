//! What keeps a wish from being granted, or a request from being noted.

use ctx_store::StoreError;
use ctx_wire::rules;

/// Why something that passed could not be taken note of. It has been forwarded all the same.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("the request cannot be read: {0}")]
    Unreadable(#[from] ctx_wire::body::Unreadable),
    #[error("the request's encoding cannot be undone: {0}")]
    Encoding(#[from] ctx_wire::encoding::DecodeError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("a record with edits of this conversation is damaged")]
    LostEdits,
}

/// Something that could not be done or answered: what, why, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub code: &'static str,
    pub message: String,
    pub hint: String,
}

impl Refusal {
    pub fn new(code: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Refusal {
        Refusal { code, message: message.into(), hint: hint.into() }
    }
}

impl From<ctx_core::edit::Refusal> for Refusal {
    fn from(refusal: ctx_core::edit::Refusal) -> Refusal {
        Refusal {
            code: refusal.code,
            message: rules::spelled_out(&refusal.message),
            hint: rules::spelled_out(&refusal.hint),
        }
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Refusal {
        Refusal::new("store", format!("The store cannot be read: {error}."), "Run `ctx doctor` to see what is wrong.")
    }
}
