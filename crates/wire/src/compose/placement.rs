//! The rules' effect on a view, for display. Computed on demand.

use super::out::{Out, Piece};
use ctx_core::edit::effect::NewMessageId;
use ctx_core::edit::fold::{self, Unit, View, Visit};
use ctx_core::edit::weigh::LeftOut;
use ctx_core::fast_map::{FastMap, FastSet};
use ctx_core::message::Message;
use std::sync::Arc;

/// A piece of the system prompt or of the tools as it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// A piece of the client.
    Own(usize),
    /// A synthetic piece.
    Made(usize),
}

/// System prompt and tools as they are sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct HeadParts {
    /// `None`: unchanged.
    pub system: Option<Vec<Part>>,
    pub tools: Option<Vec<Part>>,
    /// The sources of synthetic pieces.
    pub made: Vec<(NewMessageId, u32)>,
}

/// The message of the view and the index there of each synthetic block; none if a rule required it.
pub(crate) type MadeSources = Vec<Option<(NewMessageId, u32)>>;

/// The messages of a composed request, by the source of their blocks.
#[derive(Debug, Clone, Default)]
pub struct Placement {
    /// Messages settled by an earlier request, before the others.
    settled: Arc<Vec<Out>>,
    outs: Vec<Out>,
    made: MadeSources,
    head: HeadParts,
}

impl PartialEq for Placement {
    fn eq(&self, other: &Placement) -> bool {
        self.all().eq(other.all()) && (&self.made, &self.head) == (&other.made, &other.head)
    }
}

impl Eq for Placement {}

impl Placement {
    /// All messages that are sent.
    fn all(&self) -> impl Iterator<Item = &Out> {
        self.settled.iter().chain(&self.outs)
    }

    pub(crate) fn new(settled: Arc<Vec<Out>>, outs: Vec<Out>, made: MadeSources, head: HeadParts) -> Placement {
        Placement { settled, outs, made, head }
    }

    /// The number of messages that are sent.
    pub fn places_count(&self) -> usize {
        self.all().count()
    }

    /// The differences from the composed view.
    pub fn left_out(&self, view: &View<'_>, messages: &[&Message]) -> LeftOut {
        let mut whole = vec![false; messages.len()];
        let mut blocks: FastSet<(usize, usize)> = FastSet::default();
        let mut made: FastSet<(NewMessageId, u32)> = self.head.made.iter().copied().collect();
        for out in self.all() {
            match (&out.pieces, out.source) {
                (None, Some(source)) => whole.get_mut(source as usize).into_iter().for_each(|is| *is = true),
                (pieces, _) => pieces.iter().flatten().for_each(|piece| match piece {
                    Piece::Client { message, block, .. } => drop(blocks.insert((*message as usize, *block as usize))),
                    Piece::Made(at) => made.extend(self.made.get(*at as usize).copied().flatten()),
                }),
            }
        }
        let mut left = LeftOut::default();
        let gone = |id: NewMessageId| {
            let count = view.made(id).map_or(0, |made| made.content.len()) as u32;
            let gone: Vec<u32> = (0..count).filter(|at| !made.contains(&(id, *at))).collect();
            (!gone.is_empty()).then_some((id, gone))
        };
        let around = view.system.iter().chain(&view.tools).flat_map(|around| &around.by);
        left.made.extend(around.filter_map(|id| gone(*id)));
        let is_whole = |message: usize| whole.get(message) == Some(&true);
        let mut meet = |met: Visit| match met {
            Visit::Untouched(message) if is_whole(message) => {}
            Visit::Untouched(message) => {
                let all = (0..messages.get(message).map_or(0, |message| message.blocks.len())).map(|at| (message, at));
                left.blocks.extend(all.filter(|block| !blocks.contains(block)));
            }
            Visit::Unit(laid) => match laid.unit {
                Unit::Source { message, block: Some(block) } => {
                    match (laid.covered.is_some(), is_whole(message) || blocks.contains(&(message, block))) {
                        (false, false) => drop(left.blocks.insert((message, block))),
                        (true, true) => drop(left.stay.insert((message, block))),
                        _ => {}
                    }
                }
                _ if laid.covered.is_some() => {}
                Unit::Source { block: None, .. } => {}
                Unit::Made(id) => left.made.extend(gone(id)),
            },
        };
        view.frames.iter().for_each(|frame| view.walk(frame, messages, &mut meet));
        left.system = stays(&self.head.system, &view.system);
        left.tools = stays(&self.head.tools, &view.tools);
        left
    }
}

/// The index of the sent message for each unit of a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Places {
    /// The request is unchanged and has this many messages.
    Own(usize),
    Composed {
        whole: FastMap<usize, usize>,
        blocks: FastMap<(usize, usize), usize>,
        made: FastMap<NewMessageId, usize>,
    },
}

impl Places {
    pub fn of(&self, unit: &Unit) -> Option<usize> {
        match (self, unit) {
            (Places::Own(count), Unit::Source { message, .. }) => Some(*message).filter(|message| message < count),
            (Places::Own(_), Unit::Made(_)) => None,
            (Places::Composed { whole, blocks, .. }, Unit::Source { message, block }) => {
                whole.get(message).or_else(|| blocks.get(&(*message, (*block)?))).copied()
            }
            (Places::Composed { made, .. }, Unit::Made(id)) => made.get(id).copied(),
        }
    }
}

impl Placement {
    pub fn places(&self) -> Places {
        let (mut whole, mut blocks, mut made) = (FastMap::default(), FastMap::default(), FastMap::default());
        for (at, out) in self.all().enumerate() {
            match (&out.pieces, out.source) {
                (None, Some(source)) => drop(whole.insert(source as usize, at)),
                (pieces, _) => pieces.iter().flatten().for_each(|piece| match piece {
                    Piece::Client { message, block, .. } => {
                        blocks.insert((*message as usize, *block as usize), at);
                    }
                    Piece::Made(index) => {
                        let from = self.made.get(*index as usize).copied().flatten();
                        made.extend(from.map(|(id, _)| (id, at)));
                    }
                }),
            }
        }
        Places::Composed { whole, blocks, made }
    }
}

/// Covered pieces that are sent.
fn stays(parts: &Option<Vec<Part>>, laid: &[fold::Around]) -> Vec<usize> {
    let covered = |at: &usize| laid.get(*at).is_some_and(|around| around.covered.is_some());
    let own = parts.iter().flatten().filter_map(|part| match part {
        Part::Own(at) => Some(*at),
        Part::Made(_) => None,
    });
    own.filter(covered).collect()
}
