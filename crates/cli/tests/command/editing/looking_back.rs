//! The history: navigating and reading it.

use super::scene::{Scene, word};
use crate::place::finish;

fn commits(scene: &Scene) -> Vec<String> {
    let history = scene.json(&["history"]);
    history["commits"].as_array().into_iter().flatten().map(|commit| word(&commit["id"])).collect()
}

#[test]
fn what_was_done_is_undone_and_redone() {
    let scene = Scene::new();
    let before = scene.dump();
    let (_, deleted) = scene.change(&["delete", "t2"]);
    let (_, sent) = scene.change(&["undo"]);
    assert_eq!(sent, before);
    let (_, sent) = scene.change(&["redo"]);
    assert_eq!(sent, deleted);
    let (_, sent) = scene.change(&["revert"]);
    assert_eq!(sent, before);
    assert_eq!(scene.refused(&["redo"])["code"].as_str().map(str::is_empty), Some(false));
}

#[test]
fn any_commit_is_reverted_in_any_order() {
    let scene = Scene::new();
    let before = scene.dump();
    let (first, _) = scene.change(&["delete", "t1"]);
    let (_, both) = scene.change(&["edit", "t3#0", "--text", "Paint the fence"]);
    let (_, sent) = scene.change(&["revert", &word(&first["commit"])[..6]]);
    assert!(sent.contains("needle") && sent.contains("fence"), "{sent}");
    let listed = scene.place.run(&["history"]).ok().out;
    assert!(listed.contains("[off] ") && listed.contains("cli"), "{listed}");
    assert_eq!(commits(&scene).len(), 3);
    let (_, sent) = scene.change(&["undo"]);
    assert_eq!(sent, both);
    scene.change(&["rollback", &word(&first["commit"])]);
    let sent = scene.dump();
    assert!(!sent.contains("needle") && sent.contains("barn"), "{sent}");
    scene.change(&["revert", &word(&first["commit"])]);
    assert_eq!(scene.dump(), before);
}

#[test]
fn what_others_stand_on_is_reverted_with_them_or_not_at_all() {
    let scene = Scene::new();
    let before = scene.dump();
    let (added, _) = scene.change(&["add", "--text", "Mind the dog.", "--after", "t1"]);
    let (edited, _) = scene.change(&["edit", "a1", "--text", "Mind the cat."]);
    let error = scene.refused(&["revert", &word(&added["commit"])]);
    let said = format!("{} {}", word(&error["message"]), word(&error["hint"]));
    assert!(said.contains(&word(&edited["commit"])) && said.contains("--cascade"), "{error}");
    scene.change(&["revert", &word(&added["commit"]), "--cascade"]);
    assert_eq!(scene.dump(), before);
}

#[test]
fn branches_are_lines_of_edits_of_their_own() {
    let scene = Scene::new();
    let (first, on_main) = scene.change(&["delete", "t1"]);
    scene.json(&["tag", "good"]);
    scene.json(&["branch", "trial"]);
    let (_, on_trial) = scene.change(&["delete", "t2"]);
    let moved = scene.json(&["checkout", "main"]);
    assert_eq!((&moved["branch"], &moved["commit"]), (&"main".into(), &first["commit"]));
    assert_eq!(scene.dump(), on_main);
    assert!(scene.place.run(&["history"]).ok().out.contains("other branches: trial"));
    let at = scene.place.ctx(&["compose", "--dump", "--at", "trial"]).output().expect("it runs").stdout;
    assert_eq!(String::from_utf8(at).expect("text"), on_trial);
    scene.json(&["branch", "old", "--at", "good"]);
    assert_eq!(scene.dump(), on_main);
    assert!(scene.place.run(&["checkout", "trial"]).ok().out.starts_with(|letter: char| letter.is_ascii_hexdigit()));
    assert_eq!(scene.dump(), on_trial);
}

#[test]
fn the_past_can_be_looked_at() {
    let scene = Scene::new();
    let (first, one) = scene.change(&["delete", "t1"]);
    scene.change(&["compact", "t2", "--text", "Seven."]);
    let first = word(&first["commit"]);
    let at = |arguments: &[&str]| scene.place.run(&[arguments, &["--at", &first]].concat()).ok().out;
    assert_eq!(at(&["compose", "--dump"]), one);
    let (then, now) = (at(&["show", "t2"]), scene.place.run(&["show", "t2"]).ok().out);
    assert!(then.contains("seven cows") && !then.contains("not sent since"), "{then}");
    assert!(now.contains("Seven.") && now.contains("not sent since") && now.contains("written by an edit"), "{now}");
    // The client's own notes in it stay.
    assert!(at(&["list"]).contains("[trimmed]") && !at(&["list"]).contains("[compacted]"), "{}", at(&["list"]));

    let diff = scene.place.run(&["diff"]).ok().out;
    assert!(diff.starts_with("source..HEAD") && diff.contains("t1") && diff.contains("- "), "{diff}");
    let since = scene.json(&["diff", &first]);
    let changed: Vec<String> = since["frames"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|frame| frame["change"] != "same")
        .map(|frame| word(&frame["id"]))
        .collect();
    assert_eq!(changed, ["t2"], "{since}");
    let nothing = scene.place.run(&["diff", "HEAD", "HEAD"]).ok().out;
    assert!(nothing.contains("No differences."), "{nothing}");

    let explained = scene.place.run(&["compose", "--explain"]).ok().out;
    assert!(explained.starts_with("Edited: ") && explained.contains(&first), "{explained}");
    let source = scene.json(&["compose", "--explain", "--at", "source"]);
    assert_eq!(source["untouched"], true);

    let timeline = scene.place.run(&["timeline"]).ok().out;
    assert!(timeline.contains("commit") && timeline.contains(&format!("{first} by cli")), "{timeline}");
}

#[test]
fn a_preview_tells_and_changes_nothing() {
    let scene = Scene::new();
    let before = (scene.dump(), scene.json(&["history"]));
    let told = scene.json(&["preview", "delete", "t1"]);
    assert!(told["commit"].is_null() && told["tokens_after"].as_u64() < told["tokens_before"].as_u64(), "{told}");
    assert!(told["preview"]["tokens_reread"].as_u64() > Some(0), "{told}");
    let said = scene.place.run(&["delete", "t1", "--dry-run"]).ok().out;
    assert!(said.starts_with("preview  ") && said.contains(" → ") && said.contains("re-reads"), "{said}");
    for verb in [
        &["preview", "offload", "t1"][..],
        &["preview", "add", "--text", "x"],
        &["preview", "split", "t2", "--each-step"],
    ] {
        scene.place.run(verb).ok();
    }
    assert_eq!((scene.dump(), scene.json(&["history"])), before);
    let written = std::fs::read_dir(scene.place.home().join("offload")).map_or(0, Iterator::count);
    assert_eq!(written, 0, "a preview writes no file");
}

#[test]
fn a_commit_is_seen_while_it_is_made() {
    let scene = Scene::new();
    scene.settle();
    let events = scene.json(&["timeline"]);
    let now = events["events"].as_array().and_then(|all| all.last()?["seq"].as_u64()).expect("a number").to_string();
    let command = scene.place.ctx(&["watch", "--limit", "1", "--after", &now]);
    let watch = std::thread::spawn(move || finish(command));
    let applied = scene.json(&["delete", "t1", "--note", "not needed"]);
    let seen = watch.join().expect("it ends").ok().out;
    assert!(
        seen.contains(&word(&applied["commit"])) && seen.contains("by cli") && seen.contains("not needed"),
        "{seen}"
    );
}

#[test]
fn branches_and_tags_are_listed_and_removed() {
    let scene = Scene::new();
    assert!(scene.place.run(&["tag"]).ok().out.contains("No tags yet"));
    let (first, _) = scene.change(&["delete", "t1"]);
    let first = word(&first["commit"]);
    scene.place.run(&["tag", "good"]).ok();
    scene.place.run(&["branch", "trial"]).ok();
    scene.change(&["delete", "t2"]);
    let listed = scene.place.run(&["branch"]).ok().out;
    let line = |name: &str| listed.lines().find(|line| line.contains(name)).expect("a row").to_owned();
    assert!(line("trial").starts_with("*  trial") && line("main").contains(&first), "{listed}");
    let tags = scene.place.run(&["tag"]).ok().out;
    assert!(tags.contains(&format!("good  {first}")) && tags.contains("delete t1"), "{tags}");
    assert_eq!(scene.json(&["branch"])["branches"].as_array().map(Vec::len), Some(2));
    assert_eq!(scene.json(&["tag"])["tags"][0]["commit"], first.as_str());

    for point in ["good", &first, &first[..6]] {
        let error = scene.refused(&["checkout", point]);
        assert!(word(&error["message"]).contains("not a branch"), "{error}");
        assert!(word(&error["hint"]).contains(&format!("ctx branch NAME --at {point}")), "{error}");
    }
    scene.refused(&["branch", "--delete", "trial"]);
    scene.refused(&["tag", "--delete", "trial"]);
    scene.place.run(&["checkout", "main"]).ok();
    scene.place.run(&["branch", "--delete", "trial", "--dry-run"]).ok();
    assert!(scene.place.run(&["branch"]).ok().out.contains("trial"), "a preview removes nothing");
    scene.place.run(&["branch", "--delete", "trial"]).ok();
    scene.place.run(&["tag", "-d", "good"]).ok();
    assert!(!scene.place.run(&["branch"]).ok().out.contains("trial"));
    assert!(scene.place.run(&["tag"]).ok().out.contains("No tags yet"));
}

#[test]
fn an_explanation_has_a_line_for_each_commit() {
    let scene = Scene::new();
    let ids = ["t1", "t2"].map(|id| word(&scene.change(&["delete", id]).0["commit"]));
    let told = scene.place.run(&["compose", "--explain"]).ok().out;
    for (id, what) in ids.iter().zip(["delete t1", "delete t2"]) {
        let line = told.lines().find(|line| line.contains(id.as_str())).expect("a line");
        assert!(line.contains(what), "{told}");
    }
}

#[test]
fn a_dry_run_answers_what_a_preview_does_and_changes_nothing() {
    let scene = Scene::new();
    scene.change(&["delete", "t1"]);
    let before = scene.dump();
    for change in [
        &["delete", "t2"][..],
        &["compact", "t2/1..2", "--text", "short"],
        &["drop-results", "--tool", "Bash"],
        &["move", "t3", "--start"],
        &["undo"],
        &["branch", "trial"],
        &["tag", "good"],
    ] {
        let tried = scene.json(&[change, &["--dry-run", "--note", "why"]].concat());
        let previewed = scene.json(&[&["preview"], change].concat());
        assert_eq!(tried, previewed, "{change:?}");
        assert!(tried["tokens_after"].is_u64(), "{tried}");
    }
    assert_eq!(scene.dump(), before);
    assert_eq!(commits(&scene).len(), 1);
}
