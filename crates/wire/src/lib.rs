//! Wire formats, one folder each. Bytes in, facts out; no I/O, no clock.
//!
//! [`Wire`] is the interface of a format; [`wire`] returns that of a conversation, [`route`] that of a call. [`body`]
//! finds the history, [`json`] finds spans, [`sse`] and [`encoding`] read the copy of an answer. Nothing here rewrites
//! a request: what no operation touched leaves as it came.

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
mod marks;
mod openai;
pub mod outline;
mod provider;
mod recorded;
pub mod responses;
pub mod rope;
pub mod rules;
pub mod sse;
pub(crate) mod tap;
mod wire;

pub use ctx_core::WireId;
pub use provider::Provider;
pub use recorded::{Opening, of_body};
pub use wire::{Call, Insertion, LocalError, Reading, Wire};

/// All wires, in routing order.
static WIRES: [&dyn Wire; 4] = [&anthropic::Anthropic, &chat::Chat, &responses::Responses, &gemini::Gemini];

/// The wire of this name.
pub fn wire(id: WireId) -> &'static dyn Wire {
    match id {
        WireId::Anthropic => &anthropic::Anthropic,
        WireId::OpenaiChat => &chat::Chat,
        WireId::OpenaiResponses => &responses::Responses,
        WireId::Gemini => &gemini::Gemini,
    }
}

/// The body of an error for a client that called this path. Calls of no known wire get Anthropic's format.
pub fn error_body(path: &str, status: u16, error: &LocalError<'_>) -> String {
    let wire = route("POST", path).map_or(WIRES[0], |(wire, _)| wire);
    wire.error_body(status, error)
}

/// The wire of a call, by its path.
pub fn route(method: &str, path: &str) -> Option<(&'static dyn Wire, Call)> {
    WIRES.iter().find_map(|wire| Some((*wire, wire.route(method, path)?)))
}
