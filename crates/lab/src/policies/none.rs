//! Changes nothing: the baseline.

use ctx_core::policy::{Look, Policy, Proposal};

/// Changes nothing.
pub struct Nothing;

impl Policy for Nothing {
    fn name(&self) -> &str {
        "none"
    }

    fn about(&self) -> &str {
        "everything stays"
    }

    fn propose(&self, _: &Look) -> Vec<Proposal> {
        Vec::new()
    }
}
