//! Adds a response to its conversation.

use crate::card::{self, Card};
use crate::conversation::Conversation;
use crate::conversation::policy::ToolUse;
use crate::credentials::quoted;
use crate::log::{self, AnswerRecord, WeightEstimates};
use crate::request::Ticket;
use crate::{EDITED, Engine, mark, record};
use ctx_api::requests::{AnswerError, Usage};
use ctx_api::timeline::ProviderEdit;
use ctx_core::Key;
use ctx_store::Step;
use ctx_wire::Wire;
use ctx_wire::answer::{Answer, AppliedEdit, Ending};

/// Times in milliseconds of the daemon's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    pub at: u64,
    pub first_byte_ms: Option<u64>,
    pub total_ms: u64,
}

/// A response, as far as it was received.
pub struct Response {
    /// `None`: the provider could not be reached.
    pub ending: Option<Ending>,
    pub answer: Option<Answer>,
    pub timing: Timing,
}

/// The records to store for a response, and the card of its conversation if it changed.
pub struct ResponseBooking {
    pub step: Step,
    pub answered: AnswerRecord,
    pub card: Option<Card>,
    /// The tools of the conversation, if the provider refused its diet.
    pub tools: Option<ToolUse>,
    /// It answers side traffic.
    pub is_side: bool,
}

impl Engine {
    pub fn answered(&self, conversation: &mut Conversation, ticket: &Ticket, response: Response) -> ResponseBooking {
        let Response { ending, answer, timing } = response;
        let is_newest = ticket.turn && ticket.request == conversation.progress.last_turn;
        let reply = answer.as_ref().map(|answer| answer.reply.clone()).unwrap_or_default();
        let estimated = is_newest.then(|| conversation.estimate());
        let mut answered = to_record(conversation.wire(), ticket, ending, answer, timing, estimated);
        answered.asked_lifetime = conversation.asked_lifetime().filter(|_| is_newest);
        recall_sent(conversation, &mut answered, is_newest);
        let is_whole = is_newest && answered.status == 200 && answered.ending == "complete";
        self.told(conversation, &mut answered, reply.first().filter(|_| is_whole).map(Vec::as_slice));
        conversation.learn(&answered, timing.at.saturating_sub(timing.total_ms));
        conversation.usage.account.price(&self.models);
        if answered.status == 200 {
            let signatures: Vec<Key> = answered.signatures.iter().filter_map(|text| text.parse().ok()).collect();
            conversation.bind(signatures.into_iter(), &answered);
        }
        let mut step = Step::default();
        if !reply.is_empty() && conversation.awaits_reply(ticket.request) {
            conversation.take_reply(ticket.request, reply);
            step.notes.push(conversation.pending_note());
        }
        conversation.extend_thread(&answered);
        step.records.push(record(conversation.id(), timing.at, log::ANSWERED, &answered, Vec::new()));
        let card = is_newest.then(|| card::of(conversation));
        if is_newest && answered.summary.is_some() {
            // From now on every request must be checked for it.
            step.notes.push(mark(conversation.id(), EDITED, true));
        }
        step.notes.extend(card.as_ref().map(card::note));
        let tools = if is_newest { self.end_diet(conversation, &answered, timing.at, &mut step) } else { None };
        let is_side = conversation.usage.sides.answered(&answered);
        ResponseBooking { step, answered, card, tools, is_side }
    }
}

/// Adds the facts of the request as it was sent.
fn recall_sent(conversation: &mut Conversation, answered: &mut AnswerRecord, is_newest: bool) {
    let mut sent = conversation.composing.sent.remove(&answered.request);
    if is_newest {
        let known = sent.as_mut().map(|sent| (std::mem::take(&mut sent.left_out), sent.dropped));
        (conversation.reasoning.left_out, conversation.reasoning.dropped) = known.unwrap_or_default();
    }
    match sent {
        Some(sent) => {
            answered.prefix = Some(sent.prefix);
            // The provider counted the request as sent.
            answered.estimated = answered.estimated.map(|_| sent.weight);
            answered.edited = Some(WeightEstimates { sent: sent.weight, own: sent.own_weight });
            answered.marks = sent.marks;
            answered.repairs = sent.repairs;
        }
        // It left unchanged.
        None if is_newest && answered.status == 200 && !answered.signatures.is_empty() => {
            answered.prefix = Some(conversation.own_prefix());
        }
        None => {}
    }
}

fn to_record(
    wire: &dyn Wire,
    ticket: &Ticket,
    ending: Option<Ending>,
    answer: Option<Answer>,
    timing: Timing,
    estimated: Option<f64>,
) -> AnswerRecord {
    let ending = match ending {
        Some(Ending::Complete) => "complete",
        Some(Ending::Cut) => "cut",
        Some(Ending::Cancelled) => "cancelled",
        None => "unreachable",
    };
    let mut record = AnswerRecord {
        request: ticket.request,
        status: 0,
        ending: ending.into(),
        stop_reason: None,
        usage: None,
        asked_lifetime: None,
        message_id: None,
        error: None,
        param: None,
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
    if let Some(error) = answer.error {
        let kind = error.kind.or(error.code).unwrap_or_else(|| "unknown".into());
        record.param = error.param.as_deref().map(quoted);
        record.error = Some(AnswerError { kind, message: quoted(&error.message) });
    }
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
