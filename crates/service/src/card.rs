//! Writes the card of a conversation: the little that a listing shows.

use crate::conversation::Conversation;
use crate::directory::{Beginning, CARD, Card};
use crate::edit::Ground;
use ctx_core::frames::{self, Frame};
use ctx_core::lexicon::SUMMARY_TITLE;
use ctx_core::message::Message;
use ctx_store::Note;

pub fn of(conversation: &Conversation) -> Card {
    let path = conversation.path();
    let frames = frames::frames(&path);
    let beginning = Beginning::of(path.iter().copied());
    let opened = &conversation.opened;
    Card {
        id: conversation.id.clone(),
        class: opened.class.clone(),
        title: title(conversation, &path, &frames),
        model: conversation.envelope.model.as_deref().map(str::to_owned),
        client: opened.client.clone(),
        session: opened.session.clone(),
        agent: opened.agent.clone(),
        parent: opened.parent.clone(),
        forked_from: opened.forked_from.clone(),
        imported: false,
        frames: frames.len(),
        messages: path.len(),
        requests: conversation.progress.requests,
        tokens: conversation.calibration.tokens(weight(conversation)),
        calibrated: conversation.calibration.is_calibrated(),
        last_activity: conversation.progress.last_activity,
        edited: conversation.is_edited(),
        folder: conversation.folder.clone(),
        side: conversation.sides.counted().to_vec(),
        start: beginning.start,
        opening: beginning.opening,
    }
}

fn title(conversation: &Conversation, path: &[&Message], frames: &[Frame]) -> String {
    let words = conversation.first_words();
    let on_path = || frames.iter().map(|frame| frames::title(path, frame));
    let speaks = || on_path().find(|title| title != SUMMARY_TITLE);
    words.or_else(speaks).or_else(|| on_path().next()).unwrap_or_default()
}

/// The estimate of the next request, as it would be sent.
pub fn weight(conversation: &Conversation) -> f64 {
    if !conversation.is_edited() {
        return conversation.estimate() + conversation.pending_estimate();
    }
    let composed = conversation.composing.weight.unwrap_or_else(|| {
        let ground = Ground::of(conversation, false);
        let view = ground.lay(conversation.effects(conversation.history.head()));
        ground.weigh(&view, &conversation.envelope)
    });
    composed + conversation.pending_estimate()
}

pub fn note(card: &Card) -> Note {
    Note { conversation: card.id.clone(), name: CARD.into(), body: serde_json::to_vec(card).ok() }
}
