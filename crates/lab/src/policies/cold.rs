//! Clears when the cache has expired, and otherwise as the provider does.

use super::Keep;
use ctx_core::policy::{Look, Policy, Proposal};

const STEPS: usize = 5;

/// Clears all older results when the provider's cache has expired: everything is written again then, so clearing costs
/// nothing. Otherwise as the provider does.
pub struct Cold;

impl Policy for Cold {
    fn name(&self) -> &str {
        "cold"
    }

    fn about(&self) -> &str {
        "when the cache has expired, results older than 5 steps go; above 100,000 tokens all but the newest 3"
    }

    fn propose(&self, look: &Look) -> Vec<Proposal> {
        if !look.cold {
            return Keep::above(100_000, 3).propose(look);
        }
        let old = look.whole().filter(|item| look.age(item) >= STEPS);
        Proposal::clear(old, "the cache has expired, so this costs nothing").into_iter().collect()
    }
}
