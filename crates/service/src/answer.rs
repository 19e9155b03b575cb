//! What the provider reported, added to the conversation it belongs to.

use crate::Service;
use crate::directory::lock;
use ctx_core::Key;
use ctx_engine::answer::{Timing, to_record};
use ctx_engine::conversation::Pending;
use ctx_engine::log::{self, Weighed};
use ctx_engine::request::Ticket;
use ctx_engine::{EDITED, Problem, card, mark, record};
use ctx_store::{Note, Step};
use ctx_wire::answer::{Answer, Ending};

impl Service {
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
        answered.message_id.iter().for_each(|id| self.answers.put(id, &ticket.conversation));
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
        self.provider.counts.answered(&answered);
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
