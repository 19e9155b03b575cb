//! Messages: the effect of a commit, kept and omitted content, refusals with reasons.

use serde_json::{Value, json};

use super::scene::{Scene, four_turns, word};

#[test]
fn a_commit_is_called_by_what_was_named() {
    let scene = Scene::new();
    let summary = |arguments: &[&str]| word(&scene.change(arguments).0["summary"]);
    assert!(summary(&["delete", "t2/2"]).starts_with("delete t2/2, "));
    assert!(summary(&["edit", "t1/1", "--text", "I looked."]).starts_with("edit t1/1, "));
    assert!(summary(&["delete", "t3#2.0"]).starts_with("delete t3#2.0, "));
    assert!(summary(&["move", "t1", "--after", "t2"]).starts_with("move t1 after t2"));
    assert!(summary(&["move", "t1", "--start"]).starts_with("move t1 to the start"));
    assert!(summary(&["add", "--text", "x", "--after", "t1"]).starts_with("add a1, "));
    let lines = "{\"op\":\"pin\",\"ids\":[\"t2\"]}\n{\"op\":\"retitle\",\"id\":\"t1\",\"title\":\"Hay\"}\n";
    let file = scene.file("batch.jsonl", lines).display().to_string();
    assert_eq!(summary(&["batch", &file]), "pin t2; retitle t1");
}

#[test]
fn one_text_is_refused_for_several_results_whichever_way_it_comes() {
    let scene = Scene::new();
    let line = r#"{"op":"summarize-results","ids":["t2"],"text":"x"}"#;
    let file = scene.file("many.jsonl", line).display().to_string();
    for arguments in [
        &["summarize-results", "t2", "--text", "x"][..],
        &["summarize-results", "t2/1", "--text", "x"],
        &["summarize-results", "--tool", "Bash", "--text", "x"],
        &["summarize-results", "--larger-than", "0", "--text", "x"],
        &["batch", &file],
        &["plan", &file],
    ] {
        assert_eq!(scene.refused(arguments)["code"], "many-results", "{arguments:?}");
    }
    scene.change(&["summarize-results", "t2/2", "--text", "Seven, again."]);
}

#[test]
fn raw_json_of_which_nothing_would_be_sent_is_refused_with_the_rule() {
    let scene = Scene::new();
    let lost = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_nobody","content":"x"}]}"#;
    let error = scene.refused(&["edit", "t3", "--raw", lost]);
    assert_eq!(error["code"], "bad-content", "{error}");
    assert!(word(&error["message"]).contains("rule A31 ("), "the rule is named: {error}");
}

#[test]
fn deleting_the_system_prompt_tells_what_stays() {
    let scene = Scene::new();
    let told = scene.place.run(&["delete", "system"]).ok().out;
    assert!(told.contains("`system#0` stays: ") && !told.contains("--force"), "nothing removes it: {told}");
    assert!(
        scene.json(&["history"])["commits"][0]["summary"]
            .as_str()
            .is_some_and(|what| what.starts_with("delete system"))
    );
}

#[test]
fn steps_that_become_frames_are_called_by_what_they_do() {
    let scene = Scene::new();
    scene.change(&["add", "--role", "assistant", "--text", "I have seen the barn.", "--after", "t3"]);
    let before = scene.dump();
    scene.json(&["split", "t2", "--each-step"]);
    assert_eq!(scene.dump(), before);
    assert_eq!(scene.frame("t2.2")["title"], "Bash count cows (+1)");
    assert_eq!(scene.frame("t2.3")["title"], "Bash count again");
    let list = scene.json(&["list", "--steps"]);
    let added = list["frames"].as_array().into_iter().flatten().find(|frame| frame["id"] == "a1").expect("it is there");
    assert_eq!(added["step_list"][0]["title"], "I have seen the barn.", "{added}");
    let told = scene.place.run(&["diff", "HEAD", "source"]).ok().out;
    assert!(told.contains("a1") && !told.contains("t2"), "a cut changes nothing: {told}");
}

#[test]
fn imported_frames_stay_apart_and_what_is_left_out_is_told() {
    let scene = Scene::new();
    let other = four_turns(7);
    scene.send_other(&other);
    let own = word(&scene.json(&["conversations"])["conversations"][1]["id"]);
    let from = word(&scene.json(&["conversations"])["conversations"][0]["id"]);
    let conv = ["--conv", &own];
    let told = scene.place.run(&[&["import", &from, "t1..t2,t3/1", "--start"][..], &conv].concat()).ok().out;
    assert!(told.contains("not imported, ") && told.contains("of the client's own"), "{told}");
    let list = scene.json(&[&["list"][..], &conv].concat());
    let ids: Vec<String> = list["frames"].as_array().into_iter().flatten().map(|frame| word(&frame["id"])).collect();
    let frames: Vec<&str> = ids.iter().map(String::as_str).filter(|id| !matches!(*id, "system" | "tools")).collect();
    assert_eq!(frames, ["a1", "a2", "a3", "t1", "t2", "t3", "t4"]);
    let summary = word(&scene.json(&[&["history"][..], &conv].concat())["commits"][0]["summary"]);
    assert!(summary.starts_with(&format!("import t1..t2, t3/1 of {from} as a1, a2, a3, ")), "{summary}");
}

#[test]
fn all_say_the_same_of_how_large_a_conversation_is() {
    let scene = Scene::new();
    let listed = || {
        (scene.json(&["conversations"])["conversations"][0]["tokens"].clone(), scene.json(&["list"])["tokens"].clone())
    };
    // Its results go with the call, because of a rule.
    scene.change(&["delete", "t2#1.0"]);
    let (card, list) = listed();
    assert_eq!(card, list);
    scene.json(&["undo"]);
    assert_ne!(listed().0, card, "it is weighed again");
}

#[test]
fn an_edit_that_makes_the_request_too_large_is_refused() {
    let scene = Scene::new();
    let half = "0123456789abcde ".repeat(1_100_000);
    scene.run_with(&["add", "--text", "-", "--after", "t1", "--json"], &half).ok();
    let head = scene.json(&["history"])["head"].clone();
    let refused = scene.run_with(&["add", "--text", "-", "--after", "t1", "--json"], &half);
    let error = refused.json()["error"].clone();
    assert_eq!((refused.code, &error["code"]), (Some(1), &json!("too-large")), "{error}");
    assert!(word(&error["message"]).contains("rule A81 ("), "{error}");
    assert_eq!(scene.json(&["history"])["head"], head);
}

#[test]
fn an_agent_signs_otherwise_than_a_person() {
    let scene = Scene::new();
    let mut command = scene.place.ctx(&["pin", "t1", "--conv", "active"]);
    command.env("CLAUDE_CODE_SESSION_ID", "0a1b");
    crate::place::finish(command).ok();
    scene.json(&["pin", "t2"]);
    let commits = scene.json(&["history"])["commits"].clone();
    let authors: Vec<&Value> = commits.as_array().into_iter().flatten().map(|commit| &commit["author"]).collect();
    assert_eq!(authors, ["cli", "agent"]);
}

#[test]
fn a_plan_about_a_part_of_a_frame_is_touched_by_what_changes_the_frame() {
    let scene = Scene::new();
    scene.json(&["drop-results", "t2/1"]);
    let plan =
        json!({"expect": "none", "operations": [{"op": "pin", "ids": ["t1"]}, {"op": "delete", "ids": ["t2/2"]}]});
    let file = scene.file("plan.json", &plan.to_string()).display().to_string();
    let error = scene.refused(&["plan", &file]);
    assert!(word(&error["message"]).contains("[touches t2/2 of operation 2]"), "{error}");
}

#[test]
fn going_to_the_source_says_what_it_is() {
    let scene = Scene::new();
    scene.json(&["delete", "t1"]);
    let told = scene.place.run(&["checkout", "source"]).ok().out;
    assert!(told.starts_with("none  created branch unedited and checked it out  "), "{told}");
    scene.json(&["checkout", "main"]);
    scene.json(&["rollback", "source"]);
    let error = scene.refused(&["rollback", "source"]);
    assert_eq!(error["message"], "No edit is active: requests pass unchanged.");
}

#[test]
fn numbers_that_are_none_are_told_in_words() {
    let scene = Scene::new();
    let ran = scene.place.run(&["delete", "--larger-than", "abc"]);
    assert!(ran.code == Some(2) && ran.err.contains("expected a number of tokens, such as 2000"), "{ran:?}");
    for verb in ["delete", "show", "pin"] {
        let ran = scene.place.run(&[verb, "t1,,t2"]).refused();
        assert!(ran.err.contains("has a comma without an id"), "{ran:?}");
    }
}
