use super::{Look, Policy, Proposed};

/// Less is not worth a request.
const LEAST: u64 = 5_000;

/// What was read from files that were read again, or changed, later, goes as soon as it is enough.
pub struct Superseded;

impl Policy for Superseded {
    fn name(&self) -> &str {
        "superseded"
    }

    fn about(&self) -> &str {
        "what was read from files that were read again or changed goes"
    }

    fn propose(&self, look: &Look) -> Vec<Proposed> {
        let go: Vec<_> = look.whole().filter(|item| item.superseded).collect();
        if go.iter().map(|item| item.tokens).sum::<u64>() < LEAST {
            return Vec::new();
        }
        Proposed::clear(go, "read again, or changed, later").into_iter().collect()
    }
}
