//! What the provider reported, added to the conversation it belongs to.

use crate::conversation::Pending;
use crate::directory::lock;
use crate::log::{self, Answered, Weighed};
use crate::observe::Ticket;
use crate::{Composer, Credentials, EDITED, Problem, card, mark, record};
use ctx_api::requests::{ErrorSaid, Usage};
use ctx_api::timeline::ProviderEdit;
use ctx_core::Key;
use ctx_store::{Note, Step};
use ctx_wire::Wire;
use ctx_wire::answer::{Answer, AppliedEdit, Ending};

/// When things happened, in milliseconds of the daemon's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    pub at: u64,
    pub first_byte_ms: Option<u64>,
    pub total_ms: u64,
}

impl Composer {
    /// Takes note of an answer. Without an `ending` the provider could not be reached.
    pub fn answered(
        &self,
        ticket: &Ticket,
        ending: Option<Ending>,
        answer: Option<Answer>,
        timing: Timing,
    ) -> Result<(), Problem> {
        let Some(shared) = self.get(&ticket.conversation)? else { return Ok(()) };
        let mut conversation = lock(&shared);
        let mut step = Step::default();
        let newest = ticket.turn && ticket.request == conversation.progress.last_turn;
        let reply = answer.as_ref().and_then(|answer| answer.reply.clone());
        let mut answered =
            to_record(conversation.wire, ticket, ending, answer, timing, newest.then(|| conversation.estimate()));
        let mut sent = conversation.composing.sent.remove(&ticket.request);
        if newest {
            let known = sent.as_mut().map(|sent| (std::mem::take(&mut sent.left_out), sent.dropped));
            (conversation.reasoning.left_out, conversation.reasoning.dropped) = known.unwrap_or_default();
        }
        match sent {
            Some(sent) => {
                answered.prefix = Some(sent.prefix);
                // What the provider counted is what it was sent.
                answered.estimated = answered.estimated.map(|_| sent.weight);
                answered.edited = Some(Weighed { sent: sent.weight, own: sent.own_weight });
                answered.marks = sent.marks;
                answered.repairs = sent.repairs;
            }
            // It went out as it came.
            None if newest && answered.status == 200 && !answered.signatures.is_empty() => {
                answered.prefix = Some(conversation.own_prefix());
            }
            None => {}
        }
        let whole = reply.as_deref().filter(|_| newest && answered.status == 200 && answered.ending == "complete");
        self.engine.told(&mut conversation, &mut answered, whole);
        conversation.learn(&answered, timing.at.saturating_sub(timing.total_ms));
        if conversation.waits() {
            self.set_alarm(&conversation);
        }
        if answered.status == 200 {
            let signatures: Vec<Key> = answered.signatures.iter().filter_map(|text| text.parse().ok()).collect();
            conversation.bind(signatures.into_iter(), &answered);
        }
        if newest && let Some(reply) = reply {
            step.notes.push(Note {
                conversation: conversation.id.clone(),
                name: "pending".into(),
                body: Some(reply.clone()),
            });
            conversation.pending = Some(Pending::new(conversation.wire, reply));
        }
        step.records.push(record(&conversation.id, timing.at, log::ANSWERED, &answered, Vec::new()));
        if newest {
            let card = card::of(&conversation);
            if answered.summary.is_some() {
                // It has to be seen to in every request from now on.
                step.notes.push(mark(&conversation.id, EDITED, true));
                self.held.put(&card, true);
            }
            step.notes.push(card::note(&card));
            lock(&self.directory).put(card);
        }
        if conversation.sides.answered(&answered) {
            self.note_sides(&conversation, &mut step);
        }
        self.write(step);
        Ok(())
    }
}

fn to_record(
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
    let edit = |edit: &AppliedEdit| ProviderEdit {
        kind: edit.kind.clone(),
        cleared_tool_uses: edit.cleared_tool_uses,
        cleared_thinking_turns: edit.cleared_thinking_turns,
        cleared_input_tokens: edit.cleared_input_tokens,
        ..ProviderEdit::default()
    };
    record.applied_edits = answer.applied_edits.iter().map(edit).collect();
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
pub(crate) fn told(message: &str) -> String {
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
