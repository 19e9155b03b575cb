//! All that one commit clears: the ledger gives the total in the first line of a batch.

use super::candidates::Candidates;
use crate::conversation::Conversation;
use ctx_core::edit::Operation;
use ctx_core::format::count;
use ctx_core::policy::{Action, Look, Proposal};

/// How many results and inputs are cleared together, and their tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Batch {
    pub size: usize,
    pub tokens: u64,
}

impl Batch {
    /// The results and inputs that leave the context. Results that are only trimmed, or that have to stay because
    /// they hold more than text, do not count.
    pub fn of(proposed: &[Proposal], conversation: &Conversation, seen: &Candidates, look: &Look<'_>) -> Batch {
        let item = |call: &str| look.items.iter().find(|item| &*item.call == call);
        let has_source = |call: &str| seen.source(conversation, call).is_some();
        let result = |call: &str| item(call).filter(|_| has_source(call)).map_or(0, |item| item.tokens);
        let input = |call: &str| item(call).and_then(|item| item.input).map_or(0, |input| input.tokens);
        let mut batch = Batch::default();
        for Proposal { what, .. } in proposed {
            match what {
                Action::Operation(Operation::SummarizeResults { select, text: None, .. })
                | Action::Operation(Operation::DropResults { select, result: None, .. }) => {
                    select.calls.iter().for_each(|call| batch.add(result(call)));
                }
                Action::Bare { call } => batch.add(result(call)),
                Action::ShortInput { call } => batch.add(input(call)),
                Action::Operation(_) => {}
            }
        }
        batch
    }

    pub fn add(&mut self, tokens: u64) {
        if tokens > 0 {
            self.size += 1;
            self.tokens += tokens;
        }
    }

    /// Nothing for a single one: its line has its tokens.
    pub fn in_words(&self) -> Option<String> {
        (self.size > 1).then(|| format!("{} in this batch, {} tokens in total", self.size, count(self.tokens)))
    }
}
