//! What had to differ from the plain fold so that the provider accepts it.

/// One deviation, with the rule of the provider that asked for it.
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
