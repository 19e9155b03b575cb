//! The wires there are: by name, by the path of a call, by the form of a body.

use crate::anthropic::Anthropic;
use crate::body;
use crate::chat::Chat;
use crate::compose::spell;
use crate::gemini::Gemini;
use crate::provider_edits::Capability;
use crate::responses::Responses;
use crate::wire::{Call, LocalError, Wire};
use ctx_core::WireId;
use std::sync::OnceLock;

/// All wires, in routing order.
pub(crate) static WIRES: [&dyn Wire; 4] = [&Anthropic, &Chat, &Responses, &Gemini];

/// The wire that a program brings along, beside [`WIRES`].
static CUSTOM: OnceLock<&'static dyn Wire> = OnceLock::new();

/// Adds a wire from outside this crate; it answers to [`WireId::Custom`]. A process can have one: false if it has one
/// already.
pub fn add_custom(wire: &'static dyn Wire) -> bool {
    CUSTOM.set(wire).is_ok()
}

fn wires() -> impl Iterator<Item = &'static dyn Wire> {
    WIRES.into_iter().chain(CUSTOM.get().copied())
}

/// The wire of this name. A program without the custom wire of a conversation takes the first one, which forwards what
/// it cannot parse.
pub fn wire(id: WireId) -> &'static dyn Wire {
    match id {
        WireId::Anthropic => &Anthropic,
        WireId::OpenaiChat => &Chat,
        WireId::OpenaiResponses => &Responses,
        WireId::Gemini => &Gemini,
        WireId::Custom => CUSTOM.get().copied().unwrap_or(WIRES[0]),
    }
}

/// The body of an error for a client that called this path, with its query. Calls of no known wire get Anthropic's
/// format.
pub fn error_body(target: &str, status: u16, error: &LocalError<'_>) -> String {
    let path = target.split('?').next().unwrap_or_default();
    let wire = route("POST", path).map_or(WIRES[0], |(wire, _)| wire);
    wire.error_for(target, status, error)
}

/// The capabilities of models in a provider's list of them.
pub fn capabilities(answer: &[u8]) -> Vec<Capability> {
    let edits = wires().filter_map(|wire| wire.provider_edits());
    edits.flat_map(|edits| edits.capabilities(answer)).collect()
}

/// The wire of a call, by its path.
pub fn route(method: &str, path: &str) -> Option<(&'static dyn Wire, Call)> {
    wires().find_map(|wire| Some((wire, wire.route(method, path)?)))
}

/// The wire of a body with an unknown path: determined by the position of its history and the form of its calls.
pub fn of_body(bytes: &[u8]) -> Option<&'static dyn Wire> {
    let fitting = wires().filter(|wire| body::parse(bytes, wire.shape()).is_ok());
    let fitting: Vec<&dyn Wire> = fitting.collect();
    let is_chat = fitting.iter().any(|wire| wire.id() == WireId::OpenaiChat) && has_chat_messages(bytes);
    match is_chat {
        true => Some(wire(WireId::OpenaiChat)),
        false => fitting.first().copied(),
    }
}

/// Whether a message has a role or a member that only Chat Completions have.
fn has_chat_messages(bytes: &[u8]) -> bool {
    let Ok(spans) = body::parse(bytes, wire(WireId::OpenaiChat).shape()) else { return false };
    let of_chat = |message: &[u8]| {
        let member = |name| spell::member(message, 0, name);
        let role = member("role").and_then(|role| message.get(role.value));
        let is_role = role.is_some_and(|role| [&b"\"tool\""[..], b"\"developer\""].contains(&role));
        is_role || member("tool_calls").is_some()
    };
    !spans.lead.is_empty() || spans.messages.iter().any(|span| bytes.get(span.clone()).is_some_and(of_chat))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_tells_its_wire() {
        let of = |body: &str| of_body(body.as_bytes()).map(|wire| wire.id());
        assert_eq!(of(r#"{"input":[{"type":"message","role":"user","content":"x"}]}"#), Some(WireId::OpenaiResponses));
        assert_eq!(of(r#"{"messages":[{"role":"user","content":"x"}]}"#), Some(WireId::Anthropic));
        assert_eq!(of(r#"{"messages":[{"role":"system","content":"x"}]}"#), Some(WireId::OpenaiChat));
        assert_eq!(of(r#"{"messages":[{"role":"tool","tool_call_id":"1","content":"x"}]}"#), Some(WireId::OpenaiChat));
        assert_eq!(of(r#"{"messages":[{"role":"assistant","tool_calls":[]}]}"#), Some(WireId::OpenaiChat));
        assert_eq!((of("{}"), of("[]")), (None, None));
    }
}
