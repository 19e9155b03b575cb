//! Lays the view out by the rules of this wire.

use super::made::{self, MadeBlock};
use super::plan::{Out, Piece, Plan, block_count};
use super::{Input, Repair, pages, paused, stays};
use crate::compose::layout::{self, Grammar, Layout};
use ctx_core::edit::effect::{NewMessage, NewMessageId};
use ctx_core::edit::fold::View;
use ctx_core::message::Role;
use std::borrow::Cow;
use std::sync::Arc;

/// The rules for laying out.
struct Rules<'a>(&'a Input<'a>);

impl<'a> Grammar<'a> for Rules<'a> {
    type NewMessage = MadeBlock<'a>;

    fn made(&self, from: (NewMessageId, &'a NewMessage), role: Role, repairs: &mut Vec<Repair>) -> Vec<MadeBlock<'a>> {
        made::read(from, role, self.0, repairs)
    }

    fn may_stay(&self, message: u32, block: u32) -> bool {
        stays::may(self.0, message, block)
    }

    fn no_system(&self) -> Option<Repair> {
        Some(Repair::new("A12", "a system message is sent as a user message: this conversation has none"))
    }

    fn fixed_result(&self) -> Option<Repair> {
        let what = "a result of the provider's tool whose text was changed goes: it is sent as it is, or not at all";
        Some(Repair::new("A42", what))
    }
}

/// The client's messages from one on, in the order of the path.
pub(super) struct OpenMessages<'a> {
    pub outs: Vec<Out>,
    /// The replacement texts of all tool results.
    pub texts: Vec<&'a str>,
}

/// Lays the messages from this one on out; `None` if operations do more to them than replace tool results. `texts` are
/// those of the messages before.
pub(super) fn lay_out_from<'a>(
    message: usize,
    texts: Vec<&'a str>,
    input: &'a Input<'a>,
    view: &'a View<'a>,
) -> Option<OpenMessages<'a>> {
    let layout = layout::lay_out_from(message, texts, input, view, &Rules(input));
    let Layout { outs, made, texts, repairs, covered } = layout;
    let is_own = |(at, out): (usize, &Out)| is_own(input, out, at);
    let is_plain = made.is_empty() && repairs.is_empty() && covered.is_empty();
    (is_plain && (message..).zip(&outs).all(is_own)).then_some(OpenMessages { outs, texts })
}

/// Whether it is this message of the client with all its blocks; texts of tool results may be replaced.
pub(super) fn is_own(input: &Input<'_>, out: &Out, message: usize) -> bool {
    let is_block = |(at, piece): (u32, &Piece)| matches!(piece, Piece::Client { message: of, block, .. } if *of as usize == message && *block == at);
    let has_all = |pieces: &Vec<Piece>| {
        pieces.len() == block_count(input, message as u32) as usize && (0..).zip(pieces).all(is_block)
    };
    out.first && out.source == Some(message as u32) && out.pieces.as_ref().is_none_or(has_all)
}

/// Lays a view out.
pub(super) fn lay_out<'a>(input: &'a Input<'a>, view: &'a View<'a>) -> Plan<'a> {
    let Layout { outs, made, texts, repairs, covered } = layout::lay_out(input, view, &Rules(input));
    let mut plan = Plan {
        input,
        settled: Arc::default(),
        outs,
        made: Cow::Owned(made),
        texts,
        repairs,
        unfinished: Vec::new(),
        waiting: Vec::new(),
        thoughts: 0,
        covered,
    };
    stays::settle(&mut plan);
    pages::repair(&mut plan);
    paused::restore(&mut plan);
    plan
}
