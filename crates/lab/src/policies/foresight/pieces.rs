//! The parts of a recording that an edit can remove: results and inputs, each from the turn on after which no step relies
//! on it, and thinking, which goes with every change before it.

use super::needed::{LastUses, Until};
use crate::replay::RecordingFacts;
use ctx_core::message::{Kind, Message, Role};
use ctx_core::policy::stub::BARE;
use ctx_core::tokens;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Replies for which everything is kept by a policy that does not act early, as in the automatic editor's settings.
pub(super) const RECENT: usize = 6;
/// Fewer tokens are not worth an edit.
const LEAST: f64 = 100.0;
/// The tokens of a stub with names.
const NAMED: f64 = 150.0;

/// A removable part.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    pub(super) call: Arc<str>,
    pub(super) is_input: bool,
    /// Tokens before it in the recorded conversation.
    pub(super) before: f64,
    /// Tokens that an edit removes.
    pub(super) saves: f64,
    /// The first turn that has it, and the first that can do without it.
    pub(super) born: usize,
    pub(super) free: usize,
}

/// A block of thinking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Thought {
    pub(super) before: f64,
    pub(super) tokens: f64,
    pub(super) born: usize,
}

/// All parts, each in the order of the conversation.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    pub(super) pieces: Vec<Piece>,
    pub(super) thoughts: Vec<Thought>,
}

impl Pieces {
    /// `early`: parts may go as soon as they arrive.
    pub(super) fn of(known: &RecordingFacts<'_>, needed: &LastUses, early: bool) -> Pieces {
        let script = known.script;
        let mut all = Pieces::default();
        let mut calls = Calls::default();
        let turns = &script.recording.turns;
        for (at, message) in script.facts().iter().enumerate() {
            // The first request that contains the message.
            let born = turns.partition_point(|turn| turn.answer <= at);
            let mut before = script.before(at);
            for block in &message.blocks {
                let own = script.sizes.block(block, at);
                if block.kind == Kind::Thinking {
                    all.thoughts.push(Thought { before, tokens: own, born });
                }
                let scale = own / tokens::of_block(block).max(1.0);
                if let Some((call, is_input, step)) = calls.part(message, block, born) {
                    let until = if is_input { &needed.inputs } else { &needed.results };
                    let free = from(until, &call).max(if early { born } else { step + RECENT });
                    let is_named = is_input || from(&needed.names, &call) > free;
                    let left = if is_named { NAMED } else { BARE as f64 } * scale;
                    let saves = own - left;
                    if saves >= LEAST {
                        all.pieces.push(Piece { call, is_input, before, saves, born, free });
                    }
                }
                before += own;
            }
        }
        all
    }
}

/// The first turn that does not rely on a part.
fn from(until: &Until, call: &str) -> usize {
    until.get(call).map_or(0, |turn| turn + 1)
}

/// The calls so far: the turn of each, and those that stay.
#[derive(Default)]
struct Calls {
    steps: HashMap<Arc<str>, usize>,
    steering: HashSet<Arc<str>>,
}

impl Calls {
    /// The call of a removable block, whether the block is its input, and the turn of its reply.
    fn part(&mut self, message: &Message, block: &ctx_core::Block, born: usize) -> Option<(Arc<str>, bool, usize)> {
        let call = block.tool_use_id.clone()?;
        match block.kind {
            Kind::ToolUse => {
                let step = born.saturating_sub(1);
                self.steps.insert(call.clone(), step);
                if block.role.is_steering() {
                    self.steering.insert(call.clone());
                }
                (!block.role.is_steering()).then_some((call, true, step))
            }
            Kind::ToolResult if message.role == Role::User && !self.steering.contains(&call) => {
                let step = *self.steps.get(&call)?;
                Some((call, false, step))
            }
            _ => None,
        }
    }
}
