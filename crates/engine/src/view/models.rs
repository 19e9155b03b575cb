//! The context windows of models.

use crate::Engine;
use crate::conversation::Conversation;
use ctx_models::Lookup;

impl Engine {
    /// The context window of a conversation's model. An unknown one counts as small: rather too early than too late.
    pub fn window_of(&self, conversation: &Conversation) -> u64 {
        const SMALL: u64 = 200_000;
        self.window(conversation.newest.envelope.model.as_deref().unwrap_or_default()).unwrap_or(SMALL)
    }

    pub fn window(&self, model: &str) -> Option<u64> {
        match self.models.of(model) {
            Lookup::Listed(model) => model.window,
            _ => None,
        }
    }
}
