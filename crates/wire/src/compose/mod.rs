//! From a view to the bytes that are sent: what all wires share.
//!
//! [`layout`] lays a view out as messages of pieces; each wire repairs what its provider would refuse and writes the
//! result as ranges of the client's bytes with ours between them.

pub(crate) mod generic;
mod head;
pub(crate) mod layout;
mod pairs;
mod placement;
mod repair;
pub(crate) mod spell;
pub(crate) mod writer;

pub use crate::anthropic::compose::Memo;
pub(crate) use placement::{HeadParts, Part};
pub use placement::{Placement, Places};
pub use repair::Repair;

use crate::body::Body;
use crate::envelope::Envelope;
use ctx_core::edit::fold::View;
use ctx_core::key::Key;
use ctx_core::message::Message;
use std::ops::Range;

/// What a request is composed from, beside the operations that are laid over it.
pub struct Input<'a> {
    /// The request at hand.
    pub body: &'a Body,
    pub envelope: &'a Envelope,
    /// The facts of each of its messages. Where their blocks stand may be of another spelling.
    pub messages: &'a [&'a Message],
    /// Identifies the bare content of each message: cache marks and the string form do not count.
    pub digests: &'a [Key],
    /// Identifies system, without the attribution, and the loaded tools, as the client sent them.
    pub around: Key,
    /// How the request was laid out that got an answer which this one sends back to be continued.
    pub paused: Option<&'a View<'a>>,
    /// The digest of the prefix that the thinking of this signature was produced after.
    pub bound: &'a dyn Fn(&Key) -> Option<Key>,
    /// Whether an earlier request wrote the cache at this prefix.
    pub written: &'a dyn Fn(&Key) -> bool,
    /// The client's message that will be changed next, as far as anybody knows.
    pub next: Option<u32>,
    pub memo: &'a Memo,
    /// Requests with the same number may go on from each other: the operations are the same, thinking is bound to the
    /// same, and no operation names a message that is new. `None`: nothing is taken from another request or left for it.
    pub under: Option<u64>,
}

/// A piece of the body to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// These bytes of the client's body.
    Source(Range<usize>),
    Made(Vec<u8>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Composed {
    /// In order, they are the body.
    pub segments: Vec<Segment>,
    pub repairs: Vec<Repair>,
    pub thinking_dropped: usize,
    /// The digest of the whole prompt: what the next thinking is bound to.
    pub prefix: Key,
    /// The prefixes at which this request writes the cache.
    pub marks: Vec<Key>,
    /// The prefix before the first of its messages, and after each.
    pub around: Key,
    pub after: Vec<Key>,
    pub kept: Placement,
}

impl Composed {
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

/// The prefix digests of a request that goes out untouched: after 0, 1, 2… messages.
pub fn untouched_prefix(around: Key, digests: &[Key]) -> impl Iterator<Item = Key> {
    let later = digests.iter().scan(around, |prefix, digest| {
        *prefix = prefix.then(*digest);
        Some(*prefix)
    });
    std::iter::once(around).chain(later)
}
