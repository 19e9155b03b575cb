//! Finds the conversation of a response, lets the engine add it, and updates the rest of the service.

use crate::observe::Posture;
use crate::parts::Parts;
use crate::threads::lock;
use ctx_engine::Problem;
use ctx_engine::request::Ticket;
use ctx_engine::response::{Response, ResponseBooking, Timing};
use ctx_models::Lookup;
use ctx_wire::answer::{Answer, Ending};

impl Parts {
    pub(crate) fn answered(
        &self,
        ticket: &Ticket,
        ending: Option<Ending>,
        answer: Option<Answer>,
        timing: Timing,
    ) -> Result<(), Problem> {
        self.meter.get().iter().for_each(|meter| meter.answered(ticket.class, ending));
        let Some(shared) = self.get(&ticket.conversation)? else { return Ok(()) };
        let mut conversation = lock(&shared);
        // Another daemon overtook its request, and may have given the same number to its own.
        if self.replica.is_some() && conversation.log.losses != ticket.losses {
            return Ok(());
        }
        let response = Response { ending, answer, timing };
        let was = Posture::of(&conversation);
        let ResponseBooking { mut step, answered, card, tools, is_side } =
            self.engine.answered(&mut conversation, ticket, response);
        if let Some(tools) = tools {
            lock(&self.tool_uses).put(conversation.id(), tools);
            self.follow(&was, &conversation);
        }
        answered.message_id.iter().for_each(|id| self.answers.put(id, &ticket.conversation));
        self.provider.counts.answered(&answered);
        if let (Some(meter), Some(usage)) = (self.meter.get(), &answered.usage) {
            let model = answered.model.as_deref().or(conversation.newest.envelope.model.as_deref());
            meter.used(self.listed_name(model), usage);
        }
        if conversation.waits() {
            self.set_alarm(&conversation);
        }
        if let Some(card) = card {
            if answered.summary.is_some() {
                self.held.put(&card, true);
            }
            lock(&self.directory).put(card);
        }
        if is_side {
            self.note_sides(&conversation, &mut step);
        }
        self.write_for(&conversation, step);
        Ok(())
    }

    /// The model's name in the catalogue. Others share one: clients may send any text.
    fn listed_name(&self, model: Option<&str>) -> &str {
        match model.map(|model| self.engine.models.of(model)) {
            Some(Lookup::Listed(model)) => &model.name,
            _ => "other",
        }
    }
}
