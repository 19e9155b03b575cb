//! Composes a leaving request with the operations of its conversation.

use super::turn::slots;
use crate::compose::{AtHand, Ready, digest};
use crate::conversation::Conversation;
use crate::conversation::composing::SentRequest;
use crate::conversation::continuity::Request;
use ctx_core::SlotId;
use ctx_core::message::Message;
use ctx_core::reconcile::{Sighting, reconcile};
use ctx_core::tree::Slot;
use ctx_wire::body::Body;
use ctx_wire::envelope::Envelope;

/// Composes a turn of the path. False: it leaves unchanged.
pub fn on_path(conversation: &mut Conversation, body: &Body, envelope: &Envelope, ready: Ready<'_>) -> bool {
    conversation.own_prefixes();
    let slots: Vec<SlotId> = conversation.messages.tree.path().map(|slot| slot.id).collect();
    let messages: Vec<&Message> = conversation.messages.tree.path().map(|slot| &slot.message).collect();
    let replies = &conversation.messages.replies;
    let request = Request { around: envelope.digest, slots: &slots, messages: &messages, replies };
    let strayed = conversation.reasoning.strayed;
    let under = conversation.composing.continuity.continue_with(&conversation.history, strayed, request);
    let digests = conversation.composing.chain.digests().to_vec();
    let memo = Some(&conversation.composing.memo);
    let at_hand = AtHand { body, envelope, under, slots, messages, digests, replies, memo };
    let Some(sent) = conversation.outgoing(&at_hand, ready) else { return false };
    conversation.composing.weight = sent.as_ref().map(|sent| sent.weight);
    remember(conversation, sent);
    true
}

/// Keeps a composed request until its answer comes.
fn remember(conversation: &mut Conversation, sent: Option<SentRequest>) {
    let request = conversation.progress.requests;
    conversation.composing.sent.extend(sent.map(|sent| (request, sent)));
}

/// Composes a request that carries the history but adds nothing to it.
pub fn beside(
    conversation: &mut Conversation,
    body: &Body,
    envelope: &Envelope,
    same: usize,
    ready: Ready<'_>,
) -> bool {
    if !conversation.is_edited() {
        return false;
    }
    let same = same.min(conversation.messages.tree.current().len());
    let count = body.spans().messages.len();
    let mut rest: Vec<Message> = (same..count).map(|at| body.read_message(at, ctx_clients::lexicon()).facts).collect();
    let placed =
        reconcile(&conversation.messages.tree, &Sighting { same, rest: &rest, compacted: false, unanswered: false });
    conversation.composing.keep(same);
    let mut memo = std::mem::take(&mut conversation.composing.memo);
    let known: Vec<&Slot> = conversation.messages.tree.path().take(same).collect();
    let behind = slots(conversation, &placed, same);
    let before: Vec<&Message> = known.iter().map(|slot| &slot.message).collect();
    ctx_core::links::link(&mut rest, &behind, &before);
    let at_hand = AtHand {
        body,
        envelope,
        slots: known.iter().map(|slot| slot.id).chain(behind).collect(),
        messages: known.iter().map(|slot| &slot.message).chain(&rest).collect(),
        digests: conversation
            .digests()
            .into_iter()
            .take(same)
            .chain((same..count).map(|at| digest(body.wire(), body.message(at))))
            .collect(),
        replies: &conversation.messages.replies,
        memo: Some(&memo),
        under: None,
    };
    let sent = conversation.outgoing(&at_hand, ready);
    // Behind the common part the messages differ.
    memo.keep(same);
    conversation.composing.memo = memo;
    let composed = sent.is_some();
    remember(conversation, sent.flatten());
    composed
}
