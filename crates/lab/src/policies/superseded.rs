//! Clears file reads that a later read or change superseded.

use ctx_core::policy::{Look, Policy, Proposal};

/// Fewer tokens are not worth an edit.
const LEAST: u64 = 5_000;

/// Clears reads of files that were read again or changed later, as soon as they are large enough.
pub struct Superseded;

impl Policy for Superseded {
    fn name(&self) -> &str {
        "superseded"
    }

    fn about(&self) -> &str {
        "views of files that were read again or changed go"
    }

    fn propose(&self, look: &Look) -> Vec<Proposal> {
        let go: Vec<_> = look.whole().filter(|item| item.superseded).collect();
        if go.iter().map(|item| item.tokens).sum::<u64>() < LEAST {
            return Vec::new();
        }
        Proposal::clear(go, "read again, or changed, later").into_iter().collect()
    }
}
