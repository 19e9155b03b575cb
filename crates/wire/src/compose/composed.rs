//! A composed request.

use super::placement::Placement;
use super::repair::Repair;
use ctx_core::key::Key;
use std::ops::Range;

/// A piece of the body to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// These bytes of the client's body.
    Source(Range<usize>),
    Made(Vec<u8>),
}

/// A request as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComposedRequest {
    /// The segments that form the body, in order.
    pub segments: Vec<Segment>,
    pub repairs: Vec<Repair>,
    pub thinking_dropped: usize,
    /// The digest of the whole prompt, to which the next thinking is bound.
    pub prefix: Key,
    /// The prefixes at which this request writes the cache.
    pub marks: Vec<Key>,
    /// The prefix before the first message, and after each.
    pub around: Key,
    pub after: Vec<Key>,
    pub kept: Placement,
}

impl ComposedRequest {
    /// The body as one piece.
    pub fn bytes(&self, source: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(source.len());
        for segment in &self.segments {
            out.extend_from_slice(match segment {
                Segment::Source(range) => source.get(range.clone()).unwrap_or_default(),
                Segment::Made(bytes) => bytes,
            });
        }
        out
    }
}

/// The prefix digests of an untouched request: after 0, 1, 2… messages.
pub fn untouched_prefix(around: Key, digests: &[Key]) -> impl Iterator<Item = Key> {
    let later = digests.iter().scan(around, |prefix, digest| {
        *prefix = prefix.then(*digest);
        Some(*prefix)
    });
    std::iter::once(around).chain(later)
}
