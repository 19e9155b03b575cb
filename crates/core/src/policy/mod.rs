//! Policies: what of a conversation should go, as a pure function of how it looks. Each one is a file; the list of
//! them is [`all`].

mod auto;
mod cold;
pub mod extract;
mod keep;
mod look;
mod none;
mod old;
mod size;
mod superseded;
pub mod trim;

pub use auto::Auto;
pub use cold::Cold;
pub use keep::Keep;
pub use look::{Cut, Input, Item, Look, Price, Texts, Words};
pub use none::None;
pub use old::Old;
pub use size::Size;
pub use superseded::Superseded;

use crate::edit::operation::{Operation, Select};
use std::sync::Arc;

/// Something that a policy wants, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposed {
    pub what: Wanted,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Wanted {
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

impl Proposed {
    /// The contents of these results go.
    pub fn clear<'i>(items: impl IntoIterator<Item = &'i Item>, reason: impl Into<String>) -> Option<Proposed> {
        let calls: Vec<String> = items.into_iter().map(|item| item.call.to_string()).collect();
        if calls.is_empty() {
            return Option::None;
        }
        let select = Select { calls, ..Select::default() };
        let operation = Operation::DropResults { ids: Vec::new(), select, result: Option::None };
        Some(Proposed { what: Wanted::Operation(operation), reason: reason.into() })
    }

    /// Of each of these results only its names stay. Whoever has the text fills them in.
    pub fn shorten<'i>(items: impl IntoIterator<Item = &'i Item>, reason: &str) -> Vec<Proposed> {
        items.into_iter().map(|item| Proposed::result(item, Option::None, reason)).collect()
    }

    /// A result gets this content.
    pub fn instead(item: &Item, text: String, reason: &str) -> Proposed {
        Proposed::result(item, Some(text), reason)
    }

    /// What a call was asked with is shortened.
    pub fn short_input(item: &Item, reason: &str) -> Proposed {
        Proposed { what: Wanted::ShortInput { call: item.call.clone() }, reason: reason.to_owned() }
    }

    fn result(item: &Item, text: Option<String>, reason: &str) -> Proposed {
        let select = Select { calls: vec![item.call.to_string()], ..Select::default() };
        let operation = Operation::SummarizeResults { ids: Vec::new(), select, result: Option::None, text };
        Proposed { what: Wanted::Operation(operation), reason: reason.to_owned() }
    }
}

/// Looks at a conversation before each request.
pub trait Policy: Send + Sync {
    fn name(&self) -> &str;

    /// In a line, for people.
    fn about(&self) -> &str;

    /// What should be done before the next request.
    fn propose(&self, look: &Look) -> Vec<Proposed>;
}

/// Every policy, by its name. A new one is a file here and a line in this list.
pub fn all() -> Vec<Arc<dyn Policy>> {
    vec![
        Arc::new(None),
        Arc::new(Keep::above(100_000, 3)),
        Arc::new(Keep::above(60_000, 5)),
        Arc::new(Keep::above(0, 3)),
        Arc::new(Old),
        Arc::new(Superseded),
        Arc::new(Size),
        Arc::new(Cold),
        Arc::new(Auto::default()),
    ]
}
