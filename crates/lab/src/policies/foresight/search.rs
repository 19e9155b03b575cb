//! Searches a recording for the cheapest moments to edit. A request reads what stands before the first change and writes
//! the rest; when the cache is cold, everything is written anyway. Dynamic programming over the moments finds the best
//! ones for a given rule of what is worth a moment; several rules are tried.

use super::pieces::{Piece, Pieces};
use std::collections::BTreeMap;

/// A piece is worth a moment of its own if it saves this share of what the moment costs. With the first rule everything
/// waits for cold moments, with the last nothing does.
const RULES: [f64; 6] = [f64::INFINITY, 1.0, 0.3, 0.1, 0.03, 0.0];

/// The share of the content before a change that is read from the cache: its last breakpoint stands a little before.
const REACH: f64 = 0.97;

/// A recorded request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Moment {
    /// Its tokens as recorded.
    pub(super) tokens: f64,
    /// The prices of a token that is read from the cache, and of one that is written.
    pub(super) read: f64,
    pub(super) write: f64,
    /// The cache has nothing of it.
    pub(super) cold: bool,
}

/// The turn at which each piece goes, if it does, and the expected cost of all prompts.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Schedule {
    pub(super) turns: Vec<Option<usize>>,
    pub(super) cost: f64,
}

/// The cheapest schedule found.
pub(super) fn search(moments: &[Moment], all: &Pieces) -> Schedule {
    let mut best: Option<Schedule> = None;
    let mut consider = |found: Schedule| {
        if best.as_ref().is_none_or(|best| found.cost < best.cost) {
            best = Some(found);
        }
    };
    for rule in RULES {
        let due = due(moments, &all.pieces, rule);
        let found = Search::new(moments, all, &due).run();
        // Content behind an edit goes along with it.
        consider(Search::new(moments, all, &along(&all.pieces, &due, &found)).run());
        consider(found);
    }
    best.unwrap_or_default()
}

/// The turn from which each piece asks to go: when it is free if it is worth a moment, else at the next cold one.
fn due(moments: &[Moment], pieces: &[Piece], rule: f64) -> Vec<usize> {
    let end = moments.len();
    let cold = |from: usize| (from..end).find(|at| moments.get(*at).is_some_and(|moment| moment.cold)).unwrap_or(end);
    let is_worth = |piece: &Piece| {
        let Some(moment) = moments.get(piece.free) else { return false };
        let saves = piece.saves * moment.read * (end - piece.free) as f64;
        let tail = (moment.tokens - piece.before - piece.saves).max(1.0);
        saves >= rule * tail * (moment.write - moment.read)
    };
    pieces.iter().map(|piece| if is_worth(piece) { piece.free } else { cold(piece.free) }).collect()
}

fn along(pieces: &[Piece], due: &[usize], found: &Schedule) -> Vec<usize> {
    // The first change of each edit.
    let mut edits: BTreeMap<usize, f64> = BTreeMap::new();
    for (piece, turn) in pieces.iter().zip(&found.turns).filter_map(|(piece, turn)| Some((piece, (*turn)?))) {
        let first = edits.entry(turn).or_insert(f64::INFINITY);
        *first = first.min(piece.before);
    }
    let earliest = |piece: &Piece| edits.range(piece.free..).find(|(_, first)| **first <= piece.before);
    let turn = |(piece, due): (&Piece, &usize)| earliest(piece).map_or(*due, |(turn, _)| *due.min(turn));
    pieces.iter().zip(due).map(turn).collect()
}

/// The conversation after an edit, on the cheapest way to it.
struct State {
    turn: usize,
    cost: f64,
    before: Option<usize>,
    /// Tokens removed from its request.
    removed: f64,
    /// Tokens of the removed pieces before each piece.
    cleared: Vec<f64>,
    /// Tokens of the remaining thinking before each block of it.
    thinking: Vec<f64>,
    /// The first piece that asks to go since.
    first: Option<usize>,
}

/// A possible edit.
struct Edit {
    cost: f64,
    removed: f64,
    /// Blocks of thinking before the first change, and up to the request.
    kept: usize,
    born: usize,
}

struct Search<'s> {
    moments: &'s [Moment],
    all: &'s Pieces,
    due: &'s [usize],
    /// The tokens of the pieces that ask to go up to each turn, and the first of the turn.
    removable: Vec<f64>,
    first: Vec<Option<usize>>,
    /// Sums before each turn: the price of a read token, and the cost without edits.
    reads: Vec<f64>,
    plain: Vec<f64>,
    /// All thinking before each block of it.
    thinking: Vec<f64>,
}

impl<'s> Search<'s> {
    fn new(moments: &'s [Moment], all: &'s Pieces, due: &'s [usize]) -> Search<'s> {
        let mut removable = vec![0.0; moments.len()];
        let mut first = vec![None; moments.len()];
        for (at, (piece, turn)) in all.pieces.iter().zip(due).enumerate() {
            if let (Some(tokens), Some(first)) = (removable.get_mut(*turn), first.get_mut(*turn)) {
                *tokens += piece.saves;
                first.get_or_insert(at);
            }
        }
        let before = [0.0].into_iter().chain(moments.iter().map(|moment| moment.tokens));
        let plain = moments.iter().zip(before);
        let plain = plain.map(|(moment, before)| moment.read * before + moment.write * (moment.tokens - before));
        Search {
            removable: sums(removable.into_iter()).split_off(1),
            first,
            reads: sums(moments.iter().map(|moment| moment.read)),
            plain: sums(plain),
            thinking: sums(all.thoughts.iter().map(|thought| thought.tokens)),
            moments,
            all,
            due,
        }
    }

    fn run(&self) -> Schedule {
        let end = self.moments.len();
        let start = self.moments.first().map_or(0.0, |moment| moment.write * moment.tokens);
        let edit = Edit { cost: start, removed: 0.0, kept: 0, born: 0 };
        let mut states = vec![self.state(None, edit, 0)];
        // The states that an edit can follow: none from before a cold moment.
        let mut open = 0;
        for turn in 1..end {
            let is_cold = self.moments.get(turn).is_some_and(|moment| moment.cold);
            let asks = self.first.get(turn).copied().flatten();
            if let Some(piece) = asks {
                let later = states.iter_mut().skip(open);
                later.for_each(|state| state.first = Some(state.first.map_or(piece, |first| first.min(piece))));
            }
            if asks.is_none() && !is_cold {
                continue;
            }
            let ways = (open..states.len()).filter_map(|at| Some((at, self.edit(states.get(at)?, turn)?)));
            let best = ways.min_by(|(_, one), (_, other)| one.cost.total_cmp(&other.cost));
            let Some((before, edit)) = best else { continue };
            open = if is_cold { states.len() } else { open };
            let state = self.state(states.get(before), edit, turn);
            states.push(State { before: Some(before), ..state });
        }
        let cost = |at: &usize| states.get(*at).map_or(f64::INFINITY, |state| state.cost + self.between(state, end));
        let last = (open..states.len()).min_by(|one, other| cost(one).total_cmp(&cost(other)));
        Schedule { turns: self.turns(&states, last), cost: last.as_ref().map_or(0.0, cost) }
    }

    /// The cost of the requests after an edit and before `turn`.
    fn between(&self, state: &State, turn: usize) -> f64 {
        let sum = |list: &[f64]| at(list, turn) - at(list, state.turn + 1);
        sum(&self.plain) - state.removed * sum(&self.reads)
    }

    fn edit(&self, state: &State, turn: usize) -> Option<Edit> {
        let moment = self.moments.get(turn)?;
        let first = state.first.and_then(|first| Some((first, self.all.pieces.get(first)?.before)));
        let born = self.all.thoughts.partition_point(|thought| thought.born <= turn);
        let before = |place: f64| self.all.thoughts.partition_point(|thought| thought.before < place);
        let kept = first.map_or(born, |(_, place)| before(place).min(born));
        // Thinking behind the change goes; what went earlier stays away.
        let thinking = at(&self.thinking, born) - at(&state.thinking, kept);
        let removed = at(&self.removable, turn) + thinking;
        let all = moment.tokens - removed;
        let cost = match first {
            _ if moment.cold => moment.write * all,
            None => return None,
            Some((piece, place)) => {
                let gone = at(&self.thinking, kept) - at(&state.thinking, kept);
                let sent = self.moments.get(turn.checked_sub(1)?)?.tokens - state.removed;
                let prefix = (place - at(&state.cleared, piece) - gone).min(sent).max(0.0) * REACH;
                moment.read * prefix + moment.write * (all - prefix)
            }
        };
        Some(Edit { cost: state.cost + self.between(state, turn) + cost, removed, kept, born })
    }

    /// The state after an edit.
    fn state(&self, before: Option<&State>, edit: Edit, turn: usize) -> State {
        let mut thinking = before.map_or_else(|| self.thinking.clone(), |state| state.thinking.clone());
        let (kept, gone) = (at(&thinking, edit.kept), at(&thinking, edit.born) - at(&thinking, edit.kept));
        for (block, sum) in thinking.iter_mut().enumerate().skip(edit.kept) {
            *sum = if block <= edit.born { kept } else { *sum - gone };
        }
        let removed = self.all.pieces.iter().zip(self.due);
        let removed = removed.map(|(piece, due)| if *due <= turn { piece.saves } else { 0.0 });
        let cleared = sums(removed);
        State { turn, cost: edit.cost, before: None, removed: edit.removed, cleared, thinking, first: None }
    }

    /// The turn at which each piece goes: the first edit from its due turn on.
    fn turns(&self, states: &[State], last: Option<usize>) -> Vec<Option<usize>> {
        let mut edits = Vec::new();
        let mut state = last.and_then(|at| states.get(at));
        while let Some(found) = state {
            edits.push(found.turn);
            state = found.before.and_then(|at| states.get(at));
        }
        edits.reverse();
        let first_from = |due: &usize| edits.get(edits.partition_point(|turn| turn < due)).copied();
        self.due.iter().map(first_from).collect()
    }
}

fn at(list: &[f64], index: usize) -> f64 {
    list.get(index).copied().unwrap_or_default()
}

/// The sum before each of them, and of all.
fn sums(tokens: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sums = vec![0.0];
    tokens.for_each(|own| sums.push(sums.last().copied().unwrap_or(0.0) + own));
    sums
}

#[cfg(test)]
mod tests {
    use super::super::pieces::Thought;
    use super::*;

    /// Twenty requests that grow by 1,000 tokens from 20,000 on; reading costs a tenth of writing.
    fn moments(cold: &[usize]) -> Vec<Moment> {
        let moment = |at: usize| Moment {
            tokens: 20_000.0 + 1000.0 * at as f64,
            read: 0.1,
            write: 1.0,
            cold: cold.contains(&at),
        };
        (0..20).map(moment).collect()
    }

    fn piece(before: f64, saves: f64, born: usize, free: usize) -> Piece {
        Piece { call: "c".into(), is_input: false, before, saves, born, free }
    }

    fn found(moments: &[Moment], pieces: Vec<Piece>, thoughts: Vec<Thought>) -> Schedule {
        search(moments, &Pieces { pieces, thoughts })
    }

    /// The cost of twenty requests without edits.
    fn plain() -> f64 {
        let all = moments(&[]);
        20_000.0 + all.windows(2).map(|pair| pair[0].tokens * 0.1 + 1000.0).sum::<f64>()
    }

    #[test]
    fn a_moment_is_taken_if_it_pays() {
        let large = found(&moments(&[]), vec![piece(19_000.0, 900.0, 0, 5)], Vec::new());
        assert_eq!(large.turns, [None], "rewriting 5,000 tokens to save 900 in 14 requests does not pay");
        assert!((large.cost - plain()).abs() < 1.0);
        let large = found(&moments(&[]), vec![piece(10_000.0, 9000.0, 0, 5)], Vec::new());
        assert_eq!(large.turns, [Some(5)]);
        // Without the edit, request 5 reads 24,000 and writes 1,000; with it, it reads 9,700 and writes 6,300.
        let saved = (24_000.0 * 0.1 + 1000.0) - (9700.0 * 0.1 + 6300.0) + 14.0 * 900.0;
        assert!((plain() - large.cost - saved).abs() < 1.0, "{} {saved}", plain() - large.cost);
    }

    #[test]
    fn a_cold_moment_is_free_and_worth_waiting_for() {
        let found = found(&moments(&[7]), vec![piece(19_000.0, 900.0, 0, 5), piece(2000.0, 3000.0, 0, 6)], Vec::new());
        assert_eq!(found.turns, [Some(7), Some(7)]);
    }

    #[test]
    fn two_edits_of_nearby_moments_become_one() {
        let pieces = vec![piece(10_000.0, 5000.0, 0, 5), piece(16_000.0, 4000.0, 0, 7)];
        assert_eq!(found(&moments(&[]), pieces, Vec::new()).turns, [Some(7), Some(7)]);
    }

    #[test]
    fn thinking_behind_a_change_is_part_of_its_worth() {
        let small = || vec![piece(10_000.0, 300.0, 0, 5)];
        assert_eq!(found(&moments(&[]), small(), Vec::new()).turns, [None]);
        let thoughts = vec![Thought { before: 12_000.0, tokens: 6000.0, born: 0 }];
        assert_eq!(found(&moments(&[]), small(), thoughts).turns, [Some(5)]);
    }
}
