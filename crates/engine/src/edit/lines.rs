//! Moves of branches and tags. They select a point of the history and make no commit.

use crate::Refusal;
use crate::conversation::Conversation;
use crate::point::{is_source, point};
use ctx_api::history::{Action, BranchView, HistoryRequest, TagView};
use ctx_api::timeline::Line;
use ctx_core::edit::refusal::{nearest, suggest};
use ctx_core::edit::{CommitId, History};
use ctx_core::hint::{Command, Hint};
use ctx_core::{ErrorCode, hint};

pub fn branch_views(history: &History) -> Vec<BranchView> {
    let view = |(name, head): (&String, &Option<CommitId>)| BranchView {
        name: name.clone(),
        head: *head,
        current: name == history.current(),
        commits: history.line(*head).count(),
    };
    history.branches().iter().map(view).collect()
}

pub fn tag_views(history: &History) -> Vec<TagView> {
    let view = |(name, commit): (&String, &CommitId)| {
        let found = history.get(*commit);
        TagView {
            name: name.clone(),
            commit: *commit,
            at: found.map_or(0, |found| found.at),
            summary: found.map(|found| found.summary.clone()).unwrap_or_default(),
        }
    };
    history.tags().iter().map(view).collect()
}

/// The branch without edits that `checkout source` selects.
const UNEDITED: &str = "unedited";

/// The moves for a request on branches or tags.
pub fn lines(conversation: &Conversation, request: &HistoryRequest) -> Result<Vec<Line>, Refusal> {
    let history = &conversation.history;
    let given = request.name.as_deref().unwrap_or_default();
    if request.action == Action::Checkout && is_source(given) {
        let mut names = std::iter::once(UNEDITED.to_owned()).chain((2..).map(|number| format!("{UNEDITED}-{number}")));
        let is_free = |name: &String| {
            !history.tags().contains_key(name) && history.branches().get(name).is_none_or(Option::is_none)
        };
        let name = names.find(is_free).unwrap_or_default();
        let known = history.branches().contains_key(&name);
        let branch = (!known).then(|| Line::Branch { name: name.clone(), at: None });
        return Ok(branch.into_iter().chain([Line::Checkout { name }]).collect());
    }
    if request.action == Action::Checkout
        && !history.branches().contains_key(given)
        && point(conversation, given).is_ok()
    {
        return Err(Refusal::new(
            ErrorCode::UnknownBranch,
            format!("`{given}` is a commit, not a branch."),
            hint![
                Command::Branch.with(format!("NAME --at {given}")),
                " starts one there; ",
                Command::List.with(format!("--at {given}")),
                " shows it."
            ],
        ));
    }
    if let Action::RemoveBranch | Action::RemoveTag = request.action {
        return removed(history, request.action, given).map(|line| vec![line]);
    }
    let name = name_of(request.name.as_deref())?;
    let target = request.target.as_deref().map(|name| point(conversation, name)).transpose()?;
    match request.action {
        Action::Branch => {
            if history.branches().contains_key(&name) {
                return Err(Refusal::new(
                    ErrorCode::Taken,
                    format!("A branch `{name}` already exists."),
                    hint![Command::Checkout.with(name.to_string()), " checks it out."],
                ));
            }
            if history.tags().contains_key(&name) {
                return Err(both(&name, "tag"));
            }
            let at = target.unwrap_or(history.head());
            // A new branch is checked out at once, as people expect.
            Ok(vec![Line::Branch { name: name.clone(), at }, Line::Checkout { name }])
        }
        Action::Checkout => match history.branches().contains_key(&name) {
            true => Ok(vec![Line::Checkout { name }]),
            false => Err(unknown_branch(history, &name, hint![Command::Branch.with(name.to_string()), " creates it."])),
        },
        _ => {
            if history.branches().contains_key(&name) {
                return Err(both(&name, "branch"));
            }
            let at = target.unwrap_or(history.head()).ok_or_else(|| {
                Refusal::new(ErrorCode::NoTarget, "There is no commit to tag.", "Make an edit first.")
            })?;
            if history.tags().get(&name).is_some_and(|other| *other != at) {
                return Err(Refusal::new(
                    ErrorCode::Taken,
                    format!("The tag `{name}` already names another commit."),
                    "Choose another name, or delete the tag first.",
                ));
            }
            Ok(vec![Line::Tag { name, at }])
        }
    }
}

fn removed(history: &History, action: Action, name: &str) -> Result<Line, Refusal> {
    let owned = name.to_owned();
    if action == Action::RemoveTag {
        if history.tags().contains_key(name) {
            return Ok(Line::RemoveTag { name: owned });
        }
        let near = nearest(name, history.tags().keys().map(String::as_str));
        let hint = suggest(&near, hint![Command::History, " lists the tags."]);
        return Err(Refusal::new(ErrorCode::UnknownTag, format!("No tag `{name}`."), hint));
    }
    if !history.branches().contains_key(name) {
        return Err(unknown_branch(history, name, hint![Command::History, " lists the branches."]));
    }
    if name == history.current() {
        return Err(Refusal::new(
            ErrorCode::CurrentBranch,
            format!("`{name}` is checked out, so it cannot be deleted."),
            "Check out another branch first.",
        ));
    }
    Ok(Line::RemoveBranch { name: owned })
}

fn unknown_branch(history: &History, name: &str, otherwise: Hint) -> Refusal {
    let near = nearest(name, history.branches().keys().map(String::as_str));
    Refusal::new(ErrorCode::UnknownBranch, format!("No branch `{name}`."), suggest(&near, otherwise))
}

/// Refuses an ambiguous name: a name means one point of the history.
fn both(name: &str, what: &str) -> Refusal {
    Refusal::new(
        ErrorCode::Taken,
        format!("A {what} `{name}` already exists; branches and tags share names."),
        format!("Choose another name, or delete the {what}."),
    )
}

fn name_of(name: Option<&str>) -> Result<String, Refusal> {
    let name = name.unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    let is_id = name.len() >= 3 && name.chars().all(|c| c.is_ascii_hexdigit());
    if name.is_empty()
        || name.len() > 64
        || !name.chars().all(plain)
        || is_id
        || ["HEAD", "head", "source", "none"].contains(&name)
    {
        return Err(Refusal::new(
            ErrorCode::BadName,
            format!("`{name}` is not a valid name."),
            "Use letters, digits, `-`, `_`, `.` and `/`; avoid names that look like a commit id.",
        ));
    }
    Ok(name.to_owned())
}
