//! A plan made against another head: lists the commits since then, and their effects on the plan.

use crate::Refusal;
use crate::compose::Ground;
use crate::compose::compare::{Overview, overview};
use crate::conversation::Conversation;
use crate::edit::apply::expected;
use ctx_api::plan::PlannedOperation;
use ctx_core::edit::frame_id::FrameId;
use ctx_core::edit::{Commit, CommitId};
use ctx_core::hint;
use ctx_core::hint::{Argument, Command};

/// The number of commits to list.
const MOST: usize = 10;

pub fn check(
    conversation: &Conversation,
    ground: &Ground<'_>,
    expect: Option<&str>,
    chosen: &[(usize, &PlannedOperation)],
    misfits: &[(usize, Refusal)],
) -> Result<(), Refusal> {
    let Err(refusal) = expected(conversation, expect) else { return Ok(()) };
    let expect = expect.unwrap_or_default();
    let history = &conversation.history;
    let then = if expect == "none" { Some(None) } else { history.find(expect).ok().map(Some) };
    let line: Vec<&Commit> = history.line(history.head()).collect();
    let since = then.and_then(|then| match then {
        None => Some(line.len()),
        Some(then) => line.iter().position(|commit| commit.id == then),
    });
    let Some(since) = since else {
        let message = match then {
            Some(_) => {
                format!("The plan was written for {expect}, which is not on the branch `{}`.", history.current())
            }
            None => format!("The plan was written for {expect}, which is not a commit of this conversation."),
        };
        let hint = hint![
            "Nothing was changed. Check the conversation (",
            Argument::new("conv"),
            ") and branch (",
            Command::Checkout,
            ")."
        ];
        return Err(Refusal::new(refusal.code, message, hint));
    };
    let mut message = refusal.message;
    for (at, commit) in line.iter().take(since.min(MOST)).enumerate() {
        let parent = line.get(at + 1).map(|commit| commit.id);
        let touched = touched(conversation, ground, (parent, commit.id), chosen);
        let touched = match touched.as_slice() {
            [] => String::new(),
            touched => format!(" [touches {}]", touched.join(", ")),
        };
        message.push_str(&format!("\n  {} by {}: {}{touched}", commit.id, commit.author, commit.summary));
    }
    if since > MOST {
        message.push_str(&format!("\n  and {} more", since - MOST));
    }
    for (_, misfit) in misfits {
        message.push_str(&format!("\nNo longer possible: {}", misfit.message));
    }
    let hint = match misfits {
        [] => {
            let head = history.head().map_or_else(|| "none".to_owned(), |head| head.to_string());
            hint![
                "Nothing was changed. If the plan is still right, retry with ",
                Argument::new("expect").with(head.to_string()),
                "; otherwise write a new one."
            ]
        }
        _ => hint!["Nothing was changed. Check ", Command::List, " and write a new plan."],
    };
    Err(Refusal::new(refusal.code, message, hint))
}

/// The ids of the plan whose content a commit changed, with the operations that name them.
fn touched(
    conversation: &Conversation,
    ground: &Ground<'_>,
    (parent, commit): (Option<CommitId>, CommitId),
    chosen: &[(usize, &PlannedOperation)],
) -> Vec<String> {
    let at = |head| overview(conversation, ground, &ground.lay(conversation.effects(head)));
    let (old, new) = (at(parent), at(Some(commit)));
    let changed = Overview::changed(&old, &new);
    let order: Vec<&str> = old.frames.iter().map(|frame| frame.id.as_str()).collect();
    let is_touched =
        |id: &&str| frames_of(id, &order).iter().any(|frame| changed.iter().any(|one| is_part(one, frame)));
    let mut touched = Vec::new();
    for (number, planned) in chosen {
        let ids = planned.operation.ids().iter().flat_map(|ids| ids.split(',')).map(str::trim);
        touched.extend(ids.filter(is_touched).map(|id| format!("{id} of operation {number}")));
    }
    touched
}

/// Whether two frames are the same, or one is a part of the other: `t4.1` of `t4`.
fn is_part(one: &str, other: &str) -> bool {
    match (one.parse::<FrameId>(), other.parse::<FrameId>()) {
        (Ok(one), Ok(other)) => one.is_in(&other) || other.is_in(&one),
        _ => one == other,
    }
}

fn frames_of<'a>(id: &'a str, order: &[&'a str]) -> Vec<&'a str> {
    let frame = |id: &'a str| id.split(['/', '#']).next().unwrap_or(id);
    let place = |id: &'a str| order.iter().position(|other| *other == frame(id));
    match id.split_once("..") {
        Some((from, to)) if !from.contains('/') => match (place(from), place(to)) {
            (Some(from), Some(to)) => order.get(from..=to).unwrap_or_default().to_vec(),
            _ => vec![frame(from), frame(to)],
        },
        _ => vec![frame(id)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_lies_in_its_frames() {
        let order = ["tools", "system", "t1", "t2", "t3", "t4"];
        assert_eq!(frames_of("t3", &order), ["t3"]);
        assert_eq!(frames_of("t3/5..9", &order), ["t3"]);
        assert_eq!(frames_of("t3#2.1", &order), ["t3"]);
        assert_eq!(frames_of("t2..t4", &order), ["t2", "t3", "t4"]);
        assert_eq!(frames_of("t2..t9", &order), ["t2", "t9"]);
        assert_eq!(frames_of("t4..t2", &order), Vec::<&str>::new());
        assert_eq!(frames_of("tools/Bash", &order), ["tools"]);
    }

    #[test]
    fn a_part_of_a_frame_counts_as_the_frame() {
        for (one, other) in [("t4", "t4.1"), ("t4.1", "t4"), ("t4", "t4"), ("tools", "tools"), ("t4.1.2", "t4.1")] {
            assert!(is_part(one, other), "{one} {other}");
        }
        for (one, other) in [("t4.1", "t4.2"), ("t4", "t41"), ("a4", "t4"), ("tools", "system")] {
            assert!(!is_part(one, other), "{one} {other}");
        }
    }
}
