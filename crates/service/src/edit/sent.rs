//! Shows the request that would be sent now, and the last one sent.

use crate::clock::now;
use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::requests::CompositionView;
use ctx_core::hint::Command;
use ctx_core::{Class, ErrorCode, hint};
use ctx_engine::compose::compare::overview;
use ctx_engine::compose::{Ground, OutgoingRequest, WrittenRequest, rebuilt};
use ctx_engine::conversation::sent_parts::Part;
use ctx_engine::point::at_point;
use ctx_engine::provider::Request;
use ctx_engine::request::Ticket;
use ctx_engine::{EDITED, Refusal, card, log, mark, record};
use ctx_store::Step;
use ctx_wire::body::Body;

impl Parts {
    /// Records that the provider refused thinking considered valid: from now on it is asked to drop such blocks.
    pub(crate) fn unbound(&self, ticket: &Ticket) {
        let Ok(Some(shared)) = self.get(&ticket.conversation) else { return };
        let mut conversation = lock(&shared);
        tracing::warn!(conversation = %conversation.id(), "the provider refused thinking; ctx requests that it be \
            dropped from now on");
        if std::mem::replace(&mut conversation.reasoning.is_dropped_by_provider, true) {
            return;
        }
        let id = conversation.id().to_owned();
        let records =
            vec![record(&id, now(), log::RECOVERY, &serde_json::json!({ "request": ticket.request }), Vec::new())];
        let notes = vec![mark(&id, EDITED, true)];
        self.write(Step { records, notes, ..Step::default() });
        self.held.put(&card::of(&conversation), true);
    }

    pub(crate) fn compose(&self, name: &str, at: Option<&str>) -> Result<Vec<u8>, Refusal> {
        let shared = self.stored(name)?;
        let conversation = lock(&shared);
        let whole = rebuilt(&self.engine, &conversation)?;
        if !whole.exact {
            return Err(Refusal::new(
                ErrorCode::Credential,
                "The body of this request contains a credential. Credentials are never stored, so the exact bytes \
                 are not available.",
                hint![Command::Show, " shows the rest."],
            ));
        }
        let effects = at_point(&conversation, at.unwrap_or("HEAD"))?;
        let Ok(body) = Body::parse(whole.bytes.clone(), conversation.wire()) else { return Ok(whole.bytes) };
        let envelope = conversation.envelope_of(&body);
        let composed = conversation.compose(&conversation.newest(&body, &envelope), effects);
        let mut outgoing = match composed {
            Some(WrittenRequest { composed, .. }) => {
                OutgoingRequest::of(composed.segments.into_iter().map(Part::from).collect())
            }
            None => OutgoingRequest::whole(body.bytes().len()),
        };
        if conversation.reasoning.is_dropped_by_provider && at.is_none() {
            outgoing.ask_to_drop(&body);
        }
        if at.is_none() {
            let class = Class::from_name(&conversation.opened().class).unwrap_or(Class::Main);
            let same = body.spans().messages.len();
            let again = Request { at: now(), class, body: &body, envelope: &envelope, same, counting: false };
            outgoing = self.engine.adds(&conversation, &again).lay(Some(outgoing.clone())).unwrap_or(outgoing);
        }
        Ok(outgoing.bytes(body.bytes()))
    }

    pub(crate) fn explain(&self, name: &str, at: Option<&str>) -> Result<CompositionView, Refusal> {
        let shared = self.stored(name)?;
        let conversation = lock(&shared);
        let effects = at_point(&conversation, at.unwrap_or("HEAD"))?;
        let explained = self.engine.explain_effects(&conversation, effects.clone())?.unwrap_or_default();
        let ground = Ground::of(&conversation, true);
        let scale = |weight: f64| conversation.tokens(weight);
        let mut commits: Vec<String> = effects.iter().rev().map(|(id, _)| id.commit.to_string()).collect();
        commits.dedup();
        Ok(CompositionView {
            conversation: conversation.id().to_owned(),
            tokens: scale(overview(&conversation, &ground, &self.engine.lay(&conversation, &ground, effects).0).weight),
            source_tokens: scale(overview(&conversation, &ground, &ground.lay(Vec::new())).weight),
            commits,
            ..explained
        })
    }
}
