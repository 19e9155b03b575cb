//! A policy that knows the future, as an upper bound for savings: it removes everything that no later step relies on,
//! keeps only the names of content that is merely named later, and edits at the moments that a search over the recording
//! finds cheapest. It comes in two forms: one keeps everything for some replies, one also acts when a result arrives.

mod needed;
mod pieces;
mod search;

use crate::replay::RecordingFacts;
use ctx_core::message::Role;
use ctx_core::policy::{Action, Auto, Item, Look, Policy, Proposal};
use needed::LastUses;
use pieces::{Piece, Pieces};
use search::{Moment, Schedule, search};
use std::collections::HashMap;
use std::sync::Arc;

/// The name of the form that keeps everything for some replies.
pub const NAME: &str = "foresight";
/// The name of the form that also acts early.
pub const EARLY: &str = "foresight-early";

/// Edits with knowledge of the future.
#[derive(Default)]
pub struct Foresight {
    early: bool,
    /// The turn of a request, by the number of replies before it.
    turns: HashMap<usize, usize>,
    /// The turn at which a result goes, and the input of its call.
    results: HashMap<Arc<str>, usize>,
    inputs: HashMap<Arc<str>, usize>,
    needed: LastUses,
}

impl Foresight {
    /// A policy that acts when a result arrives; it must be prepared for a recording.
    pub fn early() -> Foresight {
        Foresight { early: true, ..Foresight::default() }
    }

    /// The same policy, prepared for a recording.
    pub fn of(known: &RecordingFacts<'_>, early: bool) -> Foresight {
        let script = known.script;
        let needed = LastUses::of(script.recording, known.needs);
        let mut replies = 0;
        let mut counts = vec![0];
        for message in script.facts() {
            replies += usize::from(message.role == Role::Assistant);
            counts.push(replies);
        }
        let turns = script.recording.turns.iter().enumerate();
        let turns = turns.filter_map(|(turn, recorded)| Some((*counts.get(recorded.answer)?, turn))).collect();
        let all = Pieces::of(known, &needed, early);
        let (mut results, mut inputs) = (HashMap::new(), HashMap::new());
        for (piece, turn) in plan(&moments(known), all) {
            let when = if piece.is_input { &mut inputs } else { &mut results };
            when.insert(piece.call, turn);
        }
        Foresight { early, turns, results, inputs, needed }
    }

    /// The edit of a result at this turn: names stay if a later step uses one.
    fn shortened(&self, item: &Item, turn: usize) -> Proposal {
        let reason = "no later step relies on it";
        let is_named = self.needed.names.get(&item.call).is_some_and(|until| *until >= turn);
        let shorter = Proposal::shorten(Some(item).filter(|_| is_named), reason).pop();
        let bare = || Proposal { what: Action::Bare { call: item.call.to_string() }, reason: reason.into() };
        shorter.unwrap_or_else(bare)
    }
}

/// The pieces that go, each with its turn. A piece that is free on arrival goes then: that costs nothing.
fn plan(moments: &[Moment], all: Pieces) -> Vec<(Piece, usize)> {
    let (arriving, later): (Vec<Piece>, Vec<Piece>) =
        all.pieces.into_iter().partition(|piece| piece.free <= piece.born);
    let gone = |is_gone: &dyn Fn(&Piece) -> bool| {
        arriving.iter().filter(|piece| is_gone(piece)).map(|piece| piece.saves).sum::<f64>()
    };
    let moments = moments.iter().enumerate().map(|(turn, moment)| {
        let tokens = moment.tokens - gone(&|piece| piece.born <= turn);
        Moment { tokens, ..*moment }
    });
    let moments: Vec<Moment> = moments.collect();
    let shift = |before: f64| before - gone(&|piece| piece.before < before);
    let pieces = later.into_iter().map(|piece| Piece { before: shift(piece.before), ..piece }).collect();
    let thoughts = all.thoughts.into_iter();
    let thoughts = thoughts.map(|thought| pieces::Thought { before: shift(thought.before), ..thought }).collect();
    let rest = Pieces { pieces, thoughts };
    let Schedule { turns, .. } = search(&moments, &rest);
    let planned = rest.pieces.into_iter().zip(turns).filter_map(|(piece, turn)| Some((piece, turn?)));
    let arriving = arriving.into_iter().map(|piece| {
        let born = piece.born;
        (piece, born)
    });
    arriving.chain(planned).collect()
}

/// The requests as recorded. A cache that has expired, or belongs to another model, has nothing of them.
fn moments(known: &RecordingFacts<'_>) -> Vec<Moment> {
    let script = known.script;
    let mut warm_until: HashMap<&str, u64> = HashMap::new();
    let moment = |turn| {
        let charge = known.charge(turn);
        let at = script.at(turn).max(0) as u64;
        let until = at.saturating_add(charge.lifetime(script.lifetime(turn)) * 1000);
        let cold = warm_until.insert(charge.cache, until).is_none_or(|until| at > until);
        let tokens = script.size(turn);
        let (_, rates) = known.price(turn, tokens);
        Moment { tokens, read: rates.prompt(0.0, 1.0, 0.0), write: rates.prompt(0.0, 0.0, 1.0), cold }
    };
    (0..script.recording.turns.len()).map(moment).collect()
}

impl Policy for Foresight {
    fn name(&self) -> &str {
        if self.early { EARLY } else { NAME }
    }

    fn about(&self) -> &str {
        match self.early {
            true => "the same, also before a result is first sent: an agent would not have seen it",
            false => "content that no later step relies on goes, at the best moments: only the lab can know it",
        }
    }

    fn propose(&self, look: &Look<'_>) -> Vec<Proposal> {
        let Some(turn) = self.turns.get(&look.steps).copied() else { return Vec::new() };
        let goes = |when: &HashMap<Arc<str>, usize>, item: &Item| !item.pinned && when.get(&item.call) == Some(&turn);
        let mut proposed = Vec::new();
        for item in &look.items {
            if !item.cleared && goes(&self.results, item) {
                proposed.push(self.shortened(item, turn));
            }
            if item.input.is_some_and(|input| input.is_worth(1)) && goes(&self.inputs, item) {
                proposed.push(Proposal::short_input(item, "no later step relies on it"));
            }
        }
        // A result that goes at once needs no trimming.
        let rest = look.items.iter().filter(|item| !goes(&self.results, item)).cloned().collect();
        proposed.extend(Auto::default().on_arrival(&Look { items: rest, ..look.clone() }));
        proposed
    }
}
