//! The list of conversations.

use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::conversations::{ConversationView, Conversations};
use ctx_engine::card::Card;
use ctx_engine::conversation::Conversation;
use std::collections::HashSet;

/// The number of edited conversations weighed per listing, newest first; the others show an estimate.
const WEIGHED: usize = 32;

impl Parts {
    pub(crate) fn conversations(&self) -> Conversations {
        let mut all = self.listed();
        let edited: HashSet<String> =
            lock(&self.directory).cards().filter(|card| card.edited).map(|card| card.id.clone()).collect();
        for view in all.conversations.iter_mut().filter(|view| edited.contains(&view.id)).take(WEIGHED) {
            view.tokens = self.weighed(&view.id, (view.last_activity, view.tokens));
        }
        all
    }

    pub(crate) fn conversation_count(&self) -> usize {
        lock(&self.directory).cards().count()
    }

    /// The list without weighing any conversation.
    pub(super) fn listed(&self) -> Conversations {
        let directory = lock(&self.directory);
        let active = directory.active().map(|card| card.id.clone());
        let mut cards: Vec<&Card> = directory.cards().collect();
        cards.sort_by_key(|card| std::cmp::Reverse(card.last_activity));
        let conversations = cards.into_iter().map(|card| view(card, active.as_deref())).collect();
        Conversations { conversations, unread: 0 }
    }

    /// The tokens that `ctx list` shows. `card`: its figures on the card, which change with the conversation.
    fn weighed(&self, id: &str, card: (u64, u64)) -> u64 {
        self.weighed.get(id, card).unwrap_or_else(|| {
            let tokens = self.count(id).unwrap_or(card.1);
            self.weighed.put(id, card, tokens);
            tokens
        })
    }

    fn count(&self, id: &str) -> Option<u64> {
        let loaded = lock(&self.directory).touch(id);
        match loaded {
            Some(shared) => self.weigh(&lock(&shared)).ok(),
            // Loaded only for this: a listing must not evict the conversations that agents work on.
            None => {
                let conversation = Conversation::load(id, &*self.store).ok()??;
                self.weigh(&conversation).ok()
            }
        }
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
        imported: card.imported,
        frames: card.frames,
        messages: card.messages,
        requests: card.requests,
        tokens: card.tokens,
        calibrated: card.calibrated,
        last_activity: card.last_activity,
        owner: None,
        side: card.side,
    }
}
