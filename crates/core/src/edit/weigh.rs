//! Estimates the sent tokens of a view, without covered content and without content that the provider's rules omit.

use super::effect::NewMessageId;
use super::fold::{Unit, View, ViewUnit};
use crate::fast_map::{FastMap, FastSet};
use crate::message::Message;
use crate::tokens;
use std::collections::HashSet;

/// Content that the provider's rules remove from a view or keep in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// Uncovered client blocks that are not sent: message and block.
    pub blocks: FastSet<(usize, usize)>,
    /// Covered client blocks that are sent.
    pub stay: FastSet<(usize, usize)>,
    /// Blocks of synthetic messages that are not sent.
    pub made: FastMap<NewMessageId, Vec<u32>>,
    /// Covered system blocks and tools that are sent.
    pub system: Vec<usize>,
    pub tools: Vec<usize>,
}

impl View<'_> {
    /// Applies the provider's rules to the view.
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

    /// Whether the rules remove it.
    pub fn is_left_out(&self, laid: &ViewUnit) -> bool {
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

    /// The blocks of a synthetic message that the rules remove.
    pub fn left_out_of(&self, id: NewMessageId) -> &[u32] {
        self.left_out.made.get(&id).map(Vec::as_slice).unwrap_or_default()
    }

    /// Synthetic messages that the rules remove completely.
    pub fn unsent(&self) -> HashSet<NewMessageId> {
        let is_whole = |(id, gone): &(&NewMessageId, &Vec<u32>)| {
            !gone.is_empty() && Some(gone.len()) == self.made(**id).map(|made| made.content.len())
        };
        self.left_out.made.iter().filter(is_whole).map(|(id, _)| *id).collect()
    }

    /// Whether the rules keep a covered system block or tool.
    pub fn keeps(&self, id: &str) -> bool {
        !(if id == "system" { &self.left_out.system } else { &self.left_out.tools }).is_empty()
    }

    /// The estimated tokens sent of a unit.
    pub fn weigh(&self, laid: &ViewUnit, messages: &[&Message]) -> f64 {
        match laid.covered.is_some() || self.is_left_out(laid) {
            true => 0.0,
            false => self.weigh_sent(laid, messages),
        }
    }

    /// The same of a unit that is known to be sent.
    pub fn weigh_sent(&self, laid: &ViewUnit, messages: &[&Message]) -> f64 {
        match laid.unit {
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

    /// The estimated tokens sent of a synthetic message.
    pub fn weigh_made(&self, id: NewMessageId) -> f64 {
        let content = self.made(id).map(|made| made.content.as_slice()).unwrap_or_default();
        let gone = self.left_out_of(id);
        let sent = (0..).zip(content).filter(|(at, _)| !gone.contains(at));
        sent.map(|(_, content)| content.weigh()).sum()
    }
}
