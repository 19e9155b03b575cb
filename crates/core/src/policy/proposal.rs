//! Proposals: the operations that a policy requests, with reasons.

use super::candidates::{Item, Thought};
use super::cut::CutText;
use crate::edit::operation::{Operation, Select};
use std::sync::Arc;

/// An edit that a policy requests, with its reason.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    pub what: Action,
    pub reason: String,
}

/// The edit itself.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// An operation as a person could write it.
    Operation(Operation),
    /// Shortens the long texts in a tool input to their names.
    ShortInput { call: Arc<str> },
    /// Takes the replaced text out of the input of a finished edit.
    DropReplaced { call: Arc<str> },
    /// Drops thinking, and with it all thinking behind it: it is bound to everything before it.
    DropThinking { message: usize, block: usize },
    /// Replaces a result with some of its lines, or with none if the result of the call `shown` has them.
    Cut { call: String, text: CutText, shown: Option<Arc<str>> },
    /// Replaces a result with a stub without names.
    Bare { call: String },
}

impl Action {
    /// The calls whose results change.
    pub(super) fn results(&self) -> &[String] {
        match self {
            Action::Operation(Operation::SummarizeResults { select, .. } | Operation::DropResults { select, .. }) => {
                &select.calls
            }
            Action::Bare { call } | Action::Cut { call, .. } => std::slice::from_ref(call),
            Action::Operation(_)
            | Action::ShortInput { .. }
            | Action::DropReplaced { .. }
            | Action::DropThinking { .. } => &[],
        }
    }

    /// Keeps only the calls for which `keep` holds. False if none is left.
    pub(super) fn retain(&mut self, keep: impl Fn(&str) -> bool) -> bool {
        match self {
            Action::Operation(Operation::SummarizeResults { select, .. } | Operation::DropResults { select, .. }) => {
                let named = !select.calls.is_empty();
                select.calls.retain(|call| keep(call));
                !named || !select.calls.is_empty()
            }
            Action::Bare { call } | Action::Cut { call, .. } => keep(call),
            Action::ShortInput { call } | Action::DropReplaced { call } => keep(call),
            Action::Operation(_) | Action::DropThinking { .. } => true,
        }
    }
}

/// The calls whose results the proposals refer to.
pub(super) fn referred(proposed: &[Proposal]) -> Vec<Arc<str>> {
    let shown = |proposal: &Proposal| match &proposal.what {
        Action::Cut { shown, .. } => shown.clone(),
        _ => None,
    };
    proposed.iter().filter_map(shown).collect()
}

impl Proposal {
    /// Drops these results.
    pub fn clear<'i>(items: impl IntoIterator<Item = &'i Item>, reason: impl Into<String>) -> Option<Proposal> {
        let calls: Vec<String> = items.into_iter().map(|item| item.call.to_string()).collect();
        if calls.is_empty() {
            return None;
        }
        let select = Select { calls, ..Select::default() };
        let operation = Operation::DropResults { ids: Vec::new(), select, result: None };
        Some(Proposal { what: Action::Operation(operation), reason: reason.into() })
    }

    /// Reduces each of these results to its names; the engine has the texts and fills them in.
    pub fn shorten<'i>(items: impl IntoIterator<Item = &'i Item>, reason: &str) -> Vec<Proposal> {
        items.into_iter().map(|item| Proposal::result(item, None, reason)).collect()
    }

    /// Replaces a result with this text.
    pub fn instead(item: &Item, text: String, reason: &str) -> Proposal {
        Proposal::result(item, Some(text), reason)
    }

    /// Replaces a result with some of its lines. `shown`: the call whose result has them.
    pub fn cut(item: &Item, (text, shown): (CutText, Option<Arc<str>>), reason: &str) -> Proposal {
        Proposal { what: Action::Cut { call: item.call.to_string(), text, shown }, reason: reason.to_owned() }
    }

    /// Shortens the input of a result's call.
    pub fn short_input(item: &Item, reason: &str) -> Proposal {
        Proposal { what: Action::ShortInput { call: item.call.clone() }, reason: reason.to_owned() }
    }

    /// Takes the text that an edit replaced out of its call.
    pub fn without_replaced(item: &Item, reason: &str) -> Proposal {
        Proposal { what: Action::DropReplaced { call: item.call.clone() }, reason: reason.to_owned() }
    }

    /// Drops thinking.
    pub fn drop_thinking(thought: &Thought, reason: &str) -> Proposal {
        let Thought { message, block, .. } = *thought;
        Proposal { what: Action::DropThinking { message, block }, reason: reason.to_owned() }
    }

    fn result(item: &Item, text: Option<String>, reason: &str) -> Proposal {
        let select = Select { calls: vec![item.call.to_string()], ..Select::default() };
        let operation = Operation::SummarizeResults { ids: Vec::new(), select, result: None, text };
        Proposal { what: Action::Operation(operation), reason: reason.to_owned() }
    }
}
