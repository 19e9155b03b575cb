//! Branches, tags, and the point before the first commit.

use crate::check;
use crate::regressions::{apply, turns, world};
use crate::world::World;
use ctx_api::edit::EditResult;
use ctx_api::history::{Action, HistoryRequest};
use ctx_core::ErrorCode;
use ctx_engine::Refusal;
use serde_json::json;

/// Three turns, of which the second is deleted.
fn edited() -> World {
    let mut world = world();
    turns(&mut world, 0, 3);
    apply(&world, 0, json!({"op": "delete", "ids": ["t2"]}));
    world
}

fn go(world: &World, action: Action, target: Option<&str>, name: Option<&str>) -> Result<EditResult, Refusal> {
    let request = HistoryRequest {
        action,
        target: target.map(str::to_owned),
        name: name.map(str::to_owned),
        cascade: false,
        author: "cli".into(),
        note: None,
        expect: None,
        dry_run: false,
        when: Default::default(),
    };
    world.service().go(&check::name(world, 0), request)
}

fn refused(world: &World, action: Action, target: Option<&str>, name: Option<&str>) -> Refusal {
    go(world, action, target, name).expect_err("refused")
}

fn deleted(world: &World, at: &str) -> bool {
    let list = world.service().frames(&check::name(world, 0), false, Some(at)).expect("a list");
    list.frames.iter().any(|frame| frame.id == "t2" && frame.state == ["deleted"])
}

#[test]
fn source_is_the_point_before_the_first_commit() {
    let mut world = edited();
    assert!(deleted(&world, "HEAD") && !deleted(&world, "source") && !deleted(&world, "none"));
    let back = go(&world, Action::Rollback, Some("source"), None).expect("rolled back");
    assert!(back.summary.starts_with("roll back to source: "), "{}", back.summary);
    assert!(!deleted(&world, "HEAD"));
    let again = refused(&world, Action::Rollback, Some("none"), None);
    assert_eq!(
        (again.code, again.message.as_str()),
        (ErrorCode::NothingToDo, "No edit is active: requests pass unchanged.")
    );
    assert_eq!(refused(&world, Action::Revert, Some("source"), None).code, ErrorCode::NoTarget);
    go(&world, Action::Undo, None, None).expect("the rollback is a commit too");
    assert!(deleted(&world, "HEAD"));
    turns(&mut world, 0, 1);
    world.restart().expect("the same");
    assert!(deleted(&world, "HEAD"));
}

#[test]
fn a_branch_can_begin_without_edits_and_be_looked_at() {
    let mut world = edited();
    go(&world, Action::Branch, Some("source"), Some("bare")).expect("a branch");
    assert!(!deleted(&world, "HEAD") && !deleted(&world, "bare") && deleted(&world, "main"));
    go(&world, Action::Checkout, None, Some("main")).expect("there");
    let looked = go(&world, Action::Checkout, None, Some("source")).expect("there");
    assert_eq!((looked.branch.as_str(), looked.commit), ("unedited", None));
    assert!(!deleted(&world, "HEAD"));
    apply(&world, 0, json!({"op": "pin", "ids": ["t1"]}));
    go(&world, Action::Checkout, None, Some("main")).expect("there");
    let another = go(&world, Action::Checkout, None, Some("none")).expect("there");
    assert_eq!(another.branch, "unedited-2", "the other one has an edit now");
    world.restart().expect("the same");
    assert_eq!(world.service().branches(&check::name(&world, 0)).expect("branches").branch, "unedited-2");
}

#[test]
fn a_name_is_a_branch_or_a_tag() {
    let world = edited();
    go(&world, Action::Tag, None, Some("good")).expect("a tag");
    let refusal = refused(&world, Action::Branch, None, Some("good"));
    assert_eq!(refusal.message, "A tag `good` already exists; branches and tags share names.");
    assert_eq!(
        (refusal.code, refusal.hint.to_string().as_str()),
        (ErrorCode::Taken, "Choose another name, or delete the tag.")
    );
    let refusal = refused(&world, Action::Tag, None, Some("main"));
    assert_eq!(refusal.message, "A branch `main` already exists; branches and tags share names.");
    for name in ["source", "none", "HEAD", ""] {
        assert_eq!(refused(&world, Action::Branch, None, Some(name)).code, ErrorCode::BadName);
        assert_eq!(refused(&world, Action::Tag, None, Some(name)).code, ErrorCode::BadName);
    }
    assert_eq!(refused(&world, Action::Tag, Some("source"), Some("start")).code, ErrorCode::NoTarget);
}

#[test]
fn branches_and_tags_are_removed_and_stay_removed() {
    let mut world = edited();
    let name = check::name(&world, 0);
    go(&world, Action::Tag, None, Some("good")).expect("a tag");
    go(&world, Action::Branch, None, Some("other")).expect("a branch");
    assert_eq!(refused(&world, Action::RemoveBranch, None, Some("other")).code, ErrorCode::CurrentBranch);
    assert_eq!(refused(&world, Action::RemoveBranch, None, Some("good")).code, ErrorCode::UnknownBranch);
    assert_eq!(
        refused(&world, Action::RemoveTag, None, Some("god")).hint.to_string(),
        "Did you mean good? `ctx history` lists the tags."
    );
    go(&world, Action::RemoveBranch, None, Some("main")).expect("removed");
    go(&world, Action::RemoveTag, None, Some("good")).expect("removed");
    go(&world, Action::Branch, None, Some("good")).expect("the name is free");
    world.restart().expect("the same");
    let branches = world.service().branches(&name).expect("branches");
    let names: Vec<&str> = branches.branches.iter().map(|branch| branch.name.as_str()).collect();
    assert_eq!((names, branches.branch.as_str()), (vec!["good", "other"], "good"));
    assert!(world.service().tags(&name).expect("tags").tags.is_empty());
    assert!(deleted(&world, "HEAD"), "what was done on it stays");
}

#[test]
fn the_whole_history_has_the_commits_of_all_branches() {
    let world = edited();
    let name = check::name(&world, 0);
    go(&world, Action::Branch, Some("source"), Some("trial")).expect("a branch");
    go(&world, Action::Checkout, None, Some("trial")).expect("looked at");
    apply(&world, 0, json!({"op": "delete", "ids": ["t1"]}));
    let here = world.service().history(&name, usize::MAX).expect("a history").commits;
    let all = world.service().whole_history(&name, usize::MAX).expect("a history").commits;
    assert_eq!((here.len(), all.len()), (1, 2));
    assert_eq!((all[0].id, all[0].here, all[0].active), (here[0].id, true, true));
    assert_eq!((all[1].here, all[1].active, all[1].parent), (false, false, None));
    assert_eq!(
        (all[0].branches.as_slice(), all[1].branches.as_slice()),
        (&["trial".to_owned()][..], &["main".to_owned()][..])
    );
}
