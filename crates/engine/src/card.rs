//! The card of a conversation: the few facts that a listing shows.

use crate::conversation::Conversation;
use ctx_api::conversations::Side;
use ctx_core::Key;
use ctx_core::frames::{self, Frame};
use ctx_core::message::{Message, Role};
use serde::{Deserialize, Serialize};

use crate::compose::Ground;
use ctx_core::lexicon::SUMMARY_TITLE;
use ctx_store::Note;

/// The name of the note with the card.
pub const CARD: &str = "card";

/// The facts of a conversation for a listing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Card {
    pub id: String,
    pub class: String,
    pub title: String,
    pub model: Option<String>,
    pub client: Option<String>,
    pub session: Option<String>,
    pub agent: Option<String>,
    pub parent: Option<String>,
    pub forked_from: Option<String>,
    /// A copy from a file without a turn since its import.
    #[serde(default)]
    pub imported: bool,
    pub frames: usize,
    pub messages: usize,
    pub requests: u32,
    pub tokens: u64,
    pub calibrated: bool,
    pub last_activity: u64,
    /// Operations are active: its requests are composed.
    #[serde(default)]
    pub edited: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub side: Vec<Side>,
    /// Keys of the path before the first answer, and up to it.
    pub start: Option<String>,
    pub opening: Option<String>,
}

/// The beginning of a path: before the first answer, and with it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Beginning {
    pub start: Option<String>,
    pub opening: Option<String>,
}

impl Beginning {
    /// Reads the first messages of a path, from the first by a person: some clients put the same examples before it in
    /// every conversation. System messages come and go and do not count.
    pub fn of<'a>(path: impl Iterator<Item = &'a Message> + Clone) -> Beginning {
        let mut key = Key::of([b"path".as_slice()]);
        let mut beginning = Beginning::default();
        let examples = path.clone().position(|message| message.speaks.is_some()).unwrap_or(0);
        for message in path.skip(examples).filter(|message| message.role != Role::System) {
            key = key.then(message.key);
            if message.role == Role::Assistant {
                beginning.opening = Some(key.to_string());
                break;
            }
            beginning.start = Some(key.to_string());
        }
        beginning
    }
}

pub fn of(conversation: &Conversation) -> Card {
    let path = conversation.path();
    let frames = frames::frames(&path);
    let beginning = Beginning::of(path.iter().copied());
    let opened = conversation.opened();
    Card {
        id: conversation.id().to_owned(),
        class: opened.class.clone(),
        title: title(conversation, &path, &frames),
        model: conversation.newest.envelope.model.as_deref().map(str::to_owned),
        client: opened.client.clone(),
        session: opened.session.clone(),
        agent: opened.agent.clone(),
        parent: opened.parent.clone(),
        forked_from: opened.forked_from.clone(),
        imported: false,
        frames: frames.len(),
        messages: path.len(),
        requests: conversation.progress.requests,
        tokens: conversation.tokens(weight(conversation)),
        calibrated: conversation.usage.calibration.is_calibrated(),
        last_activity: conversation.progress.last_activity,
        edited: conversation.is_edited(),
        folder: conversation.folder().map(str::to_owned),
        side: conversation.usage.sides.counted().to_vec(),
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
        ground.weigh(&view, &conversation.newest.envelope)
    });
    composed + conversation.pending_estimate()
}

pub fn note(card: &Card) -> Note {
    Note { conversation: card.id.clone(), name: CARD.into(), body: serde_json::to_vec(card).ok() }
}
