//! The request while it is composed: messages of blocks, and the kind of each block.

use super::made::MadeBlock;
pub(super) use super::made::Tag;
use super::{Input, Repair};
pub(super) use crate::compose::layout::{block_count, facts, label, opened, pieces};
pub(super) use crate::compose::{Out, Piece};
use ctx_core::message::{Kind, Role};
use std::borrow::Cow;
use std::sync::Arc;

pub(super) struct Plan<'a> {
    pub input: &'a Input<'a>,
    /// The messages before `outs` that an earlier request settled; empty if the whole request is composed.
    pub settled: Arc<Vec<Out>>,
    pub outs: Vec<Out>,
    pub made: Cow<'a, [MadeBlock<'a>]>,
    /// Replacement texts of tool results.
    pub texts: Vec<&'a str>,
    pub repairs: Vec<Repair>,
    /// Unfinished tools of the provider, by name: they must stay defined.
    pub unfinished: Vec<String>,
    /// Calls of the provider's tools that run only once the client's calls beside them have results.
    pub waiting: Vec<String>,
    /// The number of thinking blocks removed with messages that contained nothing else.
    pub thoughts: usize,
    /// Covered pieces that are laid out: [`stays`] decides whether they are required.
    pub covered: Vec<Piece>,
}

pub(super) fn tag(input: &Input<'_>, made: &[MadeBlock<'_>], piece: Piece) -> Tag {
    match piece {
        Piece::Made(at) => made.get(at as usize).map_or(Tag::Other, |made| made.tag),
        Piece::Client { message, block, .. } => {
            let is_assistant = || input.messages.get(message as usize).is_some_and(|m| m.role == Role::Assistant);
            match facts(input, message, block).map(|block| block.kind) {
                Some(Kind::Text | Kind::Reminder) => Tag::Text,
                Some(Kind::Thinking) => Tag::Thinking,
                Some(Kind::ToolUse) => Tag::Call,
                Some(Kind::ToolResult) if is_assistant() => Tag::ServerResult,
                Some(Kind::ToolResult) => Tag::Result,
                Some(Kind::Other) if label(input, message, block) == Some("fallback") => Tag::Fallback,
                _ => Tag::Other,
            }
        }
    }
}

pub(super) fn id<'p>(input: &Input<'p>, made: &'p [MadeBlock<'_>], piece: Piece) -> Option<&'p str> {
    match piece {
        Piece::Made(at) => made.get(at as usize)?.id.as_deref(),
        Piece::Client { message, block, .. } => facts(input, message, block)?.tool_use_id.as_deref(),
    }
}

/// Whether a system message only carries settings, so that its position is free.
pub(super) fn is_directive(input: &Input<'_>, out: &Out) -> bool {
    out.role == Role::System && out.is_whole() && out.source.is_some_and(|source| block_count(input, source) == 0)
}

impl Plan<'_> {
    /// All messages that are sent, in order.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = (usize, &Out)> {
        (0..self.count()).filter_map(|at| Some((at, self.out(at)?)))
    }

    pub fn count(&self) -> usize {
        self.settled.len() + self.outs.len()
    }

    pub fn out(&self, at: usize) -> Option<&Out> {
        match at.checked_sub(self.settled.len()) {
            Some(open) => self.outs.get(open),
            None => self.settled.get(at),
        }
    }

    /// Shortens each message: one with all its blocks is whole again, and only the first part of a divided message
    /// keeps the other members of the object.
    pub fn settle(&mut self) {
        let mut seen = vec![false; self.input.messages.len()];
        for out in &mut self.outs {
            let Some(source) = out.source else { continue };
            if let Some(seen) = seen.get_mut(source as usize) {
                out.first = !std::mem::replace(seen, true);
            }
            let Some(pieces) = &out.pieces else { continue };
            let count = block_count(self.input, source);
            let own = (0..).map(|block| Piece::Client { message: source, block, text: 0 });
            if count > 0 && pieces.len() == count as usize && pieces.iter().copied().eq(own.take(count as usize)) {
                out.pieces = None;
            }
        }
    }
}
