//! The list of conversations.

use crate::Composer;
use crate::directory::{Card, lock};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Conversations {
    pub conversations: Vec<ConversationView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ConversationView {
    pub id: String,
    /// The one with the most recent main activity.
    pub active: bool,
    pub class: String,
    pub title: String,
    pub model: Option<String>,
    pub client: Option<String>,
    pub session: Option<String>,
    pub agent: Option<String>,
    pub parent: Option<String>,
    pub forked_from: Option<String>,
    /// The folder that the client works in, where it says so.
    #[serde(default)]
    pub folder: Option<String>,
    pub frames: usize,
    pub messages: usize,
    pub requests: u32,
    pub tokens: u64,
    pub calibrated: bool,
    pub last_activity: u64,
}

impl Composer {
    /// All conversations, the newest activity first.
    pub fn conversations(&self) -> Conversations {
        let directory = lock(&self.directory);
        let active = directory.active().map(|card| card.id.clone());
        let mut cards: Vec<&Card> = directory.cards().collect();
        cards.sort_by_key(|card| std::cmp::Reverse(card.last_activity));
        Conversations { conversations: cards.into_iter().map(|card| view(card, active.as_deref())).collect() }
    }
}

fn view(card: &Card, active: Option<&str>) -> ConversationView {
    let card = card.clone();
    ConversationView {
        active: active == Some(&card.id),
        id: card.id,
        class: card.class,
        title: card.title,
        model: card.model,
        client: card.client,
        session: card.session,
        agent: card.agent,
        parent: card.parent,
        forked_from: card.forked_from,
        folder: card.folder,
        frames: card.frames,
        messages: card.messages,
        requests: card.requests,
        tokens: card.tokens,
        calibrated: card.calibrated,
        last_activity: card.last_activity,
    }
}
