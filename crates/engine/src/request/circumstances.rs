//! What is known of a request beside its body.

use crate::edit::Imports;
use crate::ports::Automatic;
use crate::provider::Additions;
use ctx_clients::Hints;

/// Everything about a request that its body does not say.
pub struct Circumstances<'a> {
    pub at: u64,
    pub hints: &'a Hints,
    /// It only asks how many tokens it would be: it leaves no trace.
    pub counting: bool,
    /// It waits until it is composed.
    pub is_held: bool,
    /// A commit is being stored, and counts in a moment.
    pub is_committing: bool,
    pub editor: Option<&'a dyn Automatic>,
    /// Content of other conversations for the edits that wait.
    pub imports: &'a Imports,
    /// What the provider is asked for beside it.
    pub added: &'a Additions,
    /// Called now and then while no client waits.
    pub give_way: fn(),
}

impl Circumstances<'_> {
    /// Nobody is given way while a client waits.
    pub(super) fn give_way(&self) {
        if !self.is_held {
            (self.give_way)();
        }
    }
}
