//! The messages: the tree of all paths, and their original bytes.

use super::left::LeftPaths;
use super::titles::Titles;
use ctx_core::edit::effect::PENDING;
use ctx_core::fast_map::FastMap;
use ctx_core::links;
use ctx_core::message::Message;
use ctx_core::{Numbers, Replies, SlotId, Tree};
use ctx_store::Hash;
use ctx_wire::Wire;
use ctx_wire::body::Body;
use ctx_wire::dress::Dress;
use ctx_wire::envelope::Envelope;
use ctx_wire::json;
use std::sync::Arc;

/// All messages that the client ever sent, and the frames that they form.
#[derive(Debug)]
pub struct Messages {
    pub tree: Tree,
    pub numbers: Numbers,
    pub replies: Replies,
    pub left: LeftPaths,
    pub versions: FastMap<SlotId, SlotVersion>,
    /// Titles from a helper, see [`super::titles`].
    pub titles: Titles,
    /// The number of slots from each of these times on, in order.
    arrivals: Vec<(u64, usize)>,
}

impl Messages {
    pub(super) fn new(tree: Tree) -> Messages {
        Messages {
            tree,
            numbers: Numbers::default(),
            replies: Replies::default(),
            left: LeftPaths::default(),
            versions: FastMap::default(),
            titles: Titles::new(),
            arrivals: Vec::new(),
        }
    }

    /// Notes when the newest slots came.
    pub(super) fn came(&mut self, at: u64) {
        let count = self.tree.slot_count();
        if self.arrivals.last().is_none_or(|(_, before)| *before != count) {
            self.arrivals.push((at, count));
        }
    }

    /// Starts over with an empty tree, which gives no id again.
    pub(super) fn restart(&mut self, tree: Tree) {
        self.tree = tree;
        self.replies = Replies::default();
        self.left = LeftPaths::default();
        self.versions.clear();
        self.arrivals.clear();
    }

    /// Whether a message had come by this time.
    pub fn was_there(&self, slot: SlotId, at: u64) -> bool {
        let known = self.arrivals.partition_point(|(came, _)| *came <= at);
        let count = known.checked_sub(1).and_then(|last| self.arrivals.get(last)).map_or(0, |(_, count)| *count);
        self.tree.number_of(slot).is_some_and(|number| number < count)
    }
}

/// The newest body that carried the history, for comparison.
#[derive(Debug, Default)]
pub struct LastBody {
    pub body: Option<Body>,
    /// The number of leading messages of `body` that have the bytes of the current path.
    pub aligned: usize,
    /// The envelope of `body`, and its blob if stored.
    pub envelope: Arc<Envelope>,
    pub packed: Option<Hash>,
}

/// The newest version of a slot: a bare message and its dress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotVersion {
    pub blob: Hash,
    pub dress: Dress,
}

/// A message of a reply that the client has not sent back yet, or behind one in a thread at the provider.
#[derive(Debug, Clone)]
pub struct PendingMessage {
    pub bytes: Vec<u8>,
    pub facts: Message,
}

impl PendingMessage {
    pub fn new(wire: &dyn Wire, bytes: Vec<u8>) -> PendingMessage {
        let mut facts = wire.read(&bytes, ctx_clients::lexicon()).facts;
        links::name_calls(&mut facts, PENDING);
        PendingMessage { bytes, facts }
    }

    /// Whether a message of a request is this one, in the client's words.
    pub fn is(&self, message: &Message) -> bool {
        self.facts.key == message.key || message.anchors.iter().any(|anchor| self.facts.anchors.contains(anchor))
    }
}

/// A reply as it is stored: one message, or a list of several.
pub fn join(reply: &[&[u8]]) -> Vec<u8> {
    match reply {
        [message] => message.to_vec(),
        messages => [b"[", messages.join(&b',').as_slice(), b"]"].concat(),
    }
}

/// The messages of a stored reply.
pub fn split(reply: Vec<u8>) -> Vec<Vec<u8>> {
    match json::elements(&reply, 0) {
        Some(messages) => messages.flatten().map(|at| reply[at].to_vec()).collect(),
        None => vec![reply],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_wire::anthropic::Anthropic;

    #[test]
    fn a_message_is_there_from_its_arrival_on() {
        let message = || PendingMessage::new(&Anthropic, br#"{"role":"user","content":"x"}"#.to_vec()).facts;
        let mut messages = Messages::new(Tree::new(1));
        let slots = [10, 10, 30].map(|at| {
            let slot = messages.tree.next_slot(0);
            messages.tree.put(slot, message());
            messages.came(at);
            messages.came(at + 5);
            slot
        });
        let there = |at: u64| slots.map(|slot| messages.was_there(slot, at));
        assert_eq!([there(9), there(10), there(29)], [[false; 3], [true, true, false], [true, true, false]]);
        assert_eq!((there(30), messages.was_there(SlotId(7), 99)), ([true; 3], false), "one of another conversation");
    }

    #[test]
    fn a_reply_of_any_number_of_messages_is_stored() {
        for reply in [vec![r#"{"role":"a","content":["x"]}"#], vec![r#"{"a":"],["}"#, "{}"]] {
            let reply: Vec<&[u8]> = reply.into_iter().map(str::as_bytes).collect();
            assert_eq!(split(join(&reply)), reply);
        }
    }
}
