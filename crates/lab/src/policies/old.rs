//! Clears each result at a certain age.

use ctx_core::policy::{Look, Policy, Proposal};

const STEPS: usize = 20;

/// Clears each result as soon as it is 20 steps old. One at a time, so the cache is rewritten constantly.
pub struct Old;

impl Policy for Old {
    fn name(&self) -> &str {
        "older-than-20"
    }

    fn about(&self) -> &str {
        "each result goes when it is 20 steps old"
    }

    fn propose(&self, look: &Look) -> Vec<Proposal> {
        let old = look.whole().filter(|item| look.age(item) >= STEPS);
        Proposal::clear(old, format!("older than {STEPS} steps")).into_iter().collect()
    }
}
