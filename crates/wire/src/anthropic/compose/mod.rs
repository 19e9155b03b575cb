//! From a view to the bytes that are sent.
//!
//! The pipeline, top to bottom: [`plan`] lays the view out as messages of blocks, [`stays`] keeps what cannot go,
//! [`pairs`] and [`roles`] repair what the provider would refuse, [`thinking`] leaves out what is no longer bound,
//! [`around`] does the same for system and tools, [`marks`] sees to the cache, [`splice`] writes. What nobody
//! touched is never read: it leaves as a range of the client's bytes.

mod around;
mod kept;
mod made;
mod marks;
mod memo;
mod open_loop;
mod pages;
mod pairs;
mod paused;
mod plan;
mod repair;
mod roles;
mod spell;
mod splice;
mod stays;
mod thinking;
mod waits;

pub use kept::{Kept, Places};
pub use memo::Memo;
pub use paused::is_paused;
pub use repair::Repair;

use super::envelope::Envelope;
use super::request::Body;
use ctx_core::edit::fold::View;
use ctx_core::key::Key;
use ctx_core::message::Message;
use std::ops::Range;

/// What a request is composed from.
#[derive(Clone, Copy)]
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
    pub view: &'a View<'a>,
    /// How the request was laid out that got an answer which this one sends back to be continued.
    pub paused: Option<&'a View<'a>>,
    /// The digest of the prefix that the thinking of this signature was produced after.
    pub bound: &'a dyn Fn(&Key) -> Option<Key>,
    /// Whether an earlier request wrote the cache at this prefix.
    pub written: &'a dyn Fn(&Key) -> bool,
    /// The client's message that will be changed next, as far as anybody knows.
    pub next: Option<u32>,
    pub memo: &'a Memo,
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
    pub kept: Kept,
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

/// Composes a request. Total: whatever the view is, the provider accepts the result, provided that it accepts what
/// the client sent. The same input gives the same bytes.
pub fn compose(input: &Input<'_>) -> Composed {
    let mut plan = plan::lay_out(input);
    let mut dropped = 0;
    // A message that was nothing but thinking is gone with it, and its neighbours meet. Each round has less thinking.
    let (around, thought) = loop {
        pairs::repair(&mut plan);
        roles::repair(&mut plan);
        open_loop::repair(&mut plan);
        plan.settle();
        let reported = plan.repairs.len();
        let around = around::arrange(&mut plan);
        let thought = thinking::sift(&mut plan, &around);
        dropped += thought.dropped;
        if !thought.emptied {
            break (around, thought);
        }
        plan.repairs.truncate(reported);
    };
    if dropped > 0 {
        for name in &thought.loaded {
            let what = format!("thinking counts the edited tool {name}: the conversation refers to it");
            plan.repairs.push(Repair::new("A61", what));
        }
        let blocks =
            if dropped == 1 { "1 thinking block is".to_owned() } else { format!("{dropped} thinking blocks are") };
        let what = format!("{blocks} left out: what stands before has changed");
        plan.repairs.push(Repair::new("A65", what));
    }
    let marks = marks::place(&mut plan, &around, &thought.after);
    let segments = splice::write(&plan, &around, &marks);
    Composed {
        segments,
        repairs: plan.repairs,
        thinking_dropped: dropped + plan.thoughts,
        prefix: thought.after.last().copied().unwrap_or(around.digest),
        marks: marks.written,
        around: around.digest,
        after: thought.after,
        kept: Kept::new(plan.outs, &plan.made, around),
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

#[cfg(test)]
mod tests;
