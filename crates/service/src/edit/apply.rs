//! Makes commits durable: each is stored before it takes effect.

use super::WrittenFiles;
use crate::clock::now;
use crate::parts::Parts;
use crate::threads::lock;
use crate::writer::{Base, Untold};
use ctx_api::edit::{EditRequest, EditResult};
use ctx_core::edit::{Commit, History};
use ctx_core::hint::Command;
use ctx_core::{ErrorCode, hint};
use ctx_engine::card;
use ctx_engine::conversation::{Conversation, takes_losses_into_account};
use ctx_engine::edit::apply::{expected, is_whole};
use ctx_engine::edit::{Files, NewFile};
use ctx_engine::helper::FilledRequest;
use ctx_engine::{EDITED, Refusal, log, mark, record};
use ctx_store::{NewRecord, Step};
use std::sync::MutexGuard;

impl Parts {
    pub(crate) fn apply(&self, name: &str, edit: EditRequest) -> Result<EditResult, Refusal> {
        self.apply_for(name, edit, Vec::new())
    }

    /// Applies operations, with the reason for each.
    pub(super) fn apply_for(
        &self,
        name: &str,
        edit: EditRequest,
        reasons: Vec<Option<String>>,
    ) -> Result<EditResult, Refusal> {
        let FilledRequest { edit, reasons, written } = self.fill_locally(name, edit, reasons)?;
        let name = &self.meant(name)?;
        let mut files = Files::importing(self.gather(name, &edit.operations));
        let _one_at_a_time = self.editing.lock(name);
        let shared = self.stored(name)?;
        let conversation = lock(&shared);
        expected(&conversation, edit.expect.as_deref())?;
        is_whole(&conversation)?;
        if edit.operations.is_empty() {
            return Err(Refusal::new(
                ErrorCode::NothingToDo,
                "The request contains no operation.",
                hint![Command::Operations, " shows the operations."],
            ));
        }
        let at = now();
        let waits = !edit.dry_run && !self.engine.has_come(&conversation, edit.when, at);
        let when = edit.when;
        let dry_run = edit.dry_run || waits;
        let (commit, mut applied) = self.engine.prepared(
            &conversation,
            EditRequest { dry_run, ..edit },
            reasons,
            (at, Some(when)),
            &mut files,
        )?;
        applied.written = written;
        if waits {
            return self.put_off(conversation, commit, (when, false), applied, &files.imports);
        }
        if dry_run {
            return Ok(applied);
        }
        applied.commit = Some(commit.id.to_string());
        self.commit(conversation, commit, &files.new)?;
        Ok(applied)
    }

    /// Writes the files of a commit and stores it durably, then applies it.
    pub(super) fn commit(
        &self,
        conversation: MutexGuard<'_, Conversation>,
        commit: Commit,
        files: &[NewFile],
    ) -> Result<(), Refusal> {
        let mut next = conversation.history.clone();
        next.push(commit.clone());
        let records = vec![record(conversation.id(), commit.at, log::COMMIT, &commit, Vec::new())];
        self.store_now(conversation, (records, files), next).map(drop)
    }

    /// Writes files, stores records of the history and makes `next` the history. The conversation is unlocked while the
    /// disk is awaited; only one commit is made at a time.
    pub(crate) fn store_now(
        &self,
        conversation: MutexGuard<'_, Conversation>,
        (records, files): (Vec<NewRecord>, &[NewFile]),
        next: History,
    ) -> Result<Untold, Refusal> {
        let id = conversation.id().to_owned();
        let stays = conversation.reasoning.is_dropped_by_provider
            || conversation.reasoning.strayed
            || !conversation.provider.summaries.is_empty();
        let newest = next.head().and_then(|head| next.get(head));
        let is_commit = records.iter().any(|record| record.kind == log::COMMIT);
        let lost_edits = conversation.log.lost_edits && !(is_commit && newest.is_some_and(takes_losses_into_account));
        let edited = stays || lost_edits || conversation.waits() || conversation.policy.automated || next.is_sent();
        let _under_way = self.under_way(&id);
        let (card, base, version) = (card::of(&conversation), Base::from(&*conversation), conversation.log.version);
        drop(conversation);
        let files = self.offload.get().map(|folder| folder.write(&id, files)).transpose()?;
        let step = Step { records, notes: vec![mark(&id, EDITED, edited)], ..Step::default() };
        let untold = self.writer.write_now(step, base).map_err(|error| error.refusal("The commit"))?;
        files.into_iter().for_each(WrittenFiles::keep);
        // It is stored: from now on no request may leave without it, even if the store cannot be read.
        if edited {
            self.held.mark(&card, edited);
        }
        // If it was unloaded meanwhile, it is replayed with the new records.
        let loaded = self.get(&id).unwrap_or_else(|error| {
            tracing::warn!(%error, conversation = %id, "a commit is stored, but its conversation cannot be read");
            lock(&self.directory).unload(&id);
            None
        });
        if let Some(shared) = loaded {
            let mut conversation = lock(&shared);
            let mut card;
            if conversation.log.version == version {
                conversation.history = next;
                conversation.log.lost_edits = lost_edits;
                conversation.composing.weight = None;
                card = card::of(&conversation);
                self.held.put(&card, edited);
            } else {
                // It was read again, with these records and those of other daemons since.
                card = card::of(&conversation);
                self.held.update(&conversation);
            }
            let mut directory = lock(&self.directory);
            // An edit is not a turn.
            card.imported = directory.card(&id).is_some_and(|card| card.imported);
            let note = card::note(&card);
            directory.put(card);
            drop(directory);
            // After a restart the list shows the size after the edit, not that of the last request.
            self.write(Step { notes: vec![note], ..Step::default() });
            self.weighed.forget(&id);
            self.set_alarm(&conversation);
        }
        Ok(untold)
    }
}
