//! Learns the capabilities and refusals of a provider, and stores them beside the conversations.

use crate::clock::now;
use crate::parts::Parts;
use crate::threads::lock;
use ctx_engine::log::{self, RefusedEdits};
use ctx_engine::ports::provider::{ProviderRefusal, words};
use ctx_engine::record;
use ctx_engine::request::Ticket;
use ctx_store::Step;
use ctx_wire::capabilities;
use std::sync::Arc;

impl Parts {
    /// Records that the provider rejected an additional edit and accepted the request without it. It is not asked
    /// again.
    pub(crate) fn refused(&self, refused: &ProviderRefusal, ticket: Option<&Ticket>) {
        let words = words(&refused.answer);
        let names: Vec<String> = refused.kinds.iter().map(|kind| kind.name().to_owned()).collect();
        tracing::warn!(model = %refused.model, edits = names.join(", "), %words,
            "the provider refused an edit that ctx requested; not requested again for a week");
        let step = {
            let mut known = lock(&self.provider.known);
            let known = Arc::make_mut(&mut known);
            known.refuse(&refused.model, &refused.kinds, now(), &words);
            known.step(&self.provider.upstream)
        };
        self.write(step);
        if let Some(ticket) = ticket {
            let body = RefusedEdits { request: ticket.request, model: refused.model.to_string(), edits: names, words };
            let records = vec![record(&ticket.conversation, now(), log::REFUSED, &body, Vec::new())];
            self.write(Step { records, ..Step::default() });
        }
    }

    /// Learns the models' capabilities from the provider's answer to a client.
    pub(crate) fn learn_models(&self, answer: &[u8]) {
        let told = capabilities(answer);
        if told.is_empty() {
            return;
        }
        let step = {
            let mut known = lock(&self.provider.known);
            let known = Arc::make_mut(&mut known);
            known.learn(told).then(|| known.step(&self.provider.upstream))
        };
        step.into_iter().for_each(|step| self.write(step));
    }
}
