//! The automatic editor that is switched on, and where it keeps what it clears. What it does to a conversation is in
//! [`ctx_engine::automatic`].

mod ask;
mod editor;
mod keep;
mod switch;

pub use editor::{Editor, ProviderEdits};
pub(crate) use switch::Switch;
