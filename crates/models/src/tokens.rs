//! The size of a token, for estimates before the provider has counted.

/// What a tokenizer makes of text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// Characters that a token stands for.
    pub chars_per_token: f64,
    /// Tokens that each block costs on top.
    pub per_block: f64,
}

/// Measured on recorded sessions.
pub const CLAUDE: Weights = Weights { chars_per_token: 2.92, per_block: 31.0 };
