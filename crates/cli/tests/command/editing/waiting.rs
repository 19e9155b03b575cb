//! Deferred edits from the command line to the request that the provider receives.

use std::time::Duration;

use super::scene::{Scene, word};
use crate::place::until;

/// The assumed lifetime of the provider's cache.
const SHORT: &str = "[edits]\ncache_seconds = 3\n";
const LONG: &str = "[edits]\ncache_seconds = 3600\n";

fn state(scene: &Scene, id: &str) -> String {
    let told = scene.json(&["waiting", "--all"]);
    let deferred = told["wishes"].as_array().into_iter().flatten();
    deferred.filter(|edit| edit["id"] == id).map(|edit| word(&edit["state"])).collect()
}

#[test]
fn what_waits_is_made_by_the_clock_when_the_cache_is_cold_and_the_next_request_has_it() {
    let mut scene = Scene::configured(SHORT);
    scene.settle();
    scene.send();
    scene.settle();
    let told = scene.json(&["delete", "t1", "--when", "cold", "--note", "not needed"]);
    assert_eq!((told["commit"].as_str(), told["waiting"].as_str()), (None, Some("w1")), "{told}");
    let said = scene.place.run(&["waiting"]).ok().out;
    assert!(said.starts_with("w1  delete t1") && said.contains("until the cache is cold"), "{said}");
    assert_eq!(scene.json(&["history"])["commits"].as_array().map(Vec::len), Some(0));
    assert!(scene.dump().contains("Find the needle"), "nothing has changed yet");

    until("it is made", || (state(&scene, "w1") == "made").then_some(()));
    let commit = scene.json(&["history"])["commits"][0].clone();
    assert_eq!((word(&commit["author"]), word(&commit["note"])), ("cli".into(), word(&commit["note"])));
    assert!(word(&commit["note"]).starts_with("not needed; waited "), "{commit}");
    let dump = scene.dump();
    assert!(!dump.contains("Find the needle"));
    assert_eq!(String::from_utf8(scene.send()).expect("text"), dump);
    assert!(scene.place.run(&["waiting"]).ok().out.starts_with("No deferred edits"));
    let timeline = scene.place.run(&["timeline"]).ok().out;
    assert!(timeline.contains("w1 made as "), "{timeline}");
    // It is an ordinary commit.
    scene.change(&["undo"]);
    assert!(scene.next("go on").contains("Find the needle"));
}

#[test]
fn a_killed_daemon_forgets_nothing_that_waits_and_the_request_that_finds_it_cold_has_it() {
    let mut scene = Scene::configured(LONG);
    scene.settle();
    assert_eq!(scene.json(&["delete", "t1", "--when", "cold"])["waiting"], "w1");
    assert_eq!(scene.json(&["drop-results", "t2", "--when", "near-limit"])["waiting"], "w2");
    scene.restart();
    assert_eq!((state(&scene, "w1"), state(&scene, "w2")), ("waiting".into(), "waiting".into()));
    assert!(String::from_utf8(scene.send()).expect("text").contains("Find the needle"), "the cache is warm");
    scene.settle();
    // The cache expires while the daemon is down.
    scene.place.write("home/ctx.toml", "[edits]\ncache_seconds = 1\n");
    std::thread::sleep(Duration::from_secs(2));
    scene.restart();
    assert!(!scene.next("go on").contains("Find the needle"), "the very request finds it cold");
    assert_eq!((state(&scene, "w1"), state(&scene, "w2")), ("made".into(), "waiting".into()));
}

#[test]
fn what_waits_can_be_taken_back_and_what_cannot_wait_is_refused() {
    let scene = Scene::configured(LONG);
    scene.settle();
    let file = scene.file("tidy.jsonl", "{\"op\":\"delete\",\"ids\":[\"t1\"],\"reason\":\"done\"}\n");
    let file = file.to_string_lossy();
    assert_eq!(scene.json(&["batch", &file, "--when", "cold"])["waiting"], "w1");
    assert_eq!(scene.json(&["plan", &file, "--apply", "--when", "cold"])["waiting"], "w2");
    assert_eq!(scene.json(&["waiting", "cancel", "w1"])["state"], "cancelled");
    let said = scene.place.run(&["waiting", "cancel", "w2"]).ok().out;
    assert!(said.starts_with("w2 is cancelled: delete t1"), "{said}");
    assert_eq!(scene.refused(&["waiting", "cancel", "w2"])["code"], "not-waiting");
    assert_eq!(scene.refused(&["waiting", "cancel", "w7"])["code"], "unknown-wish");
    assert_eq!(scene.refused(&["delete", "t99", "--when", "cold"])["code"], "unknown-id");
    assert_eq!(scene.refused(&["delete", "t1", "--when", "cold", "--expect", "0123456789"])["code"], "stale");
    let refused = scene.place.run(&["undo", "--when", "cold"]).refused();
    assert!(refused.err.contains("nothing to undo"), "{refused:?}");
    scene.json(&["pin", "t1"]);
    assert_eq!(scene.json(&["undo", "--when", "cold"])["waiting"], "w3");
}

#[test]
fn what_does_not_fit_any_more_is_told_with_its_reason() {
    let scene = Scene::configured(SHORT);
    scene.settle();
    scene.send();
    scene.settle();
    assert_eq!(scene.json(&["delete", "t1/1", "--when", "cold"])["waiting"], "w1");
    scene.json(&["delete", "t1"]);
    until("it has failed", || (state(&scene, "w1") == "failed").then_some(()));
    let said = scene.place.run(&["waiting"]).ok().out;
    assert!(said.contains("failed") && said.contains("t1/1"), "{said}");
    let events = scene.json(&["timeline", "--limit", "50"]);
    let failed = events["events"].as_array().into_iter().flatten().find(|event| event["state"] == "failed");
    assert!(failed.is_some_and(|event| event["failure"]["message"].is_string()), "{events}");
}

#[test]
fn a_preview_tells_the_price_with_the_cache_as_it_is_and_as_it_would_be() {
    let scene = Scene::configured(LONG);
    scene.settle();
    scene.send();
    scene.settle();
    let warm = scene.json(&["preview", "drop-results", "t1"]);
    let preview = &warm["preview"];
    assert_eq!((&preview["first_change"], &preview["first_step"]), (&"t1".into(), &"t1/1".into()), "{warm}");
    assert!(preview["tokens_ahead"].as_u64() > Some(0) && preview["cache"]["warm"] == true, "{warm}");
    assert_eq!(preview["cost"]["cache"], "warm", "{warm}");
    assert!(preview["cost"]["money"]["saves"].is_number() || preview["cost"]["money"].is_null(), "{warm}");
    let cold = scene.json(&["preview", "drop-results", "t1", "--when", "cold"]);
    assert!(cold["preview"]["cost"]["once"].as_i64() < Some(0), "{cold}");
    let said = scene.place.run(&["preview", "drop-results", "t1"]).ok().out;
    assert!(said.contains("the cache is warm until") && said.contains("--when cold"), "{said}");
}
