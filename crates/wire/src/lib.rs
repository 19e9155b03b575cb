//! Wire formats: one folder a format. Bytes in, facts out; no I/O, no clock.
//!
//! [`json`] finds spans, [`anthropic`] knows what they mean, [`sse`] and [`encoding`] read the
//! copy of a response. Nothing here writes a request anew: what no operation touched leaves as it came.

pub mod anthropic;
pub mod encoding;
pub mod json;
pub mod pieces;
pub mod sse;
