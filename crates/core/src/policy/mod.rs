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

pub use auto::Auto;
pub use cold::Cold;
pub use keep::Keep;
pub use look::{Item, Look, Price, Rates, Texts};
pub use none::None;
pub use old::Old;
pub use size::Size;
pub use superseded::Superseded;

use crate::edit::operation::{Operation, Select};
use std::sync::Arc;

/// An operation that a policy wants, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposed {
    pub operation: Operation,
    pub reason: String,
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
        Some(Proposed { operation, reason: reason.into() })
    }

    /// Of each of these results only its names stay. Whoever has the text fills them in.
    pub fn shorten<'i>(items: impl IntoIterator<Item = &'i Item>, reason: &str) -> Vec<Proposed> {
        let one = |item: &Item| {
            let select = Select { calls: vec![item.call.to_string()], ..Select::default() };
            let (ids, result, text) = (Vec::new(), Option::None, Option::None);
            Proposed { operation: Operation::SummarizeResults { ids, select, result, text }, reason: reason.to_owned() }
        };
        items.into_iter().map(one).collect()
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
