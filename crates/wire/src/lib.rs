//! Wire formats, one folder each. Bytes in, facts out; no I/O, no clock.
//!
//! [`Wire`] is the interface of a format; [`wire()`] returns that of a conversation, [`route`] that of a call. [`body`]
//! finds the history, [`json`] finds spans, [`sse`] and [`encoding`] read the copy of an answer. Nothing here rewrites
//! a request: untouched parts leave byte for byte.

pub mod answer;
pub mod anthropic;
mod arguments;
pub mod body;
pub mod chat;
pub mod compose;
pub mod dress;
pub mod encoding;
pub mod envelope;
mod facts;
mod folder;
pub mod gemini;
pub mod json;
mod local_error;
mod marks;
mod openai;
pub mod outline;
mod provider;
pub mod provider_edits;
pub mod question;
mod recorded;
pub mod refused;
mod registry;
pub mod responses;
pub mod rope;
pub mod rules;
pub mod socket;
pub mod sse;
pub mod tap;
mod wire;

pub use ctx_core::WireId;
pub use facts::{Bare, Facts, Reading};
pub use provider::Provider;
pub use recorded::Opening;
pub use registry::{add_custom, capabilities, error_body, of_body, route, wire};
pub use wire::{BETA_HEADER, Call, Insertion, LocalError, Wire};
