//! Verbs that change the order and borders of frames, or only their titles.

use super::scene::{Scene, four_turns, word};

/// The position of this text in the sent request.
fn place(sent: &str, words: &str) -> usize {
    sent.find(words).unwrap_or_else(|| panic!("no {words}: {sent}"))
}

#[test]
fn frames_move() {
    let scene = Scene::new();
    let (_, sent) = scene.change(&["move", "t3", "--after", "t1"]);
    assert!(place(&sent, "needle") < place(&sent, "barn") && place(&sent, "barn") < place(&sent, "cows"), "{sent}");
    assert_eq!(scene.ids(), ["t1", "t3", "t2", "t4"]);
    let (_, sent) = scene.change(&["move", "t2", "--start"]);
    assert!(place(&sent, "cows") < place(&sent, "needle"), "{sent}");
    let (_, sent) = scene.change(&["move", "t3,t1", "--after", "t2"]);
    assert!(place(&sent, "barn") < place(&sent, "needle"), "{sent}");
    assert_eq!(scene.refused(&["move", "t3,t1", "--after", "t2"])["code"], "nothing-to-do");
    scene.change(&["move", "t2", "--end"]);
}

#[test]
fn a_frame_that_nobody_said_is_added() {
    let mut scene = Scene::new();
    let (applied, sent) = scene.change(&["add", "--text", "Mind the dog.", "--after", "t1", "--title", "The dog"]);
    assert_eq!(applied["frames"], serde_json::json!(["a1"]));
    assert!(
        place(&sent, "in the stack.") < place(&sent, "Mind the dog.") && place(&sent, "dog") < place(&sent, "cows")
    );
    assert_eq!(scene.frame("a1")["title"], "The dog");
    let (_, sent) = scene.change(&["add", "--text", "Woof.", "--role", "assistant", "--after", "a1"]);
    assert!(place(&sent, "Mind the dog.") < place(&sent, "Woof."), "{sent}");
    scene.change(&["add", "--text", "First of all.", "--start"]);
    scene.change(&["add", "--text", "And at last."]);
    let sent = scene.next("SAY:on");
    assert!(sent.contains("First of all.") && place(&sent, "you are welcome") < place(&sent, "SAY:on"), "{sent}");
    let (_, sent) = scene.change(&["delete", "a1"]);
    assert!(!sent.contains("Mind the dog."), "{sent}");
}

#[test]
fn frames_are_combined_and_split() {
    let scene = Scene::new();
    let before = scene.dump();
    scene.change(&["combine", "t1", "t2"]);
    assert_eq!(scene.ids(), ["t1", "t3", "t4"]);
    let (_, sent) = scene.change(&["delete", "t1"]);
    assert!(!sent.contains("needle") && !sent.contains("cows"), "{sent}");
    scene.change(&["undo"]);
    scene.change(&["undo"]);
    assert_eq!(scene.dump(), before);

    scene.change(&["split", "t2", "--each-step"]);
    let ids = scene.ids();
    assert!(ids.contains(&"t2.1".to_owned()) && ids.contains(&"t2.2".to_owned()), "{ids:?}");
    assert_eq!(scene.dump(), before, "borders alone change nothing");
    let (_, sent) = scene.change(&["delete", "t2.3"]);
    assert!(!sent.contains("still seven") && sent.contains("seven cows"), "{sent}");
    scene.change(&["split", "t1", "--at", "4"]);
    scene.change(&["split", "t3", "--at-step", "2"]);
    let (_, sent) = scene.change(&["delete", "t3.2"]);
    assert!(!sent.contains("Painted.") && sent.contains("it is red now"), "{sent}");
}

#[test]
fn titles_and_pins_are_for_people() {
    let scene = Scene::new();
    let before = scene.dump();
    scene.change(&["retitle", "t1", "--title", "The needle", "--summary", "It was found"]);
    assert_eq!(scene.frame("t1")["title"], "The needle");
    scene.change(&["pin", "t1", "t3"]);
    assert_eq!(scene.frame("t3")["pinned"], true);
    assert!(scene.place.run(&["list"]).ok().out.contains("[pinned]"));
    scene.change(&["unpin", "t3"]);
    assert_eq!(scene.frame("t3")["pinned"], false);
    assert_eq!(scene.dump(), before);
}

#[test]
fn frames_are_copied_from_another_conversation() {
    let scene = Scene::new();
    let mut other = four_turns(2);
    other.assistant("Good bye.").user("SAY:another farm");
    scene.send_other(&other);
    scene.send();
    let all = scene.json(&["conversations"]);
    let other = all["conversations"].as_array().into_iter().flatten().find(|one| one["session"] == other.session_id());
    let other = word(&other.expect("the other one")["id"]);
    let (_, sent) = scene.change(&["import", &other, "t5", "--after", "t1"]);
    assert!(place(&sent, "another farm") < place(&sent, "cows"), "{sent}");
    scene.change(&["import", &other, "t2..t3"]);
}
