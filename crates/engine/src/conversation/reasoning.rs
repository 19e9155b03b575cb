//! The prompts that the reasoning of a conversation is bound to.

use ctx_core::Key;
use ctx_core::edit::CommitId;
use ctx_core::edit::weigh::LeftOut;
use ctx_core::fast_map::{FastMap, FastSet};
use ctx_core::message::Message;

#[derive(Debug, Default)]
pub struct ReasoningState {
    /// The binding of each thinking signature: the digest of the prompt that preceded it.
    pub bound: FastMap<Key, Key>,
    /// Thinking known only from the client: from before the first operation, bound to the client's own request; or from
    /// an answer lost under operations, with unknown binding.
    pub own: FastSet<Key>,
    pub lost: FastSet<Key>,
    /// A request was changed on its way: later thinking is bound to content that the client never sent, even after a
    /// revert.
    pub strayed: bool,
    /// Thinking omitted from the newest answered request, see [`super::composing::SentRequest::left_out`].
    pub left_out: LeftOut,
    pub dropped: (usize, Option<CommitId>),
    /// The provider is asked to drop thinking that does not fit, see [`crate::log::RECOVERY`].
    pub is_dropped_by_provider: bool,
}

impl ReasoningState {
    /// Forgets the omissions from this message on: the next request has other messages in their places.
    pub fn keep(&mut self, messages: usize) {
        let before = self.left_out.blocks.len();
        self.left_out.blocks.retain(|(message, _)| *message < messages);
        if self.left_out.blocks.len() < before {
            // Their number tells nothing any more.
            self.dropped.0 = usize::MAX;
        }
    }

    /// Registers thinking that was in no known answer.
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

    /// Applies the bindings recorded with a turn; `None`: the binding is lost.
    pub fn rebind(&mut self, bound: &[(Key, Option<Key>)]) {
        for (signature, prefix) in bound {
            match prefix {
                Some(prefix) => drop(self.bound.insert(*signature, *prefix)),
                None => drop(self.lost.insert(*signature)),
            }
        }
    }

    /// Binds the thinking of an answer to its prompt. Returns whether any was bound differently.
    pub fn bind(&mut self, signatures: impl Iterator<Item = Key>, prefix: Key) -> bool {
        let mut rebound = false;
        for signature in signatures {
            let is_other = self.bound.insert(signature, prefix).is_some_and(|before| before != prefix);
            rebound |= is_other || self.own.contains(&signature) || self.lost.contains(&signature);
        }
        rebound
    }

    /// Whether thinking did not pass through the proxy, and is bound to the client's own request. Once requests were
    /// changed on their way, unknown thinking may be bound to anything.
    pub fn is_own(&self, signature: &Key) -> bool {
        self.own.contains(signature) || !(self.strayed || self.lost.contains(signature))
    }
}
