//! What the provider reported, added to the conversation it belongs to.

use crate::Credentials;
use crate::log::Answered;
use crate::request::Ticket;
use ctx_api::requests::{ErrorSaid, Usage};
use ctx_wire::Wire;
use ctx_wire::answer::{Answer, Ending};

/// When things happened, in milliseconds of the daemon's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    pub at: u64,
    pub first_byte_ms: Option<u64>,
    pub total_ms: u64,
}

pub fn to_record(
    wire: &dyn Wire,
    ticket: &Ticket,
    ending: Option<Ending>,
    answer: Option<Answer>,
    timing: Timing,
    estimated: Option<f64>,
) -> Answered {
    let ending = match ending {
        Some(Ending::Complete) => "complete",
        Some(Ending::Cut) => "cut",
        Some(Ending::Cancelled) => "cancelled",
        None => "unreachable",
    };
    let mut record = Answered {
        request: ticket.request,
        status: 0,
        ending: ending.into(),
        stop_reason: None,
        usage: None,
        message_id: None,
        error: None,
        applied_edits: Vec::new(),
        transformations: Vec::new(),
        signatures: Vec::new(),
        prefix: None,
        marks: Vec::new(),
        repairs: Vec::new(),
        cache_miss_reason: None,
        edited: None,
        estimated,
        first_byte_ms: timing.first_byte_ms,
        total_ms: timing.total_ms,
        undecodable: None,
        model: None,
        summary: None,
        summarised: false,
    };
    let Some(answer) = answer else { return record };
    record.status = answer.status;
    record.stop_reason = answer.stop_reason;
    record.message_id = answer.message_id;
    record.model = answer.model;
    record.usage = answer.usage.map(|usage| Usage {
        input: usage.input,
        cache_read: usage.cache_read,
        cache_write: usage.cache_write,
        output: usage.output,
        cache_write_1h: usage.cache_write_1h.filter(|&tokens| tokens > 0),
        thinking: usage.thinking.filter(|&tokens| tokens > 0),
    });
    record.usage = record.usage.filter(Usage::is_believable);
    record.error = answer
        .error
        .map(|error| ErrorSaid { kind: error.kind.unwrap_or_else(|| "unknown".into()), message: told(&error.message) });
    record.applied_edits = answer.applied_edits.iter().map(|edit| serde_json::json!({
        "kind": edit.kind, "cleared_tool_uses": edit.cleared_tool_uses,
        "cleared_thinking_turns": edit.cleared_thinking_turns, "cleared_input_tokens": edit.cleared_input_tokens,
    })).collect();
    record.transformations = answer
        .transformations
        .iter()
        .map(|seen| {
            serde_json::json!({
                "kind": seen.kind, "path": seen.path, "reason": seen.reason,
            })
        })
        .collect();
    record.signatures = answer.signatures.iter().map(|text| wire.signature(text).to_string()).collect();
    record.cache_miss_reason = answer.cache_miss_reason;
    record.undecodable = answer.undecodable;
    record
}

/// A provider's words, cut to what a person reads. Some gateways repeat a key, and not only the client's own, which the
/// recorder has hidden already.
pub fn told(message: &str) -> String {
    const MOST: usize = 2000;
    let cut: String = message.chars().take(MOST).collect();
    Credentials::default().hide(&cut)
}

#[cfg(test)]
mod tests {
    use super::told;

    #[test]
    fn the_providers_words_are_kept_but_no_key_and_no_book() {
        assert_eq!(told("messages.1: bad\n  role"), "messages.1: bad\n  role");
        assert!(!told("Incorrect API key provided: 'sk-ant-api03-hush-hush'.").contains("hush"));
        assert_eq!(told(&"x".repeat(100_000)).len(), 2000);
    }
}
