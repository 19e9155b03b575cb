use super::{Look, Policy, Proposed};

/// Nothing is done.
pub struct None;

impl Policy for None {
    fn name(&self) -> &str {
        "none"
    }

    fn about(&self) -> &str {
        "everything stays"
    }

    fn propose(&self, _: &Look) -> Vec<Proposed> {
        Vec::new()
    }
}
