//! Turns a view into the bytes to send: the part shared by all wires.
//!
//! [`layout`] lays a view out as messages of pieces; each wire repairs what its provider would refuse and writes the
//! result as ranges of the client's bytes with synthetic bytes between them.

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

/// The input of composing, beside the view.
pub struct Input<'a> {
    /// The current request.
    pub body: &'a Body,
    pub envelope: &'a Envelope,
    /// The facts of each message. Block positions may be those of another spelling.
    pub messages: &'a [&'a Message],
    /// The digest of each bare message: cache breakpoints and the string form do not count.
    pub digests: &'a [Key],
    /// The digest of the client's system prompt, without the attribution, and loaded tools.
    pub around: Key,
    /// The view of the request whose paused answer this one sends back.
    pub paused: Option<&'a View<'a>>,
    /// The digest of the original prefix of the thinking with this signature.
    pub bound: &'a dyn Fn(&Key) -> Option<Key>,
    /// Whether an earlier request wrote the cache at this prefix.
    pub written: &'a dyn Fn(&Key) -> bool,
    /// The client's message that will probably be changed next.
    pub next: Option<u32>,
    pub memo: &'a Memo,
    /// Requests with the same number may continue from each other: the operations and the bindings of thinking are the
    /// same, and no operation names a new message. `None`: nothing is shared with other requests.
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

/// The prefix digests of an untouched request: after 0, 1, 2… messages.
pub fn untouched_prefix(around: Key, digests: &[Key]) -> impl Iterator<Item = Key> {
    let later = digests.iter().scan(around, |prefix, digest| {
        *prefix = prefix.then(*digest);
        Some(*prefix)
    });
    std::iter::once(around).chain(later)
}
