//! State kept from earlier requests for composing.

use super::continuity::Continuity;
use super::sent_parts::SentParts;
use ctx_core::Key;
use ctx_core::edit::CommitId;
use ctx_core::edit::weigh::LeftOut;
use ctx_store::Hash;
use ctx_wire::compose::{Memo, Placement};
use std::collections::HashMap;

#[derive(Debug, Default)]
pub struct ComposeState {
    /// The digests of the current path.
    pub chain: Chain,
    /// Results of composing the leading messages of the path.
    pub memo: Memo,
    pub continuity: Continuity,
    /// The parts of the newest changed request.
    pub parts: SentParts,
    /// The estimate of the newest composed request, valid while its operations are active.
    pub weight: Option<f64>,
    /// Composed requests under way, by number.
    pub sent: HashMap<u32, SentRequest>,
}

impl ComposeState {
    /// Limits the messages whose bytes the next request shares with the last one.
    pub fn keep(&mut self, messages: usize) {
        self.memo.keep(messages);
        self.continuity.keep(messages);
    }
}

/// A composed request, kept until its answer comes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SentRequest {
    pub prefix: Key,
    pub marks: Vec<Key>,
    pub repairs: Vec<(String, String)>,
    /// The estimates of the request as sent, and of the client's request.
    pub weight: f64,
    pub own_weight: f64,
    /// Content that no operation removed but that cannot be sent: thinking behind a change.
    pub left_out: LeftOut,
    /// The number of its blocks, and the newest commit.
    pub dropped: (usize, Option<CommitId>),
    /// The prefix before its first message, and after each.
    pub around: Key,
    pub after: Vec<Key>,
    /// The places of the sent units.
    pub kept: Placement,
}

/// The digests of a path, kept because the next path usually begins with it.
#[derive(Debug, Default)]
pub struct Chain {
    around: Key,
    digests: Vec<Key>,
    prefixes: Vec<Key>,
}

impl Chain {
    /// Keeps only the first messages of the path.
    pub fn keep(&mut self, messages: usize) {
        self.digests.truncate(messages);
        self.prefixes.truncate(messages);
    }

    /// Follows a path to its end, and returns the prefix after each message. `behind`: the digests of the messages
    /// behind the given number.
    pub fn follow<D: Iterator<Item = Key>>(&mut self, around: Key, behind: impl FnOnce(usize) -> D) -> &[Key] {
        if self.around != around {
            *self = Chain { around, ..Chain::default() };
        }
        for digest in behind(self.digests.len()) {
            let before = self.prefixes.last().copied().unwrap_or(self.around);
            self.prefixes.push(before.then(digest));
            self.digests.push(digest);
        }
        &self.prefixes
    }

    /// The digests of the last path.
    pub fn digests(&self) -> &[Key] {
        &self.digests
    }

    /// The prefixes of a path before its first message, and after each.
    pub fn after(&self, around: Key, digests: &[Key]) -> Vec<Key> {
        let same = match self.around == around {
            true => self.digests.iter().zip(digests).take_while(|(old, new)| old == new).count(),
            false => 0,
        };
        let mut prefixes = Vec::with_capacity(digests.len() + 1);
        prefixes.push(around);
        prefixes.extend_from_slice(self.prefixes.get(..same).unwrap_or_default());
        let mut prefix = prefixes.last().copied().unwrap_or(around);
        for digest in digests.iter().skip(same) {
            prefix = prefix.then(*digest);
            prefixes.push(prefix);
        }
        prefixes
    }
}

/// A content hash as a digest.
pub fn short(hash: &Hash) -> Key {
    let mut key = Key::default();
    key.0.copy_from_slice(&hash.as_bytes()[..16]);
    key
}
