//! Stock Claude Code at a long task, with and without the automatic editor: without it, the client has to compact; with
//! it, the task ends without a compaction, nothing is lost, and the strict provider accepts every request.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value, json};
use testkit::Options;

use crate::claude::Claude;
use crate::stage::{Stage, until};

/// Calls of the task.
const CALLS: usize = 60;
/// The model's window.
const WINDOW: u64 = 60_000;

/// The client assumes a window of at least 100,000 tokens and reserves 20,000 for its summary; 70 % of the rest are
/// 56,000 tokens, at which it compacts, a little below a window of 60,000.
const SMALL: [(&str, &str); 3] = [
    ("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "100000"),
    ("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "70"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
];

fn toml(mode: &str) -> String {
    let models = ["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"];
    let models = models.map(|model| format!("[models.\"{model}\"]\nwindow = {WINDOW}\nmax_output = 8000\n"));
    format!("[context_editing]\nmode = \"{mode}\"\n{}", models.concat())
}

/// A result of this many unique lines.
fn lines(number: usize) -> String {
    let line =
        |at: usize| format!("part {number}, line {at}: value_{number}_{at} = {}\n", (number * 7919 + at * 31) % 9973);
    (0..130).map(line).collect()
}

/// The model's script: notes and a task first, then files and commands in turn, with thinking.
fn task(stage: &Stage) -> String {
    std::fs::create_dir(stage.path("work").join("bin")).expect("a folder");
    let notes = stage.file("NOTES.md", &format!("# Notes\n\n{}", lines(900)));
    let tasks = stage.file("tasks.txt", &lines(901));
    let beads = stage.file("bin/bd", &format!("#!/bin/sh\ncat {tasks}\n"));
    let made = std::process::Command::new("chmod").args(["+x", &beads]).status().expect("chmod");
    assert!(made.success());
    let mut steps = vec![format!("USE_TOOL:Read:{notes}"), "USE_TOOL:Bash:PATH=./bin:$PATH bd ready".to_owned()];
    for number in 2..CALLS {
        let path = stage.file(&format!("part-{number}.txt"), &lines(number));
        let tool = if number % 2 == 0 { format!("Read:{path}") } else { format!("Bash:cat {path}") };
        steps.push(format!("USE_TOOL:{tool}"));
    }
    let steps: Vec<String> = steps.iter().map(|step| format!("THINK:what next ;; {step}")).collect();
    format!("{} ;; THEN ;; SAY:all of it is done", steps.join(" ;; THEN ;; "))
}

fn read(bodies: Vec<Vec<u8>>) -> Vec<Value> {
    bodies.iter().map(|body| serde_json::from_slice(body).expect("JSON")).collect()
}

/// The texts of the tool results of a request, by call.
fn results(body: &Value) -> HashMap<String, String> {
    let blocks = body["messages"].as_array().into_iter().flatten().filter_map(|message| message["content"].as_array());
    let results = blocks.flatten().filter(|block| block["type"] == "tool_result");
    let text = |content: &Value| match content {
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n"),
        other => other.as_str().unwrap_or_default().to_owned(),
    };
    results.map(|block| (block["tool_use_id"].as_str().expect("an id").to_owned(), text(&block["content"]))).collect()
}

/// The ids of the calls of a request, in order.
fn calls(body: &Value) -> Vec<(String, Value)> {
    let blocks = body["messages"].as_array().into_iter().flatten().filter_map(|message| message["content"].as_array());
    let calls = blocks.flatten().filter(|block| block["type"] == "tool_use");
    calls.map(|block| (block["id"].as_str().expect("an id").to_owned(), block["input"].clone())).collect()
}

/// The class of each request of the task. Events are recorded after the requests, so this waits until the expected ones
/// are there.
fn classes(stage: &Stage, session: &str, told: impl Fn(&[String]) -> bool) -> Vec<String> {
    let found =
        stage.conversation(|conversation| conversation["session"] == *session && conversation["agent"].is_null());
    until("every request is told", || {
        let timeline = stage.json(&["timeline", "--limit", "1000", "--conv", found["id"].as_str()?]);
        let requests = timeline["events"].as_array()?.iter().filter(|event| event["kind"] == "request");
        let classes: Vec<String> = requests.map(|event| event["class"].as_str().unwrap_or_default().into()).collect();
        told(&classes).then_some(classes)
    })
}

#[test]
fn without_an_editor_the_client_has_to_summarise_and_what_it_sends_is_what_arrives() {
    let Some(claude) = Claude::find().map(|claude| claude.knowing(&SMALL)) else { return };
    let stage = Stage::configured(Options::strict(), &toml("off"));
    let task = task(&stage);
    let result = claude.ask(&stage, &task, &["--allowedTools", "Bash,Read"]);
    let session = result["session_id"].as_str().expect("a session");
    classes(&stage, session, |classes| classes.iter().any(|class| class == "compaction"));
    // The editor is off: nothing is held, and nothing differs.
    stage.assert_faithful();
}

#[test]
fn with_the_editor_the_task_ends_without_a_summary_and_nothing_is_lost() {
    let Some(claude) = Claude::find().map(|claude| claude.knowing(&SMALL)) else { return };
    let stage = Stage::configured(Options::strict(), &toml("on"));
    let task = task(&stage);
    let result = claude.ask(&stage, &task, &["--allowedTools", "Bash,Read"]);
    assert_eq!((&result["is_error"], &result["result"]), (&json!(false), &json!("all of it is done")), "{result:#}");
    let session = result["session_id"].as_str().expect("a session");
    let classes = classes(&stage, session, |classes| classes.len() > CALLS);
    assert!(classes.iter().all(|class| class == "main") && classes.len() == CALLS + 1, "{classes:?}");

    let answers = stage.front.exchanges();
    let statuses: Vec<u16> = answers.iter().filter_map(|exchange| Some(exchange.response.as_ref()?.status)).collect();
    assert!(statuses.iter().all(|status| *status == 200), "the provider takes every request: {statuses:?}");

    let (sent, received) = (read(stage.sent_bodies()), read(stage.received_bodies()));
    assert_eq!(sent.len(), received.len());
    assert!(received.iter().all(|body| body.to_string().len() as u64 / 4 < WINDOW), "it fits");
    let (whole, left) = (sent.last().expect("a request"), received.last().expect("a request"));
    assert!(whole.to_string().len() as u64 / 4 > WINDOW, "it would not");
    let (given, seen) = (results(whole), results(left));
    let calls = calls(whole);
    assert_eq!((calls.len(), given.len(), seen.len()), (CALLS, CALLS, CALLS));

    let ledger = std::fs::read_to_string(stage.path("work").join("NOTES.md")).expect("a ledger");
    assert!(ledger.starts_with("# Notes\n\npart 900, line 0"), "what was there stays");
    let mut cleared = 0;
    for (at, (call, input)) in calls.iter().enumerate() {
        let (given, seen) = (&given[call], &seen[call]);
        assert!(at >= 2 || given == seen, "{input} is preserved");
        if !seen.starts_with("[Cleared to save context.") {
            // At most, the line numbers that the client added are removed.
            assert!(at < 2 || lines(at).lines().all(|line| seen.contains(line)), "{input} says all that it said");
            continue;
        }
        assert!(at < CALLS - 5, "{input} is recent");
        cleared += 1;
        let file = seen.split_once("Read it in ").and_then(|(_, rest)| rest.split_once(" if needed."));
        let file = Path::new(file.expect("a file").0);
        assert_eq!(&std::fs::read_to_string(file).expect("a file"), given, "to the byte");
        let line = ledger.lines().find(|line| line.contains(&file.display().to_string())).expect("a line");
        let asked = input["file_path"].as_str().or(input["command"].as_str()).expect("a path or a command");
        assert!(line.contains(asked), "{line}");
    }
    assert!(cleared > CALLS / 3, "{cleared}");
    let preserved: Vec<&str> = calls[..2].iter().map(|(call, _)| seen[call].as_str()).collect();
    assert!(
        preserved[0].contains("part 900, line 129") && preserved[1].contains("part 901, line 129"),
        "{preserved:?}"
    );
    until("the commits are told", || {
        let found = stage.conversation(|conversation| conversation["session"] == *session);
        let history = stage.json(&["history", "--conv", found["id"].as_str()?]);
        let commits = history["commits"].as_array()?;
        (!commits.is_empty() && commits.iter().all(|commit| commit["author"] == "policy")).then_some(())
    });
    let timeline = stage.json(&["timeline", "--limit", "1000"]);
    let told = timeline["events"].as_array().expect("events").iter().filter(|event| event["signal"].is_string());
    let done = told.filter(|event| event["signal"] == "COMPACTION_COMPLETE").count();
    assert!((1..=8).contains(&done), "it clears in batches: {done}");
}
