//! From a view to the bytes that are sent.
//!
//! The pipeline, top to bottom: [`plan`] lays the view out as messages of blocks, [`stays`] keeps what cannot go,
//! [`pairs`] and [`roles`] repair what the provider would refuse, [`thinking`] leaves out what is no longer bound,
//! [`around`] does the same for system and tools, [`marks`] sees to the cache, [`splice`] writes. What nobody
//! touched is never read: it leaves as a range of the client's bytes. [`settled`] takes what the request before has
//! in common with this one from there.

mod around;
mod made;
mod marks;
mod memo;
mod open_loop;
mod pages;
mod pairs;
mod paused;
mod placement;
mod plan;
mod repair;
mod roles;
mod settled;
pub(super) mod spell;
mod splice;
mod stays;
mod thinking;
mod waits;

pub use memo::Memo;
pub use paused::is_paused;
pub use placement::{Placement, Places};
pub use repair::Repair;
pub use settled::go_on;

use crate::body::Body;
use crate::envelope::Envelope;
use ctx_core::edit::fold::View;
use ctx_core::key::Key;
use ctx_core::message::Message;
use settled::Finished;
use splice::Spliced;
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

/// Composes a request. Total: whatever the view is, the provider accepts the result, provided that it accepts what
/// the client sent. The same input gives the same bytes.
///
/// What the next request with the same [`Input::under`] can go on from is left in the memo.
pub fn compose(input: &Input<'_>, view: &View<'_>) -> Composed {
    let mut plan = plan::lay_out(input, view);
    let mut dropped = 0;
    let mut rounds = 0;
    // A message that was nothing but thinking is gone with it, and its neighbours meet. Each round has less thinking.
    let (around, thought, border) = loop {
        rounds += 1;
        pairs::repair(&mut plan);
        roles::repair(&mut plan);
        open_loop::repair(&mut plan);
        plan.settle();
        let border = settled::border(&plan).filter(|_| rounds == 1);
        let reported = plan.repairs.len();
        let around = around::arrange(&mut plan, view);
        let thought = thinking::sift(&mut plan, &around, &[]);
        dropped += thought.dropped;
        if !thought.emptied {
            break (around, thought, border);
        }
        plan.repairs.truncate(reported);
    };
    let reported = plan.repairs.len();
    report_dropped(&mut plan, dropped, &thought.loaded);
    let marks = marks::place(&mut plan, &around, &thought.after);
    let Spliced { segments, settled } = splice::write(&plan, &around, &marks, None, border.map(|border| border.out));
    if let Some(border) = border {
        let repairs = &plan.repairs[..reported];
        let finished =
            Finished { around: &around, after: &thought.after, marks: &marks, segments: settled, repairs, dropped };
        settled::settle(&plan, border, finished);
    }
    Composed {
        segments,
        repairs: plan.repairs,
        thinking_dropped: dropped + plan.thoughts,
        prefix: thought.after.last().copied().unwrap_or(around.digest),
        marks: marks.written,
        around: around.digest,
        after: thought.after,
        kept: Placement::new(plan.settled, plan.outs, &plan.made, around),
    }
}

fn report_dropped(plan: &mut plan::Plan<'_>, dropped: usize, loaded: &[String]) {
    if dropped == 0 {
        return;
    }
    for name in loaded {
        let what = format!("thinking counts the edited tool {name}: the conversation refers to it");
        plan.repairs.push(Repair::new("A61", what));
    }
    let blocks = if dropped == 1 { "1 thinking block is".to_owned() } else { format!("{dropped} thinking blocks are") };
    let what = format!("{blocks} left out: the content before them has changed");
    plan.repairs.push(Repair::new("A65", what));
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
