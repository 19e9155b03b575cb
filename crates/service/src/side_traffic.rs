//! Writes the counts of side traffic on the card of a conversation.

use crate::parts::Parts;
use crate::threads::lock;
use ctx_engine::card;
use ctx_engine::conversation::Conversation;
use ctx_store::Step;

impl Parts {
    /// Writes the counts on the card; a conversation has none before its first turn.
    pub(crate) fn note_sides(&self, conversation: &Conversation, step: &mut Step) {
        let mut directory = lock(&self.directory);
        let Some(mut card) = directory.card(conversation.id()).cloned() else { return };
        card.side = conversation.usage.sides.counted().to_vec();
        step.notes.push(card::note(&card));
        directory.put(card);
    }
}
