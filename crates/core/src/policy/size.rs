use super::{Look, Policy, Proposed};

const LARGE: u64 = 4_000;
const STEPS: usize = 5;

/// Large results go five steps after they came.
pub struct Size;

impl Policy for Size {
    fn name(&self) -> &str {
        "large"
    }

    fn about(&self) -> &str {
        "results of more than 4,000 tokens go when they are 5 steps old"
    }

    fn propose(&self, look: &Look) -> Vec<Proposed> {
        let large = look.whole().filter(|item| item.tokens > LARGE && look.age(item) >= STEPS);
        Proposed::clear(large, format!("larger than {LARGE} tokens")).into_iter().collect()
    }
}
