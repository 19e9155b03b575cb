//! (see docs/ARCHITECTURE.md)

pub mod encoding;
pub mod sse;
