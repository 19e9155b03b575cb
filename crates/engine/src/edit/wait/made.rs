//! Turns a pending change into a commit, after resolving and checking it again.

use super::{Situation, notes};
use crate::conversation::Conversation;
use crate::conversation::waiting::{PendingEdit, State};
use crate::edit::files::Files;
use crate::edit::imports::Imports;
use crate::log::{self, DeferredEdit, Wait};
use crate::{Engine, Refusal, record};
use ctx_api::edit::EditRequest;
use ctx_api::waiting::{DeferralFailure, WaitView};
use ctx_core::edit::Commit;
use ctx_core::hint::Command;
use ctx_core::{ErrorCode, hint};
use ctx_store::{NewRecord, Step};
use std::collections::HashSet;

/// The delay in milliseconds before a failed check is repeated.
pub const AGAIN: u64 = 5_000;

/// Refusals that do not depend on the edit request.
const PASSING: [ErrorCode; 3] = [ErrorCode::Store, ErrorCode::Incomplete, ErrorCode::Busy];

impl Engine {
    /// Applies the changes that waited for a held request, after its arrival. `warm_until`: of the cache before it.
    pub fn at_arrival(
        &self,
        conversation: &mut Conversation,
        (at, warm_until): (u64, u64),
        imports: &Imports,
        step: &mut Step,
    ) {
        // It belonged to the previous request.
        conversation.composing.weight = None;
        let situation = Situation { warm_until, ..self.situation(conversation, at) };
        let request = conversation.progress.requests;
        self.make_due(conversation, &situation, Some(request), imports, step);
    }

    /// Applies all changes whose moment has come. Together they cost one reread.
    pub fn make_due(
        &self,
        conversation: &mut Conversation,
        situation: &Situation,
        request: Option<u32>,
        imports: &Imports,
        step: &mut Step,
    ) {
        let due: Vec<(DeferredEdit, u64)> = conversation
            .waiting
            .iter()
            .filter(|waiting| waiting.state == State::Waiting && situation.has(waiting.edit.when))
            .map(|waiting| (waiting.edit.clone(), waiting.at))
            .collect();
        let mut records: Vec<NewRecord> = Vec::new();
        for (deferred, since) in due {
            if deferred.branch != conversation.history.current()
                && conversation.history.branches().contains_key(&deferred.branch)
            {
                continue;
            }
            let made = match self.withdrawal(conversation.id(), &deferred) {
                Some(refusal) => Err(refusal),
                None => self.make(conversation, &deferred, (since, situation.now), imports),
            };
            let wait = match made.and_then(|(commit, files)| self.write_soon(conversation, &files).map(|()| commit)) {
                Ok(mut commit) => {
                    commit.unattended = true;
                    records.push(record(conversation.id(), commit.at, log::COMMIT, &commit, Vec::new()));
                    let id = commit.id;
                    conversation.history.push(commit);
                    conversation.composing.weight = None;
                    Wait::Made { id: deferred.id, commit: id, request }
                }
                Err(refusal) if PASSING.contains(&refusal.code) => continue,
                Err(refusal) => {
                    tracing::warn!(conversation = %conversation.id(), edit = %deferred.id, message = %refusal.message, "a deferred edit is no longer possible");
                    failed(deferred.id, refusal)
                }
            };
            records.push(record(conversation.id(), situation.now, log::WAIT, &wait, Vec::new()));
            conversation.wait(&wait, situation.now);
        }
        if records.is_empty() {
            return;
        }
        step.records.extend(records);
        step.notes.extend(notes(conversation));
        step.durable = true;
    }

    /// The reason to withdraw a pending change, if its author may no longer edit the conversation.
    pub fn withdrawal(&self, conversation: &str, deferred: &DeferredEdit) -> Option<Refusal> {
        let author = &deferred.author;
        let may_edit = self.authors.get().is_none_or(|authors| authors.may_edit(conversation, author));
        (!may_edit).then(|| {
            Refusal::new(
                ErrorCode::RoleNeeded,
                format!("It was withdrawn: {author} may no longer edit this conversation."),
                "Nothing was changed. Repeat the edit if you still need it.",
            )
        })
    }

    pub fn make(
        &self,
        conversation: &Conversation,
        deferred: &DeferredEdit,
        (since, at): (u64, u64),
        imports: &Imports,
    ) -> Result<(Commit, Files), Refusal> {
        let mut files = Files::importing(imports.clone());
        let commit = self.resolve_pending(conversation, deferred, (since, at), false, &mut files)?;
        Ok((commit, files))
    }

    /// A pending change with the figures of the commit that it would be now: the conversation may have grown since.
    pub fn view_pending(
        &self,
        conversation: &Conversation,
        waiting: &PendingEdit,
        now: u64,
        imports: &Imports,
    ) -> WaitView {
        let mut view = waiting.view();
        if waiting.state == State::Waiting {
            let mut files = Files::importing(imports.clone());
            let would_be = self.resolve_pending(conversation, &waiting.edit, (waiting.at, now), true, &mut files);
            if let Ok(Commit { summary, tokens_before, tokens_after, .. }) = would_be {
                (view.summary, view.tokens_before, view.tokens_after) = (summary, tokens_before, tokens_after);
            }
        }
        view
    }

    /// The commit for a pending change. A dry run writes no files.
    fn resolve_pending(
        &self,
        conversation: &Conversation,
        deferred: &DeferredEdit,
        (since, at): (u64, u64),
        dry_run: bool,
        files: &mut Files,
    ) -> Result<Commit, Refusal> {
        is_here(conversation, deferred)?;
        let waited = format!("waited {} for {}", span(at.saturating_sub(since)), deferred.when.in_words());
        let note = deferred.note.iter().cloned().chain([waited]).collect::<Vec<_>>().join("; ");
        if let Some(reverts) = &deferred.reverts {
            return self.switch_off(conversation, reverts, (&deferred.author, note), at);
        }
        let edit = EditRequest {
            operations: deferred.operations.clone(),
            author: deferred.author.clone(),
            note: Some(note),
            dry_run,
            ..EditRequest::default()
        };
        Ok(self.prepared(conversation, edit, deferred.reasons.clone(), (at, None), files)?.0)
    }
}

/// The end of a pending change that is not possible.
pub fn failed(id: String, Refusal { code, message, hint, .. }: Refusal) -> Wait {
    Wait::Failed { id, why: DeferralFailure { code: code.into(), message, hint: hint.to_string() } }
}

/// Ids count frames: on another path they name different content.
fn is_here(conversation: &Conversation, deferred: &DeferredEdit) -> Result<(), Refusal> {
    let branch = &deferred.branch;
    if branch != conversation.history.current() {
        let message = format!("It was for the branch `{branch}`, which no longer exists.");
        return Err(Refusal::new(
            ErrorCode::UnknownBranch,
            message,
            "Nothing was changed. Repeat the edit if you still need it.",
        ));
    }
    if !deferred.numbered && has_ids(deferred) && !counts_frames(conversation) {
        return Err(Refusal::new(
            ErrorCode::Gone,
            "An older version of ctx stored this edit; its frame ids may now name other frames.",
            hint!["Nothing was changed. Check ", Command::List, ", and repeat the edit if you still need it."],
        ));
    }
    let path: HashSet<u64> = conversation.messages.tree.path().map(|slot| slot.id.0).collect();
    if deferred.slots.iter().all(|slot| path.contains(slot)) {
        return Ok(());
    }
    Err(Refusal::new(
        ErrorCode::Gone,
        "The conversation took another path: the target is no longer in it.",
        hint!["Nothing was changed. Check ", Command::List, ", and repeat the edit if you still need it."],
    ))
}

fn has_ids(deferred: &DeferredEdit) -> bool {
    deferred.operations.iter().any(|operation| !operation.ids().is_empty())
}

/// Whether the numbers of the frames on the path are 1, 2, 3, …
fn counts_frames(conversation: &Conversation) -> bool {
    let numbers = conversation.messages.tree.path().filter_map(|slot| conversation.messages.numbers.of(slot.id));
    (1..).zip(numbers).all(|(at, number)| at == number)
}

/// `40 s`, `12 min`, `3 h`.
fn span(milliseconds: u64) -> String {
    match milliseconds / 1000 {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}
