//! Views of one conversation, as types of the control API. Nothing here is stored.

pub mod cache;
pub mod frames;
pub mod map;
pub mod models;
pub mod readable;
pub mod search;
pub mod show;
pub mod titles;
pub mod worth;

use crate::conversation::Conversation;
use crate::envelope::Whole;
use crate::{Engine, Refusal};
use ctx_core::hint::Command;
use ctx_core::{ErrorCode, hint};
pub use search::terms;
pub use worth::Remembered;

pub fn rebuilt(engine: &Engine, conversation: &Conversation) -> Result<Whole, Refusal> {
    conversation.rebuild(&*engine.contents)?.ok_or_else(|| {
        Refusal::new(
            ErrorCode::Incomplete,
            format!("Conversation `{}` is not completely stored.", conversation.id),
            hint!["The next request completes it; ", Command::Doctor, " checks the store."],
        )
    })
}
