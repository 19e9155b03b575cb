//! Stores the moves of branches and tags.

use crate::clock::now;
use crate::parts::Parts;
use crate::threads::lock;
use ctx_api::edit::EditResult;
use ctx_api::history::{Branches, HistoryRequest, Tags};
use ctx_api::timeline::Line;
use ctx_engine::conversation::Conversation;
use ctx_engine::edit::lines::{branch_views, lines, tag_views};
use ctx_engine::{Refusal, log, record};
use std::sync::MutexGuard;

impl Parts {
    /// Moves, creates or deletes a branch or tag.
    pub(super) fn line(
        &self,
        conversation: MutexGuard<'_, Conversation>,
        request: HistoryRequest,
    ) -> Result<EditResult, Refusal> {
        let at = now();
        let lines = lines(&conversation, &request)?;
        let mut next = conversation.history.clone();
        lines.iter().for_each(|line| line.apply(&mut next));
        let before = conversation.effects(conversation.history.head());
        let mut applied = self.engine.difference(&conversation, before, next.effects(next.head()), at)?;
        applied.branch = next.current().to_owned();
        applied.commit = next.head().map(|head| head.to_string());
        applied.summary = match lines.as_slice() {
            [Line::Branch { name, .. }, ..] => format!("created branch {name} and checked it out"),
            [Line::Checkout { name }, ..] => format!("checkout {name}"),
            [Line::Tag { name, .. }, ..] => format!("tag {name}"),
            [Line::RemoveBranch { name }, ..] => format!("remove branch {name}"),
            [Line::RemoveTag { name }, ..] => format!("remove tag {name}"),
            [] => String::new(),
        };
        if request.dry_run {
            return Ok(applied);
        }
        let records = lines.iter().map(|line| record(conversation.id(), at, log::LINE, line, Vec::new())).collect();
        self.store_now(conversation, (records, &[]), next).map(|_| applied)
    }

    pub(crate) fn branches(&self, name: &str) -> Result<Branches, Refusal> {
        let shared = self.conversation(name)?;
        let conversation = lock(&shared);
        let branch = conversation.history.current().to_owned();
        Ok(Branches {
            conversation: conversation.id().to_owned(),
            branch,
            branches: branch_views(&conversation.history),
        })
    }

    pub(crate) fn tags(&self, name: &str) -> Result<Tags, Refusal> {
        let shared = self.conversation(name)?;
        let conversation = lock(&shared);
        Ok(Tags { conversation: conversation.id().to_owned(), tags: tag_views(&conversation.history) })
    }
}
