//! What the engine knows of a model.

use crate::Engine;
use crate::conversation::Conversation;
use ctx_models::Lookup;

impl Engine {
    /// The context window of a conversation's model. One that is not known is taken for a small one: rather early than
    /// too late.
    pub fn window_of(&self, conversation: &Conversation) -> u64 {
        const SMALL: u64 = 200_000;
        self.window(conversation.envelope.model.as_deref().unwrap_or_default()).unwrap_or(SMALL)
    }

    /// The context window of a model that is listed.
    pub fn window(&self, model: &str) -> Option<u64> {
        match self.models.of(model) {
            Lookup::Listed(model) => model.window,
            _ => None,
        }
    }
}
