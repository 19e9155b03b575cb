//! Clears as the provider does: above a size, all results but the newest.

use ctx_core::policy::{Item, Look, Policy, Proposal};

/// Clears all results but the newest ones above a number of tokens, as the provider's `clear_tool_uses` does.
pub struct Keep {
    above: u64,
    keep: usize,
    name: String,
    about: String,
}

impl Keep {
    /// Clears all but the newest `keep` results of a conversation of at least `above` tokens.
    pub fn above(above: u64, keep: usize) -> Keep {
        let (name, when) = match above {
            0 => (format!("keep-{keep}"), "before every request".to_owned()),
            _ => (format!("clear-{}k-keep-{keep}", above / 1000), format!("above {above} tokens")),
        };
        Keep { above, keep, name, about: format!("{when} all results but the newest {keep} go") }
    }
}

impl Policy for Keep {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        &self.about
    }

    fn propose(&self, look: &Look) -> Vec<Proposal> {
        if look.tokens < self.above {
            return Vec::new();
        }
        let older = look.items.len().saturating_sub(self.keep);
        let go = look.items.iter().take(older).filter(|item: &&Item| !item.cleared && !item.pinned);
        Proposal::clear(go, format!("all but the newest {} results go", self.keep)).into_iter().collect()
    }
}
