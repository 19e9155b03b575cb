//! Proposals: the operations that a policy asks for, and why.

use super::candidates::Item;
use crate::edit::operation::{Operation, Select};

/// Something that a policy wants, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    pub what: Action,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    Operation(Operation),
    /// Of the long texts that a call was asked with only their names stay.
    ShortInput {
        call: Box<str>,
    },
    /// Of a result nothing stays but where it is kept.
    Bare {
        call: String,
    },
}

impl Proposal {
    /// The contents of these results go.
    pub fn clear<'i>(items: impl IntoIterator<Item = &'i Item>, reason: impl Into<String>) -> Option<Proposal> {
        let calls: Vec<String> = items.into_iter().map(|item| item.call.to_string()).collect();
        if calls.is_empty() {
            return None;
        }
        let select = Select { calls, ..Select::default() };
        let operation = Operation::DropResults { ids: Vec::new(), select, result: None };
        Some(Proposal { what: Action::Operation(operation), reason: reason.into() })
    }

    /// Of each of these results only its names stay. Whoever has the text fills them in.
    pub fn shorten<'i>(items: impl IntoIterator<Item = &'i Item>, reason: &str) -> Vec<Proposal> {
        items.into_iter().map(|item| Proposal::result(item, None, reason)).collect()
    }

    /// A result gets this content.
    pub fn instead(item: &Item, text: String, reason: &str) -> Proposal {
        Proposal::result(item, Some(text), reason)
    }

    /// What a call was asked with is shortened.
    pub fn short_input(item: &Item, reason: &str) -> Proposal {
        Proposal { what: Action::ShortInput { call: item.call.clone() }, reason: reason.to_owned() }
    }

    fn result(item: &Item, text: Option<String>, reason: &str) -> Proposal {
        let select = Select { calls: vec![item.call.to_string()], ..Select::default() };
        let operation = Operation::SummarizeResults { ids: Vec::new(), select, result: None, text };
        Proposal { what: Action::Operation(operation), reason: reason.to_owned() }
    }
}
