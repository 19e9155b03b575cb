//! Deviations from the plain fold that the provider's rules require.

/// One deviation, with the provider's rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// The number of the rule, such as `A30`.
    pub rule: &'static str,
    pub what: String,
}

impl Repair {
    pub fn new(rule: &'static str, what: impl Into<String>) -> Repair {
        Repair { rule, what: what.into() }
    }
}
