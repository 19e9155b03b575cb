//! Undo, redo, revert and rollback on the history of one conversation.

use crate::conversation::Conversation;
use crate::log::Reverts;
use crate::point::listed;
use crate::{Engine, Refusal};
use ctx_api::edit::{EditResult, When};
use ctx_api::history::{Action, CommitView};
use ctx_core::edit::history::{Cannot, Change, How};
use ctx_core::edit::{Commit, CommitId};
use ctx_core::hint::{Argument, Command};
use ctx_core::{ErrorCode, hint};
use std::collections::HashSet;

impl Engine {
    /// The commit that deactivates others, and its preview.
    pub fn reverting(
        &self,
        conversation: &Conversation,
        (commits, how): (Vec<CommitId>, How),
        (author, note, summary): (&str, Option<String>, String),
        (at, price): (u64, Option<When>),
    ) -> Result<(Commit, EditResult), Refusal> {
        let history = &conversation.history;
        let mut commit = Commit {
            id: self.commit_id(conversation, at),
            parent: history.head(),
            at,
            author: author.to_owned(),
            note,
            reasons: Vec::new(),
            change: Change::Revert { commits, how },
            summary,
            tokens_before: 0,
            tokens_after: 0,
            unattended: false,
            exception: false,
            kept: Vec::new(),
        };
        let mut next = history.clone();
        next.push(commit.clone());
        let before = conversation.effects(history.head());
        let mut applied =
            self.weigh_up(conversation, before, next.effects(next.head()), price.map(|when| (when, at)))?.applied;
        applied.summary.clone_from(&commit.summary);
        (commit.tokens_before, commit.tokens_after) = (applied.tokens_before, applied.tokens_after);
        Ok((commit, applied))
    }

    /// A deferred revert, undo, redo or rollback whose moment has come. Skips commits that are inactive by then.
    pub fn switch_off(
        &self,
        conversation: &Conversation,
        reverts: &Reverts,
        (author, note): (&str, String),
        at: u64,
    ) -> Result<Commit, Refusal> {
        let history = &conversation.history;
        let active: HashSet<CommitId> = history.active(history.head()).iter().map(|commit| commit.id).collect();
        let mut commits: Vec<CommitId> = Vec::new();
        for id in reverts.commits.iter().filter(|id| active.contains(id)) {
            let off = history.revert(*id, reverts.cascade);
            let off = off.map_err(|cannot| refused(conversation, Action::Revert, &id.to_string(), cannot))?;
            commits.extend(off.into_iter().filter(|id| !commits.contains(id)).collect::<Vec<_>>());
        }
        if commits.is_empty() {
            return Err(ctx_core::edit::Refusal::nothing("These commits are already off.").into());
        }
        let summary = match reverts.how {
            How::Redo => format!("redo {}", undone(conversation, &commits)),
            How::Rollback => format!("roll back {}", listed(&commits)),
            How::Undo => format!("{} {}", verb(Action::Undo), listed(&commits)),
            How::Revert => format!("{} {}", verb(Action::Revert), listed(&commits)),
        };
        let said = (author, Some(note), summary);
        self.reverting(conversation, (commits, reverts.how), said, (at, None)).map(|(commit, _)| commit)
    }
}

/// A commit as people see it, on any branch.
pub fn shown(commit: &Commit) -> CommitView {
    let (kind, operations, reverts) = match &commit.change {
        Change::Edit { operations, .. } => ("edit", operations.clone(), Vec::new()),
        Change::Inherit { .. } => ("inherit", Vec::new(), Vec::new()),
        Change::Revert { commits, how } => {
            let kind = match how {
                How::Revert => "revert",
                How::Undo => "undo",
                How::Redo => "redo",
                How::Rollback => "rollback",
            };
            (kind, Vec::new(), commits.clone())
        }
    };
    CommitView {
        id: commit.id,
        parent: commit.parent,
        at: commit.at,
        author: commit.author.clone(),
        note: commit.note.clone(),
        kind: kind.to_owned(),
        operations,
        reasons: commit.reasons.clone(),
        reverts,
        summary: commit.summary.clone(),
        here: false,
        active: false,
        asleep: false,
        source_changed: false,
        tokens_before: commit.tokens_before,
        tokens_after: commit.tokens_after,
        branches: Vec::new(),
        tags: Vec::new(),
    }
}

pub fn refused(conversation: &Conversation, action: Action, name: &str, cannot: Cannot) -> Refusal {
    let branch = conversation.history.current();
    match cannot {
        Cannot::Unknown => Refusal::new(
            ErrorCode::UnknownCommit,
            format!("No commit `{name}`."),
            hint![Command::History, " lists the commits."],
        ),
        Cannot::Elsewhere => Refusal::new(
            ErrorCode::OtherBranch,
            format!("{name} is not on the branch `{branch}`."),
            hint![Command::Checkout, " switches to another branch."],
        ),
        Cannot::Inactive => Refusal::new(
            ErrorCode::Inactive,
            format!("{name} is already off."),
            hint![Command::History, " shows why; ", Command::Redo, " switches it on again."],
        ),
        Cannot::Needed(commits) => Refusal::new(
            ErrorCode::Needed,
            format!("{} depend{} on {name}.", listed(&commits), if commits.len() == 1 { "s" } else { "" }),
            hint!["Add ", Argument::new("cascade"), " to revert them too."],
        ),
        Cannot::Nothing if action == Action::Rollback => Refusal::new(
            ErrorCode::NothingToDo,
            match name {
                "source" => "No edit is active: requests pass unchanged.".to_owned(),
                name => format!("No edit has been active since {name}."),
            },
            hint![Command::History, " lists the commits; ", Command::Revert, " undoes a rollback."],
        ),
        Cannot::Nothing => Refusal::new(
            ErrorCode::NothingToDo,
            format!("There is nothing to {}.", verb(action)),
            hint![Command::History, " lists the commits."],
        ),
    }
}

pub fn verb(action: Action) -> &'static str {
    match action {
        Action::Revert => "revert",
        Action::Undo => "undo",
        Action::Redo => "redo",
        Action::Rollback => "roll back",
        Action::Branch => "branch",
        Action::Checkout => "check out",
        Action::Tag => "tag",
        Action::RemoveBranch | Action::RemoveTag => "remove",
    }
}

/// The commits that these undos deactivated.
pub fn undone(conversation: &Conversation, undos: &[CommitId]) -> String {
    let changes =
        undos.iter().filter_map(|id| conversation.history.get(*id)).filter_map(|commit| match &commit.change {
            Change::Revert { commits, .. } => Some(commits.clone()),
            _ => None,
        });
    listed(&changes.flatten().collect::<Vec<_>>())
}
