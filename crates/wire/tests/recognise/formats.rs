//! The same error rates in the formats of other clients, over their recorded conversations, replayed turn by turn.

use crate::behaviour::Behaviour;
use crate::history::Identity;
use crate::render::{Rendered, Truth};
use crate::tally::Tally;
use crate::watch::{Expect, Watch};
use ctx_core::WireId;
use ctx_wire::body::Body;
use ctx_wire::wire;
use serde_json::Value;

/// The formats with recordings, and the client that was recorded.
const RECORDED: [(WireId, &str); 3] =
    [(WireId::OpenaiChat, "opencode"), (WireId::OpenaiResponses, "codex"), (WireId::Gemini, "gemini")];

/// A recorded request: its envelope, and the elements of its history, the leading ones of the system prompt apart.
#[derive(Clone)]
struct Recording {
    format: WireId,
    name: String,
    envelope: Value,
    lead: Vec<Value>,
    elements: Vec<Value>,
}

fn list(format: WireId) -> &'static str {
    match format {
        WireId::OpenaiResponses => "input",
        WireId::Gemini => "contents",
        _ => "messages",
    }
}

fn recordings(format: WireId, client: &str) -> Vec<Recording> {
    let read = |(name, bytes): (String, Vec<u8>)| {
        let mut envelope: Value = serde_json::from_slice(&bytes).expect("JSON");
        let body = Body::parse(bytes, wire(format)).expect("a request");
        let Value::Array(mut lead) = envelope[list(format)].take() else { panic!("{name}: no history") };
        let elements = lead.split_off(body.spans().lead.len());
        Recording { format, name, envelope, lead, elements }
    };
    testkit::recorded_bodies(client).into_iter().map(read).collect()
}

/// Whether the model produced the element.
fn is_models(element: &Value) -> bool {
    let kind = element["type"].as_str().unwrap_or_default();
    matches!(element["role"].as_str(), Some("assistant" | "model")) || kind == "reasoning" || kind.ends_with("_call")
}

impl Recording {
    /// Where the client had to wait for the model.
    fn is_request_end(&self, at: usize) -> bool {
        at > 0 && is_models(&self.elements[at]) && !is_models(&self.elements[at - 1])
    }

    fn rendered(&self, history: &[(Identity, Value)]) -> Rendered {
        let mut body = self.envelope.clone();
        body[list(self.format)] = self.lead.iter().chain(history.iter().map(|(_, element)| element)).cloned().collect();
        let truth = |(identity, _): &(Identity, Value)| Truth { identity: *identity, either: false, injected: false };
        Rendered { bytes: body.to_string().into_bytes(), truth: history.iter().map(truth).collect() }
    }

    /// Sends what was sent: all that stood before each reply.
    fn replay(&self, watch: &mut Watch) {
        let history: Vec<(Identity, Value)> = (0..).zip(self.elements.iter().cloned()).collect();
        for end in (1..self.elements.len()).filter(|at| self.is_request_end(*at)) {
            watch.turn(&self.rendered(&history[..end]), Behaviour::Turn, Expect::Plain);
        }
    }
}

#[test]
fn recorded_conversations_of_every_format_replayed_turn_by_turn_lose_nothing_and_take_nothing() {
    for (format, client) in RECORDED {
        let mut tally = Tally::default();
        for recording in recordings(format, client) {
            let mut watch = Watch::on(format, recording.name.clone(), &mut tally);
            recording.replay(&mut watch);
            watch.restart();
        }
        println!("{}, turn by turn", format.name());
        tally.assert_at_most(0.0, 0.0);
    }
}
