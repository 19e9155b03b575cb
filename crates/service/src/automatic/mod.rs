//! The switched-on automatic editor, and its files. [`ctx_engine::automatic`] has its work on a conversation.

mod ask;
mod editor;
mod keep;
mod switch;
mod tool_uses;

pub use editor::{Editor, ProviderEdits};
pub(crate) use switch::Switch;
pub(crate) use tool_uses::ToolUses;
