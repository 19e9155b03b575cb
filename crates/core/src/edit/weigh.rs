//! What is sent of a view, as an estimate: without what is covered, and without what the provider's rules leave out.

use super::effect::MadeId;
use super::fold::{Laid, Unit, View};
use crate::fast_map::{FastMap, FastSet};
use crate::message::Message;
use crate::tokens;
use std::collections::HashSet;

/// What the provider's rules take out of a view, and what they keep in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// Blocks of the client's that are not sent though nothing covers them: message and block.
    pub blocks: FastSet<(usize, usize)>,
    /// Those that are sent though something covers them.
    pub stay: FastSet<(usize, usize)>,
    /// Blocks of ours.
    pub made: FastMap<MadeId, Vec<u32>>,
    /// Blocks of the system prompt, and tools, that are sent though something covers them.
    pub system: Vec<usize>,
    pub tools: Vec<usize>,
}

impl View<'_> {
    /// Shows what the rules make of it.
    pub fn repair(&mut self, left_out: LeftOut) {
        for (kept, around) in [(&left_out.system, &mut self.system), (&left_out.tools, &mut self.tools)] {
            for &at in kept {
                around.get_mut(at).into_iter().for_each(|around| around.covered = None);
            }
        }
        for &(message, block) in &left_out.stay {
            self.uncover(message, block);
        }
        self.left_out = left_out;
    }

    /// Whether the rules take it out.
    pub fn is_left_out(&self, laid: &Laid) -> bool {
        match laid.unit {
            _ if laid.covered.is_some() => false,
            Unit::Source { message, block } => {
                block.is_some_and(|block| self.left_out.blocks.contains(&(message, block)))
            }
            Unit::Made(id) => {
                let gone = self.left_out_of(id);
                !gone.is_empty() && Some(gone.len()) == self.made(id).map(|made| made.content.len())
            }
        }
    }

    /// The blocks of a message of ours that the rules take out.
    pub fn left_out_of(&self, id: MadeId) -> &[u32] {
        self.left_out.made.get(&id).map(Vec::as_slice).unwrap_or_default()
    }

    /// Messages of ours that the rules take out wholly.
    pub fn unsent(&self) -> HashSet<MadeId> {
        let is_whole = |(id, gone): &(&MadeId, &Vec<u32>)| {
            !gone.is_empty() && Some(gone.len()) == self.made(**id).map(|made| made.content.len())
        };
        self.left_out.made.iter().filter(is_whole).map(|(id, _)| *id).collect()
    }

    /// Whether the rules keep something of the system prompt, or a tool, that is covered.
    pub fn keeps(&self, id: &str) -> bool {
        !(if id == "system" { &self.left_out.system } else { &self.left_out.tools }).is_empty()
    }

    /// The estimate of what is sent of it.
    pub fn weigh(&self, laid: &Laid, messages: &[&Message]) -> f64 {
        match laid.unit {
            _ if laid.covered.is_some() || self.is_left_out(laid) => 0.0,
            Unit::Made(id) => self.weigh_made(id),
            Unit::Source { message, block: Some(block) } => match self.new_result(laid) {
                Some(text) => tokens::estimate(text.chars().count() as u32, 0),
                None => {
                    messages.get(message).and_then(|message| message.blocks.get(block)).map_or(0.0, tokens::of_block)
                }
            },
            Unit::Source { block: None, .. } => 0.0,
        }
    }

    /// The estimate of what is sent of a message of ours.
    pub fn weigh_made(&self, id: MadeId) -> f64 {
        let content = self.made(id).map(|made| made.content.as_slice()).unwrap_or_default();
        let gone = self.left_out_of(id);
        let sent = (0..).zip(content).filter(|(at, _)| !gone.contains(at));
        sent.map(|(_, content)| content.weigh()).sum()
    }
}
