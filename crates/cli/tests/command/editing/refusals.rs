//! Impossible edits are refused with a reason and a hint, and nothing changes.

use super::scene::{Scene, four_turns, word};

#[test]
fn unknown_and_ambiguous_ids_come_with_what_is_near() {
    let scene = Scene::new();
    for id in ["t9", "tools/Raed", "t2/9", "t2#99", "a1", "nonsense", "t3..t1"] {
        let error = scene.refused(&["delete", id]);
        assert!(!word(&error["hint"]).is_empty(), "{error}");
    }
    let error = scene.refused(&["delete", "tools/Raed"]);
    assert!(word(&error["hint"]).contains("tools/Read"), "{error}");
    let error = scene.refused(&["delete", "t22"]);
    assert!(word(&error["hint"]).contains("t3, t4"), "beyond the last, the last ones: {error}");
    scene.json(&["split", "t2", "--each-step"]);
    let error = scene.refused(&["edit", "t2", "--text", "x"]);
    assert!(word(&error["message"]).contains("t2"), "{error}");
    for commit in ["ffff", "nothing"] {
        scene.refused(&["revert", commit]);
    }
    scene.refused(&["checkout", "nowhere"]);
}

#[test]
fn a_stale_expectation_is_refused() {
    let scene = Scene::new();
    let (first, _) = scene.change(&["delete", "t1", "--expect", "none"]);
    let first = word(&first["commit"]);
    let error = scene.refused(&["delete", "t2", "--expect", "none"]);
    assert!(word(&error["message"]).contains(&first), "{error}");
    scene.change(&["delete", "t2", "--expect", &first]);
    scene.refused(&["delete", "t3", "--expect", &first]);
    scene.refused(&["undo", "--expect", &first]);
}

#[test]
fn raw_json_that_cannot_be_read_or_sent_is_told_with_its_place() {
    let scene = Scene::new();
    let error = scene.refused(&["edit", "t2", "--raw", r#"{"role":"user","content":"a""#]);
    assert_eq!(error["code"], "invalid-json");
    assert!(word(&error["message"]).contains("column 28"), "{error}");
    for raw in [
        r#"{"role":"robot","content":"a"}"#,
        r#"{"content":"a"}"#,
        "7",
        "[]",
        r#"{"role":"user","content":[{"type":"text","text":""}]}"#,
    ] {
        scene.refused(&["edit", "t2", "--raw", raw]);
    }
    let error = scene.refused(&["edit", "t2", "--file", "nowhere.md"]);
    assert!(word(&error["message"]).contains("nowhere.md"), "{error}");
}

#[test]
fn an_empty_replacement_is_refused() {
    let scene = Scene::new();
    for arguments in [
        &["edit", "t2", "--text", ""][..],
        &["edit", "t2", "--text", " \n"],
        &["compact", "t2", "--text", ""],
        &["add", "--text", ""],
        &["summarize-results", "t2", "--text", ""],
    ] {
        let error = scene.refused(arguments);
        assert_eq!(error["code"], "empty", "{error}");
    }
}

#[test]
fn a_cut_through_a_tool_pair_names_the_possible_ones() {
    let scene = Scene::new();
    let error = scene.refused(&["split", "t2", "--at", "2"]);
    let said = format!("{} {}", word(&error["message"]), word(&error["hint"]));
    assert!(said.contains("result") && said.contains("can be split before message 1, 3, 5"), "{error}");
    scene.refused(&["split", "t2", "--at", "0"]);
    scene.refused(&["split", "t2", "--at-step", "9"]);
}

#[test]
fn nothing_goes_before_the_first_user_message() {
    let scene = Scene::new();
    let error = scene.refused(&["add", "--role", "assistant", "--text", "Hello", "--start"]);
    assert!(word(&error["message"]).contains("user message"), "{error}");
    scene.json(&["split", "t2", "--each-step"]);
    scene.refused(&["move", "t2.2", "--start"]);
    scene.refused(&["move", "t1", "--after", "t1"]);
    scene.refused(&["move", "system", "--end"]);
    scene.refused(&["combine", "t1"]);
}

#[test]
fn what_sleeps_cannot_be_worked_on_and_wakes_when_it_returns() {
    let mut scene = Scene::new();
    let (_, deleted) = scene.change(&["delete", "t3"]);
    // The client rewinds to its second turn.
    let whole = scene.session.clone();
    let mut short = rewound();
    std::mem::swap(&mut scene.session, &mut short);
    let sent = String::from_utf8(scene.send()).expect("text");
    assert!(!sent.contains("barn") && sent.contains("needle"), "{sent}");
    let history = scene.place.run(&["history"]).ok().out;
    assert!(history.contains("[asleep]"), "{history}");
    let error = scene.refused(&["edit", "t3#1", "--text", "x"]);
    assert!(!word(&error["message"]).is_empty(), "{error}");
    scene.session = whole;
    assert_eq!(String::from_utf8(scene.send()).expect("text"), deleted);
    assert!(!scene.place.run(&["history"]).ok().out.contains("[asleep]"));
}

/// The same session, with only its first turn.
fn rewound() -> testkit::Session {
    let mut session = testkit::Session::new(1).lean().hints(true);
    session
        .user("Find the needle")
        .assistant_tools(&[("Read", serde_json::json!({"file_path": "hay/stack.txt"}))])
        .results(&[&"straw and straw again\n".repeat(40)])
        .assistant("It is in the stack.")
        .user("SAY:back again");
    session
}

#[test]
fn a_file_that_cannot_be_written_refuses_the_offload() {
    let scene = Scene::new();
    // A file is in place of the folder.
    std::fs::write(scene.place.home().join("offload"), "in the way").expect("written");
    let error = scene.refused(&["offload", "t1"]);
    assert!(word(&error["message"]).contains("offload"), "{error}");
}

#[test]
fn restoring_what_is_there_and_deleting_what_is_gone_is_refused() {
    let scene = Scene::new();
    scene.refused(&["restore", "t1"]);
    scene.refused(&["undo"]);
    scene.refused(&["heal"]);
    scene.json(&["delete", "t1"]);
    scene.refused(&["delete", "t1"]);
    scene.refused(&["drop-results", "t1"]);
    scene.refused(&["delete", "--tool", "Nobody"]);
    scene.refused(&["import", "zzz", "t1"]);
    assert_eq!(four_turns(1).messages(), scene.session.messages());
}

#[test]
fn what_the_provider_names_is_healed() {
    let mut scene = Scene::new();
    // The provider refuses the fourth message of the request.
    scene.session.assistant("you are welcome").user("FAIL:400:1:messages.1.content.0: Could not process image");
    scene.send_anyway();
    let told = scene.json(&["preview", "heal"]);
    assert!(word(&told["problem"]).contains("Could not process image"), "{told}");
    let (healed, _) = scene.change(&["heal", "--note", "it was stuck"]);
    assert!(healed["commit"].is_string() && word(&healed["problem"]).contains("t1"), "{healed}");
}
