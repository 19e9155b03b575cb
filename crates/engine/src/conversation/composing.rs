//! What composing knows of requests before.

use super::continuity::Continuity;
use super::sent_parts::SentParts;
use ctx_core::Key;
use ctx_core::edit::CommitId;
use ctx_core::edit::weigh::LeftOut;
use ctx_store::Hash;
use ctx_wire::compose::{Memo, Placement};
use std::collections::HashMap;

/// What composing knows of requests before.
#[derive(Debug, Default)]
pub struct ComposeState {
    /// The digests of the current path.
    pub chain: Chain,
    /// What composing knows of the leading messages of the path.
    pub memo: Memo,
    pub continuity: Continuity,
    /// How the newest request that did not leave as it came left.
    pub parts: SentParts,
    /// The estimate of the newest composed request, while the operations are those it was composed with.
    pub weight: Option<f64>,
    /// Requests under way that were composed, by number.
    pub sent: HashMap<u32, SentRequest>,
}

impl ComposeState {
    /// Only the first messages of the next request have the bytes of the last one.
    pub fn keep(&mut self, messages: usize) {
        self.memo.keep(messages);
        self.continuity.keep(messages);
    }
}

/// What is remembered of a composed request until its answer comes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SentRequest {
    pub prefix: Key,
    pub marks: Vec<Key>,
    pub repairs: Vec<(String, String)>,
    /// The estimate of what was sent, and of what the client sent.
    pub weight: f64,
    pub own_weight: f64,
    /// What nobody took out, and could not be sent all the same: thinking behind a change.
    pub left_out: LeftOut,
    /// How many blocks of it there are, and the newest commit.
    pub dropped: (usize, Option<CommitId>),
    /// The prefix before the first of its messages, and after each.
    pub around: Key,
    pub after: Vec<Key>,
    /// Where the things that were sent stand.
    pub kept: Placement,
}

/// The digests of a path, kept because the next path mostly begins with it.
#[derive(Debug, Default)]
pub struct Chain {
    around: Key,
    digests: Vec<Key>,
    prefixes: Vec<Key>,
}

impl Chain {
    /// Only the first messages of the path are what they were.
    pub fn keep(&mut self, messages: usize) {
        self.digests.truncate(messages);
        self.prefixes.truncate(messages);
    }

    /// Follows a path to its end, and gives the prefix after each of its messages. `behind`: the digests of the
    /// messages behind so many.
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

    /// Of the path that it was made for last.
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
