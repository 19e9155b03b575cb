//! What the reasoning in a conversation is bound to.

use ctx_core::Key;
use ctx_core::edit::CommitId;
use ctx_core::edit::weigh::LeftOut;
use ctx_core::fast_map::{FastMap, FastSet};
use ctx_core::message::Message;

/// What the reasoning in the conversation is bound to.
#[derive(Debug, Default)]
pub struct ReasoningState {
    /// What each thinking signature is bound to: the digest of the prompt it was produced after.
    pub bound: FastMap<Key, Key>,
    /// Thinking that we only know from the client: from before the first operation, bound to what the client sent,
    /// or from an answer that was lost under operations, bound to nobody knows what.
    pub own: FastSet<Key>,
    pub lost: FastSet<Key>,
    /// A request left otherwise than it came: what was thought after it is bound to what the client never sent,
    /// whatever becomes of the operations.
    pub strayed: bool,
    /// The thinking that could not be sent with the newest answered request, see [`super::composing::SentRequest::left_out`].
    pub left_out: LeftOut,
    pub dropped: (usize, Option<CommitId>),
    /// The provider is asked to drop thinking that does not fit, see [`crate::log::RECOVERY`].
    pub is_dropped_by_provider: bool,
}

impl ReasoningState {
    /// Meets thinking that no answer has told of.
    pub fn meet(&mut self, facts: &Message, is_edited: bool) {
        for signature in facts.blocks.iter().filter_map(|block| block.signature) {
            if self.bound.contains_key(&signature) || self.own.contains(&signature) || self.lost.contains(&signature) {
                continue;
            }
            if is_edited {
                self.lost.insert(signature);
            } else {
                self.own.insert(signature);
            }
        }
    }

    /// Takes in what thinking is bound to, as a turn tells; nothing: it is lost.
    pub fn rebind(&mut self, bound: &[(Key, Option<Key>)]) {
        for (signature, prefix) in bound {
            match prefix {
                Some(prefix) => drop(self.bound.insert(*signature, *prefix)),
                None => drop(self.lost.insert(*signature)),
            }
        }
    }

    /// Binds the thinking of an answer to its prompt. Tells whether any was bound otherwise before.
    pub fn bind(&mut self, signatures: impl Iterator<Item = Key>, prefix: Key) -> bool {
        let mut rebound = false;
        for signature in signatures {
            let is_other = self.bound.insert(signature, prefix).is_some_and(|before| before != prefix);
            rebound |= is_other || self.own.contains(&signature) || self.lost.contains(&signature);
        }
        rebound
    }

    /// Whether thinking did not pass through us: then it is bound to what the client itself sent before it. Once
    /// requests have left otherwise than they came, an unknown one may be bound to anything.
    pub fn is_own(&self, signature: &Key) -> bool {
        self.own.contains(signature) || !(self.strayed || self.lost.contains(signature))
    }
}
