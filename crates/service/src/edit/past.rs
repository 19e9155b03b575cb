//! Undo, redo, revert and rollback as durable commits, and the history for people.

use crate::clock::now;
use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::edit::{EditResult, When};
use ctx_api::history::{Action, CommitView, HistoryRequest, HistoryView};
use ctx_core::edit::history::{Cannot, Change, How};
use ctx_core::edit::{Commit, CommitId, EffectId};
use ctx_core::hint::Command;
use ctx_core::{ErrorCode, hint};
use ctx_engine::Refusal;
use ctx_engine::compose::Ground;
use ctx_engine::conversation::Conversation;
use ctx_engine::edit::lines::{branch_views, tag_views};
use ctx_engine::edit::past::{refused, shown, undone, verb};
use ctx_engine::edit::{Imports, expected};
use ctx_engine::point::{listed, point};
use std::collections::HashSet;
use std::sync::MutexGuard;

impl Parts {
    pub(crate) fn go(&self, name: &str, request: HistoryRequest) -> Result<EditResult, Refusal> {
        let name = &self.meant(name)?;
        let _one_at_a_time = self.editing.lock(name);
        let shared = self.stored(name)?;
        let conversation = lock(&shared);
        expected(&conversation, request.expect.as_deref())?;
        match request.action {
            Action::Revert | Action::Undo | Action::Redo | Action::Rollback => self.back(conversation, request),
            _ if request.when != When::Now => Err(Refusal::new(
                ErrorCode::BadRequest,
                "Branches and tags do not change the request, so they cannot be deferred.",
                "Omit `when`.",
            )),
            _ => self.line(conversation, request),
        }
    }

    fn back(&self, conversation: MutexGuard<'_, Conversation>, request: HistoryRequest) -> Result<EditResult, Refusal> {
        let history = &conversation.history;
        let target = request.target.as_deref().map(|name| point(&conversation, name)).transpose()?;
        let named = target.flatten().map_or_else(|| "source".to_owned(), |id| id.to_string());
        let cannot = |cannot| refused(&conversation, request.action, &named, cannot);
        let (commits, how) = match request.action {
            Action::Revert => {
                if target == Some(None) {
                    return Err(Refusal::new(
                        ErrorCode::NoTarget,
                        "`source` is not a commit, so it cannot be reverted.",
                        hint![Command::Rollback.with("source"), " reverts all commits."],
                    ));
                }
                let target = target.flatten().map_or_else(|| history.undo(), Ok).map_err(cannot)?;
                (history.revert(target, request.cascade).map_err(cannot)?, How::Revert)
            }
            Action::Undo => {
                let target = history.undo().map_err(cannot)?;
                (history.revert(target, true).map_err(cannot)?, How::Undo)
            }
            Action::Redo => (vec![history.redo().map_err(cannot)?], How::Redo),
            _ => {
                let target = target.ok_or_else(|| {
                    Refusal::new(
                        ErrorCode::NoTarget,
                        "No commit was given.",
                        hint![Command::History, " lists the commits."],
                    )
                })?;
                match history.rollback(target) {
                    // Edits in a damaged record are already gone. The commit records that a person knows.
                    Err(Cannot::Nothing) if conversation.log.lost_edits => (Vec::new(), How::Rollback),
                    commits => (commits.map_err(cannot)?, How::Rollback),
                }
            }
        };
        let summary = match request.action {
            Action::Redo => format!("redo {}", undone(&conversation, &commits)),
            Action::Rollback if commits.is_empty() => format!("roll back to {named}"),
            Action::Rollback => format!("roll back to {named}: {}", listed(&commits)),
            _ => format!("{} {}", verb(request.action), listed(&commits)),
        };
        let at = now();
        let said = (request.author.as_str(), request.note.clone(), summary);
        let (commit, mut applied) =
            self.engine.reverting(&conversation, (commits, how), said, (at, Some(request.when)))?;
        if request.dry_run {
            return Ok(applied);
        }
        if !self.engine.has_come(&conversation, request.when, at) {
            let cascade = request.cascade || how != How::Revert;
            return self.put_off(conversation, commit, (request.when, cascade), applied, &Imports::default());
        }
        applied.commit = Some(commit.id.to_string());
        self.commit(conversation, commit, &[])?;
        Ok(applied)
    }

    pub(crate) fn history(&self, name: &str, most: usize) -> Result<HistoryView, Refusal> {
        self.commits(name, most, false)
    }

    pub(crate) fn whole_history(&self, name: &str, most: usize) -> Result<HistoryView, Refusal> {
        self.commits(name, most, true)
    }

    fn commits(&self, name: &str, most: usize, all: bool) -> Result<HistoryView, Refusal> {
        let shared = self.conversation(name)?;
        let conversation = lock(&shared);
        let history = &conversation.history;
        let head = history.head();
        let ground = Ground::of(&conversation, true);
        let view = ground.lay(conversation.effects(head));
        // Restored edits are not asleep: they had their effect.
        let restored = view.restored();
        let active: Vec<CommitId> = history.active(head).iter().map(|commit| commit.id).collect();
        let line: HashSet<CommitId> = history.line(head).map(|commit| commit.id).collect();
        let chosen: Vec<&Commit> = match all {
            true => history.all().rev().take(most).collect(),
            false => history.line(head).take(most).collect(),
        };
        let commits = chosen
            .into_iter()
            .map(|commit| {
                let ids: Vec<EffectId> = match &commit.change {
                    Change::Edit { effects, .. } => {
                        (0..effects.len() as u32).map(|index| EffectId { commit: commit.id, index }).collect()
                    }
                    Change::Inherit { effects, .. } => effects.iter().map(|(id, _)| *id).collect(),
                    Change::Revert { .. } => Vec::new(),
                };
                let is_active = active.contains(&commit.id);
                let status = || ids.iter().filter(|id| !restored.contains(id)).map(|id| view.status(*id));
                CommitView {
                    here: line.contains(&commit.id),
                    active: is_active,
                    asleep: is_active && status().next().is_some() && status().all(|status| !status.awake),
                    source_changed: is_active && status().any(|status| status.awake && status.source_changed),
                    branches: history
                        .branches()
                        .iter()
                        .filter(|(_, at)| **at == Some(commit.id))
                        .map(|(name, _)| name.clone())
                        .collect(),
                    tags: history
                        .tags()
                        .iter()
                        .filter(|(_, at)| **at == commit.id)
                        .map(|(name, _)| name.clone())
                        .collect(),
                    ..shown(commit)
                }
            })
            .collect();
        Ok(HistoryView {
            conversation: conversation.id().to_owned(),
            branch: history.current().to_owned(),
            head,
            branches: branch_views(history),
            tags: tag_views(history),
            commits,
        })
    }
}
