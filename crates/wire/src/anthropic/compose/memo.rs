//! The known messages of the last request. They save parsing; the output is the same without them.

use super::Input;
use super::spell::{self, Content};
use crate::compose::Memory;
use crate::json::{self, Member};
use ctx_core::fast_map::FastMap;
use ctx_core::key::Key;
use std::cell::{RefCell, RefMut};
use std::sync::Arc;

/// The messages of the last request.
#[derive(Debug, Default)]
pub(super) struct KnownMessages {
    readings: RefCell<Vec<Reading>>,
    chain: RefCell<Chain>,
}

/// The messages that are known when a request is composed.
pub(super) fn known<'a>(input: &Input<'a>) -> &'a KnownMessages {
    input.memo.get()
}

/// The known structure of a client's message. Positions are relative to its first byte.
#[derive(Debug, Default)]
struct Reading {
    has_mark: Option<bool>,
    content: Option<Arc<Content>>,
    /// The members of parsed blocks.
    members: FastMap<usize, Arc<[Member]>>,
}

impl Memory for KnownMessages {
    fn keep(&mut self, messages: usize) {
        self.readings.get_mut().truncate(messages);
    }
}

impl KnownMessages {
    /// The positions of a message's blocks.
    pub fn content(&self, at: usize, message: &[u8]) -> Arc<Content> {
        let read = || Arc::new(spell::content(message, 0, usize::MAX));
        self.with(at, |reading| reading.content.get_or_insert_with(read).clone())
    }

    /// The members of its block `number`, which begins at `start`.
    pub fn members(&self, at: usize, number: usize, message: &[u8], start: usize) -> Arc<[Member]> {
        let read = || json::members(message, start).into_iter().flatten().flatten().collect();
        self.with(at, |reading| reading.members.entry(number).or_insert_with(read).clone())
    }

    /// Whether a message may have a cache breakpoint.
    pub fn has_mark(&self, at: usize, look: impl FnOnce() -> bool) -> bool {
        self.with(at, |reading| *reading.has_mark.get_or_insert_with(look))
    }

    fn with<T>(&self, at: usize, get: impl FnOnce(&mut Reading) -> T) -> T {
        let mut readings = self.readings.borrow_mut();
        if readings.len() <= at {
            readings.resize_with(at + 1, Reading::default);
        }
        get(&mut readings[at])
    }

    pub fn chain(&self) -> RefMut<'_, Chain> {
        self.chain.borrow_mut()
    }
}

/// The prefix digests of the last request: the next one repeats most of them.
#[derive(Debug, Default)]
pub(super) struct Chain {
    around: Key,
    /// The digest input of each message, concatenated, and its end.
    bytes: Vec<u8>,
    links: Vec<(usize, Key)>,
    /// The number of leading messages that are repeated so far.
    same: usize,
}

impl Chain {
    /// Restarts with the head of the request.
    pub fn begin(&mut self, around: Key) {
        if self.around != around {
            *self = Chain { around, ..Chain::default() };
        }
        self.same = 0;
    }

    /// Skips messages with known digests. Without them the chain is useless.
    pub fn skip(&mut self, digests: &[Key]) {
        let Some(last) = digests.last() else { return };
        match self.links.get(digests.len() - 1) {
            Some((_, digest)) if digest == last => self.same = digests.len(),
            _ => *self = Chain { around: self.around, ..Chain::default() },
        }
    }

    /// The digest after one more message, identified by `bytes`.
    pub fn then(&mut self, bytes: &[u8], digest: impl FnOnce() -> Key) -> Key {
        let start = self.same.checked_sub(1).map_or(0, |before| self.links[before].0);
        if let Some((end, key)) = self.links.get(self.same)
            && self.bytes[start..*end] == *bytes
        {
            self.same += 1;
            return *key;
        }
        self.links.truncate(self.same);
        self.bytes.truncate(start);
        let key = digest();
        self.bytes.extend_from_slice(bytes);
        self.links.push((self.bytes.len(), key));
        self.same += 1;
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_digested_again() {
        let mut chain = Chain::default();
        let mut walk = |around: u8, messages: &[&str]| {
            let mut made = 0;
            chain.begin(Key([around; 16]));
            let mut prefix = Key([around; 16]);
            for message in messages {
                prefix = chain.then(message.as_bytes(), || {
                    made += 1;
                    Key::of([&prefix.0, message.as_bytes()])
                });
            }
            (prefix, made)
        };
        let (first, made) = walk(1, &["a", "b", "c"]);
        assert_eq!(made, 3);
        assert_eq!(walk(1, &["a", "b", "c"]), (first, 0));
        assert_eq!(walk(1, &["a", "bc"]).1, 1);
        assert_eq!(walk(1, &["a", "b", "c"]), (first, 2));
        let other = walk(2, &["a", "b", "c"]);
        assert_eq!(other.1, 3);
        assert_ne!(other.0, first);
    }
}
