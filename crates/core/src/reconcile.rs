//! Recognises resent messages: matches each message of a request to a slot.
//!
//! Order of trust: the exact prefix; then ids from the provider; then texts, but only next to a recognised message. A
//! wrong match is worse than a missed one, because an edit would hit the wrong message.
//!
//! This module has the exact walk and the verdict; [`matcher`] has the rules for the rest.

mod matcher;
mod summary;

use crate::message::Message;
use crate::tree::{NodeIx, SlotId, Tree, is_injected};
use matcher::Matcher;

/// The match of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Known(SlotId),
    New,
}

/// The client's action, as far as its request shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The first request of a conversation.
    New,
    /// The known history with new messages behind it.
    Next,
    /// The same messages again.
    Retry,
    /// The history was cut back; any following messages are new.
    Rewind,
    /// A branch that had been left was resumed.
    Return,
    /// The client summarised its history; the tail it kept was recognised.
    Compaction,
    /// The history was re-rendered (another model, a fallback) and recognised by anchors.
    Rerender,
    /// Nothing in it was seen before in this conversation.
    Unrelated,
}

impl Verdict {
    pub fn name(self) -> &'static str {
        match self {
            Verdict::New => "new",
            Verdict::Next => "next",
            Verdict::Retry => "retry",
            Verdict::Rewind => "rewind",
            Verdict::Return => "return",
            Verdict::Compaction => "compaction",
            Verdict::Rerender => "rerender",
            Verdict::Unrelated => "unrelated",
        }
    }
}

/// The request as a path: known nodes down to `base`, then `places`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPath {
    pub base: Option<NodeIx>,
    /// The number of messages covered by `base`.
    pub depth: usize,
    /// One for each message behind `base`.
    pub places: Vec<Place>,
    pub verdict: Verdict,
}

impl RequestPath {
    /// The number of recognised messages, including `base`.
    pub fn known(&self) -> usize {
        self.depth + self.places.iter().filter(|place| matches!(place, Place::Known(_))).count()
    }

    pub fn new_messages(&self) -> usize {
        self.places.iter().filter(|place| matches!(place, Place::New)).count()
    }
}

/// Input of the matcher: a request.
pub struct Sighting<'a> {
    /// Leading messages whose bytes equal those of the current path.
    pub same: usize,
    /// The messages behind them.
    pub rest: &'a [Message],
    /// The client has just summarised its history, by its own word or by its first message.
    pub compacted: bool,
    /// The newest request got no answer.
    pub unanswered: bool,
}

/// Places a request in the tree. Pure: the caller applies the result.
pub fn reconcile(tree: &Tree, sighting: &Sighting<'_>) -> RequestPath {
    let same = sighting.same.min(tree.current().len());
    let mut depth = same;
    let mut base = same.checked_sub(1).map(|last| tree.current()[last]);
    let mut rest = sighting.rest;
    while let Some((message, later)) = rest.split_first() {
        let Some(child) = tree.child_like(base, message) else { break };
        (base, rest, depth) = (Some(child), later, depth + 1);
    }
    let places = Matcher::new(tree, base, rest).run(sighting.compacted, sighting.unanswered);
    let verdict = judge(tree, base, rest, &places, sighting.compacted);
    RequestPath { base, depth, places, verdict }
}

fn judge(tree: &Tree, base: Option<NodeIx>, rest: &[Message], places: &[Place], compacted: bool) -> Verdict {
    let on_current = base.is_none_or(|node| tree.depth_on_current(node).is_some());
    let is_known = |place: &Place| matches!(place, Place::Known(_));
    let recognised = places.iter().any(is_known);
    // The same file can be attached again anywhere in the dialogue.
    let dialogue = rest.iter().zip(places).any(|(message, place)| !is_injected(message) && is_known(place));
    match base {
        _ if tree.is_empty() => Verdict::New,
        None if compacted => Verdict::Compaction,
        None if matches!(places.first(), Some(Place::Known(_))) => Verdict::Rerender,
        None if recognised => Verdict::Compaction,
        None => Verdict::Unrelated,
        Some(_) if compacted && summary::place(rest).is_some_and(|at| places[at] == Place::New) => Verdict::Compaction,
        Some(_) if dialogue => Verdict::Rerender,
        Some(_) if !on_current => Verdict::Return,
        Some(_) if !at_end(tree, base) => Verdict::Rewind,
        Some(_) if recognised => Verdict::Rerender,
        Some(_) if places.is_empty() => Verdict::Retry,
        Some(_) => Verdict::Next,
    }
}

/// Whether the current path ends at `base`, ignoring injected messages behind it.
fn at_end(tree: &Tree, base: Option<NodeIx>) -> bool {
    let on_current = base.is_none_or(|node| tree.depth_on_current(node).is_some());
    on_current && tree.current_behind(base).iter().all(|&node| is_injected(&tree.slot_at(node).message))
}

#[cfg(test)]
mod tests;
