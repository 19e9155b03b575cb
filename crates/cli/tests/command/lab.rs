//! `ctx lab`: replays of recorded files without a daemon.

use std::fs;

use serde_json::{Value, json};

use crate::editing::scene::Scene;
use crate::place::Place;

/// A Messages body with this many calls, each with a result of at least 3,000 tokens.
pub fn body(calls: usize) -> Value {
    let mut messages = vec![json!({"role": "user", "content": "please look at all of these files"})];
    for call in 0..calls {
        let id = format!("toolu_{call}");
        let input = json!({"file_path": format!("/src/file{call}.rs")});
        let text = format!("fn word_{call}() {{ }} ").repeat(500);
        messages.extend([
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "Read", "input": input}]}),
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]}),
        ]);
    }
    messages.push(json!({"role": "assistant", "content": [{"type": "text", "text": "done"}]}));
    json!({"model": "claude-opus-4-5-20251101", "max_tokens": 1000, "messages": messages,
        "tools": [{"name": "Read", "input_schema": {"type": "object"}}]})
}

/// A place with a folder of recordings.
fn recorded() -> Place {
    let place = Place::new();
    fs::create_dir(place.path("recorded")).expect("a folder");
    place.write("recorded/long.json", &body(50).to_string());
    place.write("recorded/short.json", &body(3).to_string());
    place
}

#[test]
fn nothing_in_a_recording_drives_the_terminal() {
    let place = recorded();
    let hostile = body(3).to_string().replace("claude-opus-4-5-20251101", "\\u001b]0;PWN\\u0007\\u001b[2Jmodel");
    place.write("recorded/hostile.json", &hostile);
    for more in [&[][..], &["--csv"]] {
        let ran = place.run(&[&["lab", "run", "--on", "../recorded"], more].concat()).ok();
        assert!(!ran.out.contains(['\x1b', '\x07']) && !ran.err.contains(['\x1b', '\x07']), "{ran:?}");
        assert!(format!("{}{}", ran.out, ran.err).contains("\\x1b]0;PWN\\x07"), "{ran:?}");
    }
}

#[test]
fn policies_are_compared_in_a_table_a_spreadsheet_and_a_page() {
    let place = recorded();
    let policies = place.run(&["lab", "policies"]).ok().out;
    assert!(policies.contains("\nauto ") && policies.contains("\nclear-100k-keep-3 "), "{policies}");

    let run = ["lab", "run", "--on", "../recorded", "--compare", "none,clear-100k-keep-3,auto"];
    let with = |more: &[&str]| place.run(&[&run, more].concat()).ok();
    let table = with(&[]).out;
    let heads = ["POLICY", "TOKENS SENT", "FINAL", "PEAK", "COST", "CHANGE", "FROM CACHE", "EVENTS", "HARM"];
    assert!(heads.iter().all(|head| table.contains(head)), "{table}");
    assert!(table.contains("all · 2 conversations · 55 steps"), "{table}");
    assert!(table.contains("2 conversations without times: their pauses are unknown"), "{table}");

    let figures = with(&["--json"]).json();
    let of = |policy: usize| &figures["policies"][policy];
    assert_eq!([&of(0)["policy"], &of(1)["policy"], &of(2)["policy"]], ["none", "clear-100k-keep-3", "auto"]);
    assert_eq!((of(0)["change"].as_f64(), of(0)["clear_events"].as_u64()), (Some(0.0), Some(0)));
    let less = |what: &str| of(1)[what].as_f64() < of(0)[what].as_f64();
    assert!(less("cost") && less("final_tokens") && less("peak_tokens"), "{figures}");

    let causes = &of(1)["causes"];
    let parts: f64 = causes.as_object().expect("causes").values().filter_map(Value::as_f64).sum();
    assert!((parts - of(1)["cost"].as_f64().expect("dollars")).abs() < 1e-9, "{causes}");
    assert!(causes["edit_rewrites"].as_f64() > Some(0.0) && of(0)["causes"]["edit_rewrites"] == 0.0, "{figures}");
    let by_cause = with(&["--causes"]).out;
    assert!(
        by_cause.contains("COST BY CAUSE") && by_cause.contains("RE-READS") && !table.contains("RE-READS"),
        "{by_cause}"
    );

    let bound = place.run(&["lab", "run", "--on", "../recorded", "--bound", "--json"]).ok().json();
    let known = |policy: usize, what: &str| bound["policies"][policy][what].as_f64().expect("a figure");
    assert_eq!(
        (known(1, "foresight_change"), known(1, "foresight_early_change")),
        (known(2, "change"), known(3, "change"))
    );
    assert!(known(3, "change") < known(2, "change") && known(2, "change") < known(1, "change"), "{bound}");
    assert!(figures["policies"][2]["foresight_change"].is_null(), "{figures}");

    let csv = with(&["--csv"]);
    assert_eq!(csv.out.lines().count(), 1 + 3 * 2, "a line for each conversation and policy: {csv:?}");
    assert!(csv.err.contains("2 conversations without times"), "remarks do not go into the spreadsheet: {csv:?}");
    let each = figures["conversations"].as_array().expect("conversations").clone();
    let names: Vec<_> = each.iter().map(|line| (line["policy"].as_str(), line["conversation"].as_str())).collect();
    assert_eq!((names.len(), names[2]), (6, (Some("clear-100k-keep-3"), Some("long"))), "as in the spreadsheet");
    let cost: f64 = each.iter().take(2).filter_map(|line| line["cost"].as_f64()).sum();
    assert!((cost - of(0)["cost"].as_f64().expect("dollars")).abs() < 1e-9, "{figures}");
    with(&["--html", "report.html"]);
    let page = fs::read_to_string(place.path("work/report.html")).expect("a page");
    assert!(page.contains("<svg") && page.contains("clear-100k-keep-3") && !page.contains("http"), "{page:.400}");
}

#[test]
fn conversations_are_chosen_by_split_and_ranges_go_by_project() {
    let place = recorded();
    place.write("recorded/other.json", &body(40).to_string());
    let index = json!([
        {"id": "long", "file": "long.json", "split": "tune", "project": "a/b"},
        {"id": "other", "file": "other.json", "split": "validate", "project": "c/d"},
    ]);
    place.write("recorded/index.json", &index.to_string());
    let run = |split: &str| ["lab", "run", "--on", "../recorded", "--split", split].map(str::to_owned);
    let names = |split: &str| {
        let args = run(split);
        let args: Vec<&str> = args.iter().map(String::as_str).chain(["--json", "--policy", "none"]).collect();
        let figures = place.run(&args).ok().json();
        let each = figures["conversations"].as_array().expect("conversations").clone();
        let of = |line: &Value| line["conversation"].as_str().expect("a name").to_owned();
        each.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(names("tune"), ["long", "short"], "without a label it counts as one that choices were made by");
    assert_eq!(names("validate"), ["other"]);
    assert_eq!(names("all"), ["long", "other", "short"]);

    let table = place.run(&["lab", "run", "--on", "../recorded", "--policy", "clear-100k-keep-3"]).ok().out;
    assert!(table.contains("; without a/b ") || table.contains("; without c/d "), "{table}");
    place.write("recorded/index.json", &json!([{"id": "short", "split": "validate"}]).to_string());
    let none = place.run(&["lab", "run", "--on", "../recorded/long.json", "--split", "validate"]).refused().err;
    assert!(none.contains("None of the 1 conversation belongs to this split."), "{none}");
}

#[test]
fn what_a_policy_did_is_told_frame_by_frame() {
    let place = recorded();
    let explain = ["lab", "explain", "../recorded/long.json", "--policy", "clear-100k-keep-3"];
    let all = place.run(&explain).ok().out;
    let first = all.lines().find_map(|line| line.strip_prefix("request ")?.split_once(':')).expect("it acted").0;
    let told = place.run(&[&explain, &["--turn", first][..]].concat()).ok().out;
    let what: Vec<&str> = told.lines().filter(|line| line.contains("drop-results")).collect();
    assert!(
        what.len() == 1 && what[0].starts_with("  drop-results t1, ") && what[0].ends_with(" tokens less"),
        "{told}"
    );
    assert!(told.contains(&format!("{}\n    ", what[0])), "the reasons stand below it: {told}");
    let rows: Vec<&str> = told.lines().skip_while(|line| !line.starts_with("FRAME")).skip(1).collect();
    assert!(rows[0].starts_with("system ") && rows[1].starts_with("tools "), "{told}");
    assert!(rows[2].starts_with("t1 ") && rows[2].contains(" -"), "{told}");
    assert!(rows[3].starts_with("t1/1 ") && rows.len() > 20, "the steps in which something changed: {told}");

    let figures = place.run(&[&explain, &["--turn", first, "--json"][..]].concat()).ok().json();
    let frames = figures[0]["turns"][0]["frames"].as_array().expect("frames").clone();
    let tokens = |frame: &Value, name: &str| frame[name].as_i64().expect("tokens");
    let took = |frame: &Value| tokens(frame, "before") - tokens(frame, "sent");
    let (steps, whole): (Vec<&Value>, Vec<&Value>) = frames.iter().partition(|row| row["step_of"].is_string());
    let (by_steps, by_frames): (i64, i64) = (steps.into_iter().map(took).sum(), whole.into_iter().map(took).sum());
    assert!(by_frames > 50_000 && (by_steps - by_frames).abs() < 100, "{by_steps} and {by_frames}");
    let turn = &figures[0]["turns"][0];
    let told = turn["done"][0]["tokens_less"].as_i64().expect("tokens") + tokens(turn, "tokens_taken_along");
    assert!((told - by_frames).abs() < 100, "what is told of the whole is what is told of the frames: {told}");

    let quiet = place.run(&[&explain, &["--turn", "2"][..]].concat()).ok().out;
    assert!(quiet.contains("clear-100k-keep-3 did nothing before this request") && quiet.contains("\nt1 "), "{quiet}");
    let none = place.run(&["lab", "explain", "../recorded/short.json"]).ok().out;
    assert!(none.contains("auto did nothing before any of its 4 requests"), "{none}");
    let beyond = place.run(&[&explain, &["--turn", "900"][..]].concat()).refused().err;
    assert!(beyond.contains("No request 900: long has 51 requests.") && beyond.contains("from 1"), "{beyond}");
}

#[test]
fn models_are_charged_as_configured_and_what_is_unusual_is_said() {
    let place = recorded();
    let run = |on: &str| place.run(&["lab", "run", "--on", on, "--policy", "none"]).ok().out;
    let cost = |json: Value| json["policies"][0]["cost"].as_f64().expect("dollars");
    let priced = || cost(place.run(&["lab", "run", "--on", "../recorded", "--json"]).ok().json());
    let listed = priced();
    let usual = run("../recorded");
    assert!(usual.contains(" $") && !usual.contains('≈') && !usual.contains("window"), "{usual}");

    fs::create_dir_all(place.home()).expect("a folder");
    place.write("home/ctx.toml", "[models.\"claude-opus-4-5\"]\ninput = 10\noutput = 50\nwindow = 30_000\n");
    assert!((priced() / listed - 2.0).abs() < 1e-6, "{} {listed}", priced());
    let small = run("../recorded");
    assert!(small.contains("1 conversation is larger than its model's window: it cannot have been sent"), "{small}");
    place.write("work/ctx.toml", "[models.\"claude-opus-4-5\"]\ninput = 20\noutput = 100\n");
    assert!((priced() / listed - 2.0).abs() < 1e-6, "a project has no say in prices: {} {listed}", priced());
    place.write("home/ctx.toml", "[models.\"claude-opus-4-5\"]\ninput = true\n");
    assert!((priced() / listed - 1.0).abs() < 1e-6);
    let broken = run("../recorded");
    assert!(broken.contains("using the built-in models: the configuration cannot be read: "), "{broken}");
    let explained = place.run(&["lab", "explain", "../recorded/short.json"]).ok();
    assert!(explained.err.contains("using the built-in models"), "{explained:?}");

    let mut strange = body(3);
    strange["model"] = "claude-haiku-9".into();
    place.write("strange.json", &strange.to_string());
    let told = run("../strange.json");
    assert!(told.contains("≈$") && told.contains("claude-haiku-9 as claude-haiku-5-5"), "{told}");
    assert!(told.contains("1 conversation without times: its pauses are unknown"), "{told}");
    assert!(!told.contains(" to +"), "one conversation tells nothing of others: {told}");
    let csv = place.run(&["lab", "run", "--on", "../strange.json", "--csv"]).ok().out;
    assert!(
        csv.lines().skip(1).all(|line| line.contains(",claude-haiku-5-5,false,") && line.ends_with(",strange")),
        "{csv}"
    );
}

#[test]
fn what_cannot_be_played_is_named_with_the_reason() {
    let place = recorded();
    let broken = ["{", "[1, 2]", "{\"a\": 1}"];
    for (at, text) in broken.iter().enumerate() {
        place.write(&format!("recorded/broken{at}.json"), text);
    }
    let beside = place.run(&["lab", "run", "--on", "../recorded"]).ok().out;
    assert!(beside.contains("all · 2 conversations") && beside.contains("skipped "), "{beside}");
    assert!((0..3).all(|at| beside.contains(&format!("broken{at}.json"))), "{beside}");

    for at in 3..8 {
        place.write(&format!("recorded/broken{at}.json"), "{}");
    }
    let beside = place.run(&["lab", "run", "--on", "../recorded"]).ok().out;
    assert!(beside.contains("8 files were skipped in total; --json names each"), "{beside}");
    let named = place.run(&["lab", "run", "--on", "../recorded", "--json"]).ok().json();
    assert_eq!(named["left_out"].as_array().map(Vec::len), Some(8), "{named}");

    let only: Vec<String> = (0..3).map(|at| format!("../recorded/broken{at}.json")).collect();
    let only: Vec<&str> = ["lab", "run", "--on"].into_iter().chain(only.iter().map(String::as_str)).collect();
    let nothing = place.run(&only).refused().err;
    assert!((0..3).all(|at| nothing.contains(&format!("broken{at}.json"))), "each is named: {nothing}");
    assert!(nothing.contains("No recorded conversation found") && nothing.contains("hint: "), "{nothing}");

    fs::create_dir(place.path("empty")).expect("a folder");
    let empty = place.run(&["lab", "run", "--on", "../empty"]).refused().err;
    assert!(empty.contains("no file there ends in .json or .jsonl"), "{empty}");
    let comma = place.run(&["lab", "run", "--on", "../recorded", "--compare", "none,,auto"]).refused().err;
    assert!(comma.contains("A policy name is empty.") && comma.contains("the extra comma"), "{comma}");
    let unknown = place.run(&["lab", "run", "--on", "../recorded", "--policy", "cheap"]).refused().err;
    assert!(unknown.contains("No policy `cheap`.") && unknown.contains("policies: none, "), "{unknown}");
    let unknown = place.run(&["lab", "run", "--on", "../recorded", "--policy", "auto:gian=3"]).refused().err;
    assert!(unknown.contains("parameters of `auto`: ") && unknown.contains("stub.names"), "{unknown}");
}

#[test]
fn the_automatic_editor_is_replayed_with_other_parameters() {
    let place = recorded();
    let run = ["lab", "run", "--on", "../recorded", "--compare", "none,auto,auto:stub.names=0", "--json"];
    let figures = place.run(&run).ok().json();
    let sent = |policy: usize| figures["policies"][policy]["final_tokens"].as_u64().expect("a count");
    assert_eq!(figures["policies"][2]["policy"], "auto:stub.names=0");
    assert!(sent(0) > sent(1) && sent(1) > sent(2), "{figures}");
}

#[test]
fn the_measure_of_harm_is_checked_against_removals_by_the_client() {
    let place = Place::new();
    fs::create_dir(place.path("recorded")).expect("a folder");
    let mut after = body(3);
    let summary = "This session is being continued from a previous conversation that ran out of context.";
    after["messages"][0]["content"] = summary.into();
    let edit = json!({"file_path": "/src/file0.rs", "old_string": "fn word_0() { } fn", "new_string": "x"});
    let call = json!({"type": "tool_use", "id": "toolu_e", "name": "Edit", "input": edit});
    after["messages"].as_array_mut().expect("messages").last_mut().expect("one")["content"] = json!([call]);
    place.write("recorded/talk-s0.json", &body(4).to_string());
    place.write("recorded/talk-s1.json", &after.to_string());
    let told = place.run(&["lab", "harm", "--on", "../recorded"]).ok().out;
    assert!(
        told.contains("FETCHED AGAIN") && told.contains("0 clearings and 1 summary by clients, 4 steps after them")
    );
    let figures = place.run(&["lab", "harm", "--on", "../recorded", "--json"]).ok().json();
    // The edit, and the three views that are repeated.
    assert_eq!(
        (&figures["summaries"], &figures["harmed"], &figures["harmed_fetched"]),
        (&1.into(), &4.into(), &1.into())
    );
    let alone = place.run(&["lab", "harm", "--on", "../recorded/talk-s0.json"]).ok().out;
    assert!(alone.contains("none of them relied on removed content."), "{alone}");
}

#[test]
fn the_newest_conversations_of_the_home_are_replayed_and_the_status_tells_it() {
    let mut scene = Scene::configured("");
    let home = scene.place.home();
    assert!(!scene.place.run(&["status"]).ok().out.contains("On your last"));
    for number in 0..3 {
        scene.next(&format!("SAY:{} {number}", "it is as it is ".repeat(50)));
    }
    scene.settle();
    let week = scene.place.run(&["lab", "week", "--json"]).ok().json();
    assert_eq!((&week["conversations"], &week["steps"], &week["harmed_steps"]), (&1.into(), &11.into(), &0.into()));
    assert!(week["cost"].as_f64().is_some_and(|cost| cost > 0.0) && week["saved_range"].is_null(), "{week}");
    let kept = fs::metadata(home.join("week.json")).expect("kept for the status");
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&kept.permissions()) & 0o777, 0o600);
    let told = scene.place.run(&["lab", "week", "--last", "1"]).ok().out;
    assert!(told.starts_with("On your last conversation (11 steps, $") && told.contains("harmed no step."), "{told}");
    let status = scene.place.run(&["status"]).ok().out;
    assert!(status.contains(told.trim()) && status.contains("automatic "), "{status}");

    let quiet = scene.place.run(&["lab", "week", "--background"]).ok();
    assert!(quiet.out.is_empty() && quiet.err.is_empty(), "{quiet:?}");
    let none = Place::new().run(&["lab", "week"]).refused().err;
    assert!(none.contains("hint: "), "{none}");
}
