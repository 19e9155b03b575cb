//! The circumstances of a request: everything that its body does not contain.

use crate::automatic::diet::FiguresFor;
use crate::edit::Imports;
use crate::ports::Automatic;
use crate::provider::Additions;
use ctx_clients::Hints;

pub struct Circumstances<'a> {
    pub at: u64,
    pub hints: &'a Hints,
    /// It only counts tokens, and leaves no trace.
    pub counting: bool,
    /// It is held until it is composed.
    pub is_held: bool,
    /// A commit is being stored and will take effect in a moment.
    pub is_committing: bool,
    pub editor: Option<&'a dyn Automatic>,
    /// The tools that earlier conversations called.
    pub figures: FiguresFor<'a>,
    /// Content of other conversations for the pending edits.
    pub imports: &'a Imports,
    /// Additional edits that the provider is asked for.
    pub added: &'a Additions,
    /// Called now and then while no client waits.
    pub give_way: fn(),
}

impl Circumstances<'_> {
    /// Yields to other work, unless a client waits.
    pub(super) fn give_way(&self) {
        if !self.is_held {
            (self.give_way)();
        }
    }
}
