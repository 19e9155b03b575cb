//! Finds the block that the provider refuses.

use crate::compose::Ground;
use crate::conversation::Conversation;
use crate::log::{self, AnswerRecord};
use crate::{Engine, Refusal};
use ctx_core::edit::Operation;
use ctx_core::edit::history::Change;
use ctx_core::hint::Command;
use ctx_core::message::Kind;
use ctx_core::{ErrorCode, hint};
use ctx_store::Record;
use ctx_wire::body::Body;
use ctx_wire::compose::{ComposedRequest, Segment};

/// A refused request, and the edit that would heal it.
#[derive(Debug, Clone, PartialEq)]
pub struct Illness {
    pub problem: String,
    pub operation: Operation,
}

impl Engine {
    /// The message of the path that was sent as message `sent`.
    pub fn source_of(&self, conversation: &Conversation, sent: usize) -> Option<usize> {
        let effects = conversation.effects(conversation.history.head());
        let found = self.with_newest(conversation, |at_hand| match conversation.compose(at_hand, effects) {
            None => Some(sent),
            Some(written) => came_from(&written.composed, at_hand.body, sent),
        });
        found.ok().flatten()
    }
}

/// The client message that became message `sent`.
fn came_from(composed: &ComposedRequest, body: &Body, sent: usize) -> Option<usize> {
    let out = composed.bytes(body.bytes());
    let span = Body::parse(out, body.wire()).ok()?.spans().messages.get(sent)?.clone();
    let mut at = 0;
    for segment in &composed.segments {
        let (length, start) = match segment {
            Segment::Source(range) => (range.len(), Some(range.start)),
            Segment::Made(bytes) => (bytes.len(), None),
        };
        // The first client bytes inside the message identify it.
        let (from, to) = (span.start.max(at), span.end.min(at + length));
        if let Some(start) = start.filter(|_| from < to) {
            let place = start + (from - at);
            return body.spans().messages.iter().position(|message| message.contains(&place));
        }
        at += length;
    }
    None
}

/// The provider refuses content that an edit wrote: its commit has to be reverted.
pub fn ours(conversation: &Conversation, said: &str) -> Refusal {
    let head = conversation.history.head();
    let wrote = |effects: &[ctx_core::edit::Effect]| effects.iter().any(|effect| !effect.made().is_empty());
    let writer = conversation.history.active(head).into_iter().find(|commit| match &commit.change {
        Change::Edit { effects, .. } => wrote(effects),
        _ => false,
    });
    let hint = match writer.or(conversation.history.active(head).first().copied()) {
        Some(commit) => {
            hint![Command::Revert.with(commit.id.to_string()), " undoes the newest edit."]
        }
        None => hint![Command::Timeline, " shows the provider's error."],
    };
    Refusal::new(ErrorCode::Ours, format!("The provider refuses content that an edit wrote: {said}"), hint)
}

pub fn answer_of(record: &Record) -> Option<AnswerRecord> {
    let answered: AnswerRecord =
        (record.kind == log::ANSWERED).then(|| serde_json::from_slice(&record.body).ok())??;
    // Side traffic does not block the conversation.
    answered.estimated.is_some().then_some(answered)
}

/// `messages.12.content.3…` → message 12, block 3.
pub fn place(text: &str) -> Option<(usize, Option<usize>)> {
    let rest = text.split_once("messages.")?.1;
    let mut parts = rest.split(['.', ':', ' ', '`', ',']);
    let message = parts.next()?.parse().ok()?;
    let block = match parts.next() {
        Some("content") => parts.next().and_then(|digits| digits.parse().ok()),
        _ => None,
    };
    Some((message, block))
}

pub fn id_of(conversation: &Conversation, message: usize, block: Option<usize>) -> Option<(String, Option<Kind>)> {
    let ground = Ground::of(conversation, false);
    let view = ground.lay(conversation.effects(conversation.history.head()));
    for frame in &view.frames {
        let layout = ctx_core::edit::layout::layout(&view, frame, &ground.messages);
        if let Some(group) = layout.groups.iter().find(|group| group.source == Some(message)) {
            let id = format!("{}#{}", frame.id, group.number);
            let kind = block.and_then(|at| Some(ground.messages[message].blocks.get(at)?.kind));
            return Some(match (block, kind) {
                (Some(block), Some(_)) => (format!("{id}.{block}"), kind),
                _ => (id, None),
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn the_providers_words_name_a_block() {
        assert_eq!(place("messages.3.content.1.image.source.base64.data: too large"), Some((3, Some(1))));
        assert_eq!(place("messages.12: `tool_use` ids were found"), Some((12, None)));
        assert_eq!(place("***.messages.0.content.2.text"), Some((0, Some(2))));
        assert_eq!(place("prompt is too long"), None);
    }
}
