//! The input of composing.

use super::memo::Memo;
use crate::body::Body;
use crate::envelope::Envelope;
use ctx_core::edit::fold::View;
use ctx_core::key::Key;
use ctx_core::message::Message;

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
    /// `None`: nothing is shared with other requests.
    pub under: Option<Continuation>,
}

/// Relates a request to the previous ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Continuation {
    /// Requests with the same number may continue from each other: the bindings of thinking are the same, and the
    /// operations too, except those that [`Continuation::edited_from`] describes.
    pub number: u64,
    /// Operations added since a whole request was composed under this number only replace tool results, and only in
    /// messages from this one on.
    pub edited_from: usize,
}

impl Continuation {
    /// Continues requests under the same operations.
    pub fn unchanged(number: u64) -> Continuation {
        Continuation { number, edited_from: usize::MAX }
    }
}
