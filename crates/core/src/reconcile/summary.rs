//! Finds the client's summary of its history.

use crate::lexicon::SUMMARY_TITLE;
use crate::message::{Message, Role};

/// Whether a message stands for earlier ones: the client's summary, or the provider's.
pub(super) fn is_summary(message: &Message) -> bool {
    let titled = message.blocks.iter().any(|block| block.label.as_deref() == Some(SUMMARY_TITLE));
    titled || (0..message.blocks.len()).any(|block| message.is_setting(block))
}

/// The place of the summary, if only the human and the client speak before it.
pub(super) fn place(messages: &[Message]) -> Option<usize> {
    let answers = |message: &Message| matches!(message.role, Role::Assistant | Role::Other) || message.has_results();
    let end = messages.iter().position(answers).unwrap_or(messages.len());
    messages[..end].iter().position(is_summary)
}
