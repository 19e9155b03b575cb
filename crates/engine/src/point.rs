//! Resolves the names of points in a conversation's history.

use crate::Refusal;
use crate::conversation::Conversation;
use ctx_core::edit::CommitId;
use ctx_core::edit::effect::{Effect, EffectId};
use ctx_core::edit::refusal::{nearest, suggest};
use ctx_core::hint::Command;
use ctx_core::{ErrorCode, hint};

/// Whether a point is the one before the first commit: the client's own view.
pub fn is_source(point: &str) -> bool {
    matches!(point, "source" | "none")
}

/// The point with this name; `None` before the first commit.
pub fn point(conversation: &Conversation, name: &str) -> Result<Option<CommitId>, Refusal> {
    let history = &conversation.history;
    let is_empty_branch = !history.tags().contains_key(name) && history.branches().get(name) == Some(&None);
    if is_source(name) || is_empty_branch {
        return Ok(None);
    }
    find(conversation, name).map(Some)
}

pub fn at_point<'a>(conversation: &'a Conversation, name: &str) -> Result<Vec<(EffectId, &'a Effect)>, Refusal> {
    let head = match name {
        "HEAD" | "head" => conversation.history.head(),
        other => point(conversation, other)?,
    };
    Ok(conversation.effects(head))
}

fn find(conversation: &Conversation, name: &str) -> Result<CommitId, Refusal> {
    let history = &conversation.history;
    history.find(name).map_err(|candidates| match candidates.as_slice() {
        [] if history.is_empty() => Refusal::new(
            ErrorCode::UnknownCommit,
            format!("No commit `{name}`: there are no edits yet."),
            hint![Command::List, " shows the content."],
        ),
        [] => {
            let ids: Vec<String> = history.all().map(|commit| commit.id.to_string()).collect();
            let names = history.tags().keys().chain(history.branches().keys()).map(String::as_str);
            let known = ids.iter().map(String::as_str).chain(names);
            let near = nearest(name, known);
            Refusal::new(
                ErrorCode::UnknownCommit,
                format!("No commit `{name}`."),
                suggest(&near, hint![Command::History, " lists the commits."]),
            )
        }
        many => Refusal::new(
            ErrorCode::AmbiguousCommit,
            format!("`{name}` matches {}.", listed(many)),
            "Use more characters.",
        ),
    })
}

pub fn listed(commits: &[CommitId]) -> String {
    const MOST: usize = 5;
    let mut names: Vec<String> = commits.iter().take(MOST).map(CommitId::to_string).collect();
    if commits.len() > MOST {
        names.push(format!("{} more", commits.len() - MOST));
    }
    names.join(", ")
}
