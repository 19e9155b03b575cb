//! Lays the view out by the rules of this wire.

use super::made::{self, MadeBlock};
use super::plan::Plan;
use super::{Input, Repair, pages, paused, stays};
use crate::compose::layout::{self, Grammar, Layout};
use ctx_core::edit::effect::{NewMessage, NewMessageId};
use ctx_core::edit::fold::View;
use ctx_core::message::Role;
use std::borrow::Cow;
use std::sync::Arc;

/// The rules for laying out.
pub(super) struct Rules<'a>(pub &'a Input<'a>);

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
