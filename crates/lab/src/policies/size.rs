//! Clears large results soon.

use ctx_core::policy::{Look, Policy, Proposal};

const LARGE: u64 = 4_000;
const STEPS: usize = 5;

/// Clears large results when they are five steps old.
pub struct Size;

impl Policy for Size {
    fn name(&self) -> &str {
        "large"
    }

    fn about(&self) -> &str {
        "results of more than 4,000 tokens go when they are 5 steps old"
    }

    fn propose(&self, look: &Look) -> Vec<Proposal> {
        let large = look.whole().filter(|item| item.tokens > LARGE && look.age(item) >= STEPS);
        Proposal::clear(large, format!("larger than {LARGE} tokens")).into_iter().collect()
    }
}
