//! Finds the content that the provider refuses.

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
use ctx_wire::refused::{Refused, RefusedPart};
use std::ops::Range;

/// A refused request, and the edit that would heal it.
#[derive(Debug, Clone, PartialEq)]
pub struct Illness {
    pub problem: String,
    pub operation: Operation,
}

/// The content that a provider refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefusedContent {
    /// A client message, or a block of it.
    Client { message: usize, block: Option<usize>, misplaced: bool },
    /// An edit wrote it.
    Written,
}

impl Engine {
    /// The content that the refusal of the newest request names.
    pub fn refused(&self, conversation: &Conversation, answered: &AnswerRecord) -> Option<RefusedContent> {
        let refused = Refused { message: &answered.error.as_ref()?.message, param: answered.param.as_deref() };
        let effects = conversation.effects(conversation.history.head());
        let found = self.with_newest(conversation, |at_hand| {
            let body = at_hand.body;
            let composed = conversation.compose(at_hand, effects).map(|written| written.composed);
            let out;
            let sent = match &composed {
                None => body,
                Some(composed) => {
                    out = Body::parse(composed.bytes(body.bytes()), body.wire()).ok()?;
                    &out
                }
            };
            let RefusedPart { at, misplaced } = body.wire().refused(sent, &refused)?;
            let is_message = sent.spans().messages.contains(&at);
            if !is_message && sent.spans().lead.iter().any(|lead| lead.start <= at.start && at.end <= lead.end) {
                return None;
            }
            let source = match &composed {
                None => Some(at),
                Some(composed) => source_of(composed, &at),
            };
            let Some(source) = source else { return Some(RefusedContent::Written) };
            let spans = body.spans();
            let message = spans.messages.iter().position(|message| message.contains(&source.start))?;
            let start = spans.messages.get(message)?.start;
            // Known facts may have the block positions of another spelling.
            let facts = body.read_message(message, ctx_clients::lexicon()).facts;
            let block = facts.blocks.iter().position(|block| {
                let (from, to) = (start + block.at.start as usize, start + block.at.end as usize);
                // A message that is one block as a whole is that block.
                let is_whole = from == start && Some(to) == spans.messages.get(message).map(|span| span.end);
                (!is_message || is_whole) && from <= source.start && source.end <= to
            });
            Some(RefusedContent::Client { message, block, misplaced })
        });
        found.ok().flatten()
    }
}

/// The first client bytes of a part of the sent request, in the client's body.
fn source_of(composed: &ComposedRequest, part: &Range<usize>) -> Option<Range<usize>> {
    let mut at = 0;
    for segment in &composed.segments {
        let (length, start) = match segment {
            Segment::Source(range) => (range.len(), Some(range.start)),
            Segment::Made(bytes) => (bytes.len(), None),
        };
        let (from, to) = (part.start.max(at), part.end.min(at + length));
        if let Some(start) = start.filter(|_| from < to) {
            return Some(start + (from - at)..start + (to - at));
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
