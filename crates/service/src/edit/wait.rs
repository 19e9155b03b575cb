//! Stores, lists, accepts and cancels pending changes. [`alarm`] wakes the conversations whose moment has come.

mod alarm;
mod made;
mod many;

use crate::clock::now;
use crate::keyed_lock::KeyGuard;
use crate::parts::Parts;
use crate::threads::lock;
use crate::writer::Base;
pub(crate) use alarm::Alarm;
use ctx_api::edit::{EditResult, When};
use ctx_api::waiting::{WaitView, WaitingView};
use ctx_core::edit::Commit;
use ctx_core::edit::history::Change;
use ctx_core::hint::Command;
use ctx_core::{ErrorCode, hint};
use ctx_engine::conversation::Conversation;
use ctx_engine::conversation::waiting::{PendingEdit, State};
use ctx_engine::edit::Imports;
use ctx_engine::edit::wait::made::failed;
use ctx_engine::edit::wait::notes;
use ctx_engine::log::{self, DeferredEdit, Reverts, Wait};
use ctx_engine::{Refusal, record};
use ctx_store::Step;
use std::sync::MutexGuard;

impl Parts {
    /// Marks that a part of the history is being stored. Never waits: the caller has locked `editing`, then the
    /// conversation.
    pub(super) fn under_way(&self, id: &str) -> KeyGuard<'_> {
        self.storing.lock(id)
    }

    /// Stores a checked edit request durably.
    pub(super) fn put_off(
        &self,
        conversation: MutexGuard<'_, Conversation>,
        commit: Commit,
        (when, cascade): (When, bool),
        mut applied: EditResult,
        imports: &Imports,
    ) -> Result<EditResult, Refusal> {
        let slots = self.engine.named(&conversation, &commit, imports);
        let (operations, reverts) = match commit.change {
            Change::Edit { operations, .. } => (operations, None),
            Change::Revert { commits, how } => (Vec::new(), Some(Reverts { commits, how, cascade })),
            Change::Inherit { .. } => return Ok(applied),
        };
        let id = conversation.waiting.next_id();
        let deferred = DeferredEdit {
            id: id.clone(),
            when,
            branch: conversation.history.current().to_owned(),
            operations,
            reasons: commit.reasons,
            author: commit.author,
            note: commit.note,
            slots,
            numbered: true,
            summary: commit.summary,
            tokens_before: commit.tokens_before,
            tokens_after: commit.tokens_after,
            reverts,
        };
        self.store_wait(conversation, &Wait::Deferred(Box::new(deferred)), commit.at)?;
        applied.waiting = Some(id);
        Ok(applied)
    }

    pub(crate) fn waiting(&self, name: &str) -> Result<WaitingView, Refusal> {
        let shared = self.conversation(name)?;
        let imports = self.gather_pending(&shared);
        let conversation = lock(&shared);
        let now = now();
        let situation = self.engine.situation(&conversation, now);
        let view = |waiting| self.engine.view_pending(&conversation, waiting, now, &imports);
        Ok(WaitingView {
            conversation: conversation.id().to_owned(),
            cold_at: situation.warm_until,
            tokens: situation.tokens,
            limit: situation.limit,
            wishes: conversation.waiting.iter().rev().map(view).collect(),
        })
    }

    pub(crate) fn cancel(&self, name: &str, id: &str, author: &str) -> Result<WaitView, Refusal> {
        let name = &self.meant(name)?;
        let _one_at_a_time = self.editing.lock(name);
        let shared = self.stored(name)?;
        let conversation = lock(&shared);
        let waiting = conversation.waiting.find(id, State::can_be_cancelled)?;
        match &waiting.state {
            State::Waiting | State::Failed(_) => {}
            State::Made(commit) => {
                return Err(Refusal::new(
                    ErrorCode::NotWaiting,
                    format!("`{id}` is no longer deferred: it was committed as {commit}."),
                    hint![Command::Revert.with(commit.to_string()), " reverts it."],
                ));
            }
            State::Cancelled => {
                return Err(Refusal::new(
                    ErrorCode::NotWaiting,
                    format!("`{id}` was already cancelled."),
                    hint![Command::Waiting, " shows the others."],
                ));
            }
        }
        let cancelled = Wait::Cancelled { id: id.to_owned(), author: author.to_owned() };
        self.store_wait(conversation, &cancelled, now())?;
        let shared = self.conversation(name)?;
        let conversation = lock(&shared);
        let view = conversation.waiting.iter().find(|waiting| waiting.edit.id == id).map(PendingEdit::view);
        view.ok_or_else(|| {
            Refusal::new(
                ErrorCode::UnknownDeferredEdit,
                format!("No deferred edit `{id}`."),
                hint![Command::Waiting, " lists them."],
            )
        })
    }

    /// Ends the pending changes of authors who may no longer edit a conversation. Returns their ids and authors.
    pub(crate) fn withdraw(&self, name: &str) -> Result<Vec<(String, String)>, Refusal> {
        let name = &self.meant(name)?;
        let _one_at_a_time = self.editing.lock(name);
        let mut withdrawn = Vec::new();
        loop {
            let shared = self.stored(name)?;
            let conversation = lock(&shared);
            let pending = conversation.waiting.iter().filter(|waiting| waiting.state == State::Waiting);
            let lost = pending.map(|waiting| &waiting.edit).find_map(|deferred| {
                Some((deferred.id.clone(), deferred.author.clone(), self.engine.withdrawal(name, deferred)?))
            });
            let Some((id, author, refusal)) = lost else { return Ok(withdrawn) };
            self.store_wait(conversation, &failed(id.clone(), refusal), now())?;
            withdrawn.push((id, author));
        }
    }

    pub(crate) fn accept(&self, name: &str, id: &str, author: &str) -> Result<WaitView, Refusal> {
        let name = &self.meant(name)?;
        let mut view = self.make_now(name, id, author)?;
        view.remarks.extend(self.upload_remark(name));
        Ok(view)
    }

    fn make_now(&self, name: &str, id: &str, author: &str) -> Result<WaitView, Refusal> {
        let _one_at_a_time = self.editing.lock(name);
        let shared = self.stored(name)?;
        let imports = self.gather_pending(&shared);
        let mut conversation = lock(&shared);
        conversation.remember();
        let mut waiting = conversation.waiting.find(id, State::can_be_accepted)?.clone();
        if !waiting.state.can_be_accepted() {
            let message = format!("`{id}` is no longer deferred: it is {}.", waiting.state.name());
            return Err(Refusal::new(
                ErrorCode::NotWaiting,
                message,
                hint![Command::Waiting.with("--all"), " shows its outcome."],
            ));
        }
        let at = now();
        conversation.leave_what_is_gone(&mut waiting.edit)?;
        let (mut commit, files) = self.engine.make(&conversation, &waiting.edit, (waiting.at, at), &imports)?;
        let note = commit.note.take().into_iter().chain([format!("accepted by {author}")]);
        commit.note = Some(note.collect::<Vec<_>>().join("; "));
        let told = self.engine.note_accepted(&conversation, &waiting.edit, &commit, self.automatic.get().as_deref())?;
        let made = Wait::Made { id: id.to_owned(), commit: commit.id, request: None };
        let mut records = vec![
            record(conversation.id(), at, log::COMMIT, &commit, Vec::new()),
            record(conversation.id(), at, log::WAIT, &made, Vec::new()),
        ];
        records.extend(told);
        let mut next = conversation.history.clone();
        next.push(commit);
        let id = conversation.id().to_owned();
        let _untold = self.store_now(conversation, (records, &files.new), next)?;
        let shared = self.conversation(&id)?;
        let mut conversation = lock(&shared);
        conversation.wait(&made, at);
        self.update_hold(&conversation);
        let view = conversation.waiting.iter().find(|one| one.edit.id == waiting.edit.id).map(PendingEdit::view);
        view.ok_or_else(|| {
            Refusal::new(
                ErrorCode::UnknownDeferredEdit,
                "This deferred edit no longer exists.",
                hint![Command::Waiting, " lists them."],
            )
        })
    }

    /// Stores an event of a pending change, then applies it. No lock is held during the disk write.
    fn store_wait(&self, mut conversation: MutexGuard<'_, Conversation>, wait: &Wait, at: u64) -> Result<(), Refusal> {
        let id = conversation.id().to_owned();
        let mut step = Step { records: vec![record(&id, at, log::WAIT, wait, Vec::new())], ..Step::default() };
        // The list is computed and then reset: it takes effect only once it is stored.
        let before = conversation.waiting.clone();
        conversation.wait(wait, at);
        step.notes = notes(&conversation);
        conversation.waiting = before;
        let _under_way = self.under_way(&id);
        let base = Base::from(&*conversation);
        drop(conversation);
        let _untold = self.writer.write_now(step, base).map_err(|error| error.refusal("The change"))?;
        // If it was unloaded meanwhile, it is replayed with the new record.
        if let Some(shared) = self.get(&id)? {
            let mut conversation = lock(&shared);
            conversation.wait(wait, at);
            self.update_hold(&conversation);
        }
        Ok(())
    }

    /// Holds its requests while changes are pending, and sets the alarm for those that depend on time.
    pub(crate) fn update_hold(&self, conversation: &Conversation) {
        self.held.update(conversation);
        self.set_alarm(conversation);
    }

    pub(crate) fn set_alarm(&self, conversation: &Conversation) {
        let branch = conversation.history.current();
        let is_woken = |waiting: &&PendingEdit| {
            let deferred = &waiting.edit;
            waiting.state == State::Waiting && deferred.when == When::Cold && deferred.branch == branch
        };
        let wakes = conversation.waiting.iter().any(|waiting| is_woken(&waiting));
        self.alarm.set(conversation.id(), wakes.then(|| conversation.warm_until()));
    }
}
