//! Verbs that change text.

use std::fs;

use super::scene::{Scene, four_turns, word};
use crate::place::{finish, until};

#[test]
fn what_is_deleted_is_not_sent_any_more() {
    let mut scene = Scene::new();
    let (applied, sent) = scene.change(&["delete", "t2"]);
    assert_eq!(applied["frames"], serde_json::json!(["t2"]));
    assert!(applied["tokens_after"].as_u64() < applied["tokens_before"].as_u64(), "{applied}");
    assert!(!sent.contains("cows") && sent.contains("needle") && sent.contains("barn"), "{sent}");
    let frame = scene.frame("t2");
    assert_eq!((&frame["state"], &frame["tokens"]), (&serde_json::json!(["deleted"]), &0.into()));
    assert!(frame["source_tokens"].as_u64() > Some(0), "{frame}");
    assert_eq!(scene.ids(), ["t1", "t2", "t3", "t4"]);

    let sent = scene.next("SAY:and on");
    assert!(!sent.contains("cows") && sent.contains("you are welcome"), "{sent}");
    scene.restart();
    let sent = scene.next("SAY:and further on");
    assert!(!sent.contains("cows") && sent.contains("and on"), "{sent}");
}

#[test]
fn steps_parts_tools_and_what_is_large_can_be_deleted() {
    let scene = Scene::new();
    let (_, sent) = scene.change(&["delete", "t2/1"]);
    assert!(!sent.contains("seven cows") && !sent.contains("cows.txt") && sent.contains("still seven"), "{sent}");
    let (_, sent) = scene.change(&["delete", "tools/WebFetch", "t3#3"]);
    assert!(!sent.contains("\"WebFetch\"") && !sent.contains("Painted.") && sent.contains("paint barn"), "{sent}");
    let (_, sent) = scene.change(&["delete", "--tool", "Read", "--older-than", "1"]);
    assert!(!sent.contains("stack.txt") && sent.contains("It is in the stack."), "{sent}");
    let (_, sent) = scene.change(&["delete", "t1,t2..t3"]);
    assert!(!sent.contains("needle") && !sent.contains("barn") && sent.contains("you are welcome"), "{sent}");
}

#[test]
fn what_is_protected_takes_force() {
    let scene = Scene::new();
    let error = scene.refused(&["delete", "system#0"]);
    assert_eq!(error["code"], "protected");
    assert!(word(&error["hint"]).contains("--force"), "{error}");
    let error = scene.refused(&["delete", "system#0", "--force"]);
    assert_eq!(error["code"], "nothing-to-do", "{error}");
    assert!(word(&error["message"]).contains("attribution stays"), "a rule keeps it: {error}");
}

#[test]
fn a_text_a_message_and_raw_messages_take_the_place_of_what_was_said() {
    let scene = Scene::new();
    let (_, sent) = scene.change(&["edit", "t3#0", "--text", "Paint the \"house\""]);
    assert!(sent.contains(r#"Paint the \"house\""#) && !sent.contains("Paint the barn"), "{sent}");
    assert!(sent.contains("it is red now"), "the rest of the frame stays: {sent}");
    let raw = scene.place.run(&["show", "t3#0", "--raw"]).ok().out;
    let block = r#"{"type":"text","text":"Paint the \"house\""}"#;
    assert_eq!(raw, format!("{{\"role\":\"user\",\"content\":[{block}]}}\n"), "only what is sent");
    let raw = r#"[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello yourself"}]"#;
    let (_, sent) = scene.change(&["edit", "t2", "--raw", raw]);
    assert!(sent.contains("Hello yourself") && !sent.contains("cows"), "{sent}");
    assert_eq!(scene.frame("t2")["state"], serde_json::json!(["edited"]));
    let file = scene.file("text.md", "From a file\n");
    let (_, sent) = scene.change(&["edit", "t1", "--file", &file.display().to_string()]);
    assert!(sent.contains("\"From a file\"") && !sent.contains("needle"), "{sent}");
    let ran = scene.run_with(&["edit", "t1", "--text", "-"], "From a pipe\n").ok();
    assert!(ran.out.contains("t1"), "{ran:?}");
    assert!(scene.dump().contains("\"From a pipe\""));
}

#[cfg(unix)]
#[test]
fn without_a_text_the_editor_opens_with_what_is_there() {
    let scene = Scene::new();
    let edit = |editor: &str| {
        let mut command = scene.place.ctx(&["edit", "t3#0"]);
        command.env("EDITOR", editor);
        finish(command)
    };
    let before = scene.dump();
    for (editor, why) in [("true", "unchanged"), ("truncate -s 0", "empty"), ("false", "failed")] {
        let ran = edit(editor).refused();
        assert!(ran.err.contains(why) && ran.err.contains("nothing was changed"), "{ran:?}");
    }
    let ran = scene.place.run(&["edit", "t3#0"]).refused();
    assert!(ran.err.contains("EDITOR") && ran.err.contains("--text"), "{ran:?}");
    assert_eq!(scene.dump(), before);
    edit("sed -i s/barn/fence/").ok();
    assert!(scene.dump().contains("Paint the fence"));
    assert_eq!(String::from_utf8(scene.send()).expect("text"), scene.dump());
    let mut command = scene.place.ctx(&["edit", "t3#0", "--expect", "none"]);
    command.env("VISUAL", "sed -i s/fence/gate/").env("EDITOR", "false");
    let ran = finish(command).refused();
    let draft = saved(&ran.err);
    let text = fs::read_to_string(draft).expect("the text");
    assert_eq!(text, "Paint the gate\n");
    scene.change(&["edit", "t3#0", "--file", draft]);
    assert!(scene.dump().contains("Paint the gate"));
    fs::remove_file(draft).expect("removed");
    let kept = fs::read_dir(scene.place.home()).expect("the home").flatten();
    assert!(!kept.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("edit-")));
}

/// The file that keeps the text of a failed edit.
#[cfg(unix)]
fn saved(told: &str) -> &str {
    let (_, retry) = told.split_once("your text is saved; retry with --conv ").expect("where the text is kept");
    retry.split_once(" --file ").expect("a file").1.trim()
}

/// `ctx edit t3#0` with an editor that changes the text and runs this shell command.
#[cfg(unix)]
fn editing_during(scene: &Scene, during: &str) -> std::process::Command {
    let editor = format!("sed -i s/barn/fence/ \"$1\"; {during}; true");
    let mut command = scene.place.shell("exec ctx edit 't3#0'");
    command.env("EDITOR", editor);
    command
}

#[cfg(unix)]
#[test]
fn an_edit_goes_to_the_conversation_that_the_editor_showed() {
    let scene = Scene::new();
    let shown = scene.json(&["history"])["conversation"].clone();
    let (opened, go_on) = (scene.place.path("opened"), scene.place.path("go-on"));
    let during = format!("touch '{}'; while [ ! -e '{}' ]; do sleep 0.05; done", opened.display(), go_on.display());
    let command = editing_during(&scene, &during);
    let edit = std::thread::spawn(move || finish(command));
    until("the editor is open", || opened.exists().then_some(()));
    scene.send_other(&four_turns(2));
    fs::write(go_on, "").expect("written");
    edit.join().expect("it ran").ok();
    assert_ne!(scene.json(&["history"])["conversation"], shown, "another one is active now");
    assert!(scene.dump().contains("Paint the barn"), "the active conversation is unchanged");
    let sent = scene.place.run(&["compose", "--dump", "--conv", &word(&shown)]).ok().out;
    assert!(sent.contains("Paint the fence"), "{sent}");
}

#[cfg(unix)]
#[test]
fn a_commit_made_while_the_editor_is_open_is_not_overwritten() {
    let scene = Scene::new();
    let ran = finish(editing_during(&scene, "ctx edit 't3#0' --text 'Paint the house' >&2"));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("Another commit was made"), "{ran:?}");
    assert!(scene.dump().contains("Paint the house"));
    assert_eq!(fs::read_to_string(saved(&ran.err)).expect("the text"), "Paint the fence\n");
}

#[cfg(unix)]
#[test]
fn the_text_is_kept_if_the_daemon_ends_while_the_editor_is_open() {
    let scene = Scene::new();
    let ran = finish(editing_during(&scene, "ctx stop >&2"));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(fs::read_to_string(saved(&ran.err)).expect("the text"), "Paint the fence\n");
}

#[cfg(unix)]
#[test]
fn the_clients_notes_are_warned_of_only_if_the_editor_loses_them() {
    let scene = Scene::new();
    let edit = |editor: &str| {
        let mut command = scene.place.ctx(&["edit", "t1", "--json"]);
        command.env("EDITOR", editor);
        let applied: serde_json::Value = serde_json::from_str(&finish(command).ok().out).expect("JSON");
        applied["warnings"].as_array().cloned().unwrap_or_default()
    };
    assert!(scene.dump().contains("<system-reminder>") && scene.dump().contains("needle"), "{}", scene.dump());
    assert_eq!(edit("sed -i s/needle/button/g"), Vec::<serde_json::Value>::new());
    assert!(scene.dump().contains("button"));
    scene.json(&["undo"]);
    let copy = scene.file("copy.json", "");
    edit(&format!("sed -i s/needle/pin/g \"$1\"; cp \"$1\" '{}'; true", copy.display()));
    scene.json(&["undo"]);
    let raw: serde_json::Value = serde_json::from_str(&fs::read_to_string(copy).expect("a file")).expect("JSON");
    let plan = serde_json::json!([{"op": "edit", "id": "t1", "raw": raw}]).to_string();
    let planned = scene.json(&["plan", &scene.file("plan.json", &plan).display().to_string()]).to_string();
    assert!(planned.contains("pin") && !planned.contains("own notes"), "{planned}");
    let lost = edit("sed -i 's/<system-reminder>/<lost>/'");
    assert!(lost.iter().any(|told| told.to_string().contains("the client's own notes")), "{lost:?}");
}

#[test]
fn a_summary_takes_the_place_of_what_it_sums_up() {
    let scene = Scene::new();
    let (applied, sent) = scene.change(&["compact", "t1", "--text", "The needle was found."]);
    assert!(sent.contains("The needle was found.") && !sent.contains("straw"), "{sent}");
    assert!(applied["tokens_after"].as_u64() < applied["tokens_before"].as_u64(), "{applied}");
    assert_eq!(scene.frame("t1")["state"], serde_json::json!(["compacted"]));
    let (_, sent) = scene.change(&["compact", "t2/1..2", "--text", "Counted twice."]);
    assert!(
        sent.contains("Counted twice.") && !sent.contains("still seven") && sent.contains("There are seven."),
        "{sent}"
    );
}

#[test]
fn what_is_offloaded_lies_in_a_file_and_comes_back() {
    let scene = Scene::new();
    let before = scene.dump();
    let (applied, sent) = scene.change(&["offload", "t1", "--summary", "Where the needle was"]);
    let file = word(&applied["files"][0]);
    assert!(file.starts_with(&scene.place.home().join("offload").display().to_string()), "{file}");
    let content = fs::read_to_string(&file).expect("the file");
    assert!(content.contains("Find the needle") && content.contains("straw") && content.contains("Read"), "{content}");
    assert!(sent.contains(&file) && sent.contains("Where the needle was") && !sent.contains("straw"), "{sent}");
    assert_eq!(scene.frame("t1")["state"], serde_json::json!(["offloaded"]));
    let (_, sent) = scene.change(&["restore", "t1"]);
    assert_eq!(sent, before);

    let said = scene.place.run(&["offload", "--tool", "Read", "--larger-than", "50"]).ok().out;
    assert!(said.contains("written to ") && said.contains(" → "), "{said}");
    assert!(!scene.dump().contains("straw"));
}

#[test]
fn offloaded_content_can_lie_in_a_folder_of_ones_choice_where_git_does_not_see_it() {
    let scene = Scene::configured("[offload]\nfolder = \".ctx/offload\"\n");
    let (applied, sent) = scene.change(&["offload", "t1/1"]);
    let file = word(&applied["files"][0]);
    let folder = scene.place.path("home").canonicalize().expect("the home").join(".ctx/offload");
    assert!(file.starts_with(&folder.display().to_string()) && sent.contains(&file), "{file}");
    assert_eq!(fs::read_to_string(folder.join(".gitignore")).expect("a file"), "*\n");
}

#[test]
fn results_give_way_and_calls_stay() {
    let scene = Scene::new();
    let (_, sent) = scene.change(&["drop-results", "--tool", "Read"]);
    assert!(!sent.contains("straw") && sent.contains("stack.txt") && sent.contains("seven cows"), "{sent}");
    let (_, sent) = scene.change(&["summarize-results", "t2/2", "--text", "seven, once more"]);
    assert!(sent.contains("seven, once more") && !sent.contains("still seven"), "{sent}");
    let shown = scene.json(&["show", "t3"]).to_string();
    let id = shown.split("toolu_").nth(1).and_then(|rest| rest.split('"').next()).expect("an id");
    let (_, sent) = scene.change(&["drop-results", "--result", &format!("toolu_{id}")]);
    assert!(!sent.contains("it is red now") && sent.contains("paint barn"), "{sent}");
    scene.refused(&["drop-results"]);
    let (_, sent) = scene.change(&["drop-results", "t1..t3", "--larger-than", "0"]);
    assert!(!sent.contains("seven cows"), "{sent}");
}

#[test]
fn several_operations_are_one_commit_or_none() {
    let scene = Scene::new();
    let before = scene.dump();
    let batch = "# tidy up\n\n{\"op\":\"delete\",\"ids\":[\"t1\"]}\n{\"op\":\"pin\",\"ids\":[\"t3\"]}\n";
    let ran = scene.run_with(&["batch", "-", "--json", "--note", "tidy"], batch).ok();
    assert!(ran.json()["commit"].is_string(), "{ran:?}");
    assert!(!scene.dump().contains("needle"));
    assert_eq!(scene.frame("t3")["pinned"], true);
    let history = scene.json(&["history"]);
    assert_eq!(history["commits"].as_array().map(Vec::len), Some(1));
    assert_eq!((&history["commits"][0]["note"], &history["commits"][0]["author"]), (&"tidy".into(), &"cli".into()));
    assert_eq!(history["commits"][0]["operations"][0]["op"], "delete");
    scene.change(&["undo"]);
    assert_eq!(scene.dump(), before);

    let file =
        scene.file("batch.jsonl", "{\"op\":\"delete\",\"ids\":[\"t1\"]}\n{\"op\":\"delete\",\"ids\":[\"t99\"]}\n");
    let error = scene.refused(&["batch", &file.display().to_string()]);
    assert!(word(&error["message"]).contains("t99"), "{error}");
    let file = scene.file("batch.jsonl", "{\"op\":\"delete\",\"ids\":[\"t1\"]}\n\n{\"op\":\"delete\",\"id\":\"t2\"}\n");
    let error = scene.refused(&["batch", &file.display().to_string()]);
    assert!(word(&error["message"]).starts_with("line 3, column 16: unknown field `id`"), "{error}");
}

#[test]
fn thinking_that_an_edit_unbinds_is_left_out_and_told() {
    let mut scene = Scene::new();
    scene.next("THINK:deep thoughts ;; SAY:thought about it");
    scene.next("SAY:good");
    let (applied, _) = scene.change(&["delete", "t1"]);
    assert!(applied["preview"]["thinking_dropped"].as_u64() > Some(0), "{applied}");
    scene.next("THINK:new thoughts ;; SAY:again");
    let sent = scene.next("SAY:fine");
    assert_eq!(sent.matches("\"thinking\":").count() - 1, 1, "only what was thought after the edit: {sent}");
}

#[test]
fn thinking_of_edited_times_is_left_out_when_the_edits_are_taken_back() {
    const NEW: &str = r#""thinking":"new thoughts""#;
    const THIRD: &str = r#""thinking":"third thoughts""#;
    let mut scene = Scene::new();
    scene.change(&["delete", "t1"]);
    scene.next("THINK:new thoughts ;; SAY:again");
    let edited = scene.next("SAY:fine");
    assert!(edited.contains(NEW), "{edited}");
    let (_, sent) = scene.change(&["undo"]);
    assert!(!sent.contains(NEW), "{sent}");
    let (_, sent) = scene.change(&["redo"]);
    assert_eq!(sent, edited);
    scene.change(&["undo"]);
    scene.next("THINK:third thoughts ;; SAY:on and on");
    scene.settle();
    scene.restart();
    let sent = scene.next("SAY:the end");
    assert_eq!((sent.contains(THIRD), sent.contains(NEW)), (true, false), "{sent}");
}
