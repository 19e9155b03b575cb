use super::{Look, Policy, Proposed};

const STEPS: usize = 20;

/// A result goes as soon as it is 20 steps old. Each one by itself: the cache is written again all the time.
pub struct Old;

impl Policy for Old {
    fn name(&self) -> &str {
        "older-than-20"
    }

    fn about(&self) -> &str {
        "each result goes when it is 20 steps old"
    }

    fn propose(&self, look: &Look) -> Vec<Proposed> {
        let old = look.whole().filter(|item| look.age(item) >= STEPS);
        Proposed::clear(old, format!("older than {STEPS} steps")).into_iter().collect()
    }
}
