//! An entry in the list of rules.

/// One rule by which a provider refuses requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    pub number: &'static str,
    /// The rule in a few words.
    pub name: &'static str,
    /// The provider's requirement, and the consequence of breaking it.
    pub why: &'static str,
    /// The action of `ctx`, and the remaining work.
    pub advice: &'static str,
}

pub(crate) const fn rule(number: &'static str, name: &'static str, why: &'static str, advice: &'static str) -> Rule {
    Rule { number, name, why, advice }
}
