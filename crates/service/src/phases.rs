//! Stores the beginnings and ends of phases, by people, agents and hooks.

use crate::clock::now;
use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::edit::EditRequest;
use ctx_api::phases::{PhaseAction, PhaseRequest, PhasesView};
use ctx_core::policy::Moment;
use ctx_engine::automatic::run::about;
use ctx_engine::conversation::Conversation;
use ctx_engine::log::{self, Automatic, HelperUse, PhaseSummary};
use ctx_engine::phases::{named, view};
use ctx_engine::{Refusal, record};
use ctx_store::Step;
use std::sync::Arc;

impl Parts {
    pub(crate) fn phases(&self, name: &str) -> Result<PhasesView, Refusal> {
        let shared = self.conversation(name)?;
        let conversation = lock(&shared);
        Ok(view(&conversation))
    }

    pub(crate) fn phase(&self, name: &str, request: &PhaseRequest) -> Result<PhasesView, Refusal> {
        let name = &self.meant(name)?;
        let _one_at_a_time = self.editing.lock(name);
        let shared = self.stored(name)?;
        let conversation = lock(&shared);
        let phase = named(&conversation, request)?;
        let after = conversation.messages.tree.path().last().map(|slot| slot.id);
        let moment = Moment { at: now(), after };
        let said = match request.action {
            PhaseAction::Begin => Automatic::PhaseBegan { name: phase, moment, author: request.author.clone() },
            PhaseAction::End => Automatic::PhaseEnded { name: phase, moment, author: request.author.clone() },
        };
        let (id, losses) = (conversation.id().to_owned(), conversation.log.losses);
        drop(conversation);
        let records = vec![record(&id, moment.at, log::AUTOMATIC, &said, Vec::new())];
        let _untold = self
            .writer
            .write_now(Step { records, ..Step::default() }, losses)
            .map_err(|error| error.refusal("The phase"))?;
        // If it was unloaded meanwhile, it is replayed with the new record.
        let shared = self.conversation(&id)?;
        let mut conversation = lock(&shared);
        conversation.automatic(&said);
        Ok(view(&conversation))
    }

    pub(crate) fn phase_summary(&self, name: &str, summary: &PhaseSummary) -> Result<Option<EditRequest>, Refusal> {
        let Some(editor) = self.automatic.get() else { return Ok(None) };
        let shared = self.stored(name)?;
        let mut conversation = lock(&shared);
        conversation.remember();
        let settings = editor.settings(&about(&conversation, now()), &conversation.policy.text_index.skills());
        Ok(self.engine.phase_summary(&conversation, summary, &settings))
    }

    pub(crate) fn allows_help(&self, name: &str, used: &HelperUse) -> Result<bool, Refusal> {
        let shared = self.conversation(name)?;
        let conversation = lock(&shared);
        Ok(self.engine.allows_help(&conversation, used))
    }

    /// The summaries that wait for the account, and that it now allows.
    pub(crate) fn due_summaries(&self, name: &str) -> Result<Vec<PhaseSummary>, Refusal> {
        let shared = self.conversation(name)?;
        let conversation = lock(&shared);
        Ok(self.engine.due_summaries(&conversation))
    }

    /// Notes that a summary waits for the account, or does so no longer. False if that is so already.
    pub(crate) fn note_summary(&self, name: &str, summary: &PhaseSummary) -> Result<bool, Refusal> {
        self.note("The summary", name, |conversation| {
            let before = conversation.policy.summaries.iter().find(|one| one.is_of(summary));
            let is_new = before.and_then(|before| before.waits_for.as_ref()) != summary.waits_for.as_ref();
            is_new.then(|| Automatic::Summary(summary.clone()))
        })
    }

    /// Adds the price of a helper to the account, durably.
    pub(crate) fn helped(&self, name: &str, used: &HelperUse) -> Result<(), Refusal> {
        self.note("The price of the helper", name, |_| Some(Automatic::Helped(used.clone()))).map(drop)
    }

    /// Stores a note of the editor. False if there is none. `what` names it in an error.
    fn note(
        &self,
        what: &str,
        name: &str,
        said: impl FnOnce(&Conversation) -> Option<Automatic>,
    ) -> Result<bool, Refusal> {
        let id = &self.meant(name)?;
        let _one_at_a_time = self.editing.lock(id);
        let shared = self.stored(id)?;
        let (said, losses) = {
            let conversation = lock(&shared);
            (said(&conversation), conversation.log.losses)
        };
        let Some(said) = said else { return Ok(false) };
        let records = vec![record(id, now(), log::AUTOMATIC, &said, Vec::new())];
        let _untold =
            self.writer.write_now(Step { records, ..Step::default() }, losses).map_err(|error| error.refusal(what))?;
        // If it was unloaded meanwhile, it is replayed with the new record.
        if self.get(id)?.is_some_and(|now| Arc::ptr_eq(&now, &shared)) {
            lock(&shared).automatic(&said);
        }
        Ok(true)
    }
}
