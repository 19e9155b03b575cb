//! Errors that the proxy answers itself.

/// An error answered by the proxy itself.
#[derive(Debug, Clone, Copy)]
pub struct LocalError<'e> {
    /// Its kind in Anthropic's terms, which are the most detailed.
    pub kind: &'static str,
    pub code: &'static str,
    pub message: &'e str,
}
