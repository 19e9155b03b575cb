//! The OpenAPI document and the daemon's conformance: schemathesis sends everything that the document allows, and much
//! that it does not.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::body_of;
use crate::support::house::{Router, conversation};
use crate::support::raw::RawServer;
use serde_json::{Value, json};

/// Known and unknown names for requests.
const CONVERSATIONS: [&str; 5] = ["one", "two", "active", "question", "nobody"];
const FRAMES: [&str; 14] = [
    "t1",
    "t2",
    "t3",
    "t1/1",
    "t2#1",
    "t2#2.0",
    "t1..t2",
    "t3,t1",
    "system",
    "system#0",
    "tools",
    "tools/Bash",
    "t9",
    "ü..",
];
const REQUESTS: [&str; 4] = ["r1", "2", "r99", "none"];
const JOBS: [&str; 3] = ["h1", "h2", "none"];
const WISHES: [&str; 3] = ["w1", "w2", "none"];
const POINTS: [&str; 4] = ["HEAD", "source", "main", "aaaa"];
/// Input-only types, whose values can be chosen.
const WRITTEN: [&str; 6] = ["EditRequest", "HistoryRequest", "Heal", "Plan", "PlannedOperation", "Cancel"];

/// A conversation with tools, results and thinking, and one with an edit.
async fn furnished() -> (RawServer, Router) {
    let server = RawServer::open().await;
    let house = Router::before(&server).await;
    house.talk(&server, "two", &conversation("two", 3)).await;
    house.delete_second("two").await;
    let tools = json!({
        "model": "m", "max_tokens": 100, "system": [{"type": "text", "text": "You are brief."}],
        "tools": [{"name": "Bash", "description": "runs", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": "first question"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "a\nb"}]},
            {"role": "assistant", "content": "two files"},
            {"role": "user", "content": "second question"},
            {"role": "assistant", "content": "an answer"},
            {"role": "user", "content": "third question"}]
    });
    house.talk(&server, "one", &tools.to_string()).await;
    house.get("conversations/one/frames").await;
    (server, house)
}

#[tokio::test]
async fn the_daemon_describes_its_api() {
    let (_server, house) = furnished().await;
    let document = house.get("openapi.json").await;
    assert_eq!((&document["openapi"], &document["servers"][0]["url"]), (&json!("3.1.0"), &json!("/control/v1")));
    let paths = document["paths"].as_object().expect("paths");
    for (path, methods) in paths {
        // Every documented path exists, with no other methods.
        let path = path.replace("{conversation}", "one").replace("{id}", "t1").replacen('/', "", 1);
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH"] {
            let described = methods.get(method.to_lowercase()).is_some();
            // Their responses are not JSON.
            if (path == "events" || path == "metrics" || path.ends_with("/export")) && described {
                continue;
            }
            let (status, answer) = house.ask(method, &path, "{}").await;
            assert_eq!(described, status != 405, "{method} {path}: {answer}");
            assert_ne!(answer["error"]["code"], "unknown-path", "{method} {path}");
        }
    }
}

/// Names worth trying for any text.
fn likely(name: &str) -> Option<&'static [&'static str]> {
    match name {
        "ids" | "id" | "after" => Some(&FRAMES),
        "conversation" | "from" | "conv" | "conversations" => Some(&CONVERSATIONS),
        "request" => Some(&REQUESTS),
        "job" => Some(&JOBS),
        "edit" => Some(&WISHES),
        "at" | "target" | "to" | "expect" => Some(&POINTS),
        _ => None,
    }
}

/// Adds known names to arbitrary texts.
fn choose(name: &str, schema: &mut Value) {
    let Some(names) = likely(name) else { return };
    match schema["type"].clone() {
        Value::String(kind) if kind == "string" => *schema = json!({"anyOf": [{"enum": names}, {"type": "string"}]}),
        Value::Array(kinds) if kinds.contains(&json!("string")) => {
            *schema = json!({"anyOf": [{"enum": names}, {"type": kinds}]});
        }
        Value::String(kind) if kind == "array" => choose(name, &mut schema["items"]),
        _ => {}
    }
}

fn choose_within(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    if let Some(fields) = map.get_mut("properties").and_then(Value::as_object_mut) {
        fields.iter_mut().for_each(|(name, field)| choose(name, field));
    }
    for list in ["oneOf", "anyOf", "allOf"] {
        map.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten().for_each(choose_within);
    }
}

/// Every response must be documented.
fn close(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    let is_closed = map.contains_key("additionalProperties") || !map.contains_key("properties");
    let flattened = map.contains_key("properties");
    if let Some(fields) = map.get_mut("properties").and_then(Value::as_object_mut) {
        fields.values_mut().for_each(close);
    }
    map.get_mut("items").into_iter().for_each(close);
    for list in ["oneOf", "anyOf", "allOf"] {
        for inner in map.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            // The surrounding fields are not visible from inside.
            if flattened { close_fields(inner) } else { close(inner) }
        }
    }
    if !is_closed {
        map.insert("unevaluatedProperties".to_owned(), json!(false));
    }
}

fn close_fields(schema: &mut Value) {
    let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
    fields.into_iter().flat_map(|fields| fields.values_mut()).for_each(close);
}

/// The daemon's document, with narrower responses and requests.
fn narrowed(mut document: Value, file: &str) -> Value {
    let types = document["components"]["schemas"].as_object_mut().expect("types");
    for (name, schema) in types {
        match name.ends_with("Input") || WRITTEN.contains(&name.as_str()) {
            true => choose_within(schema),
            false => close(schema),
        }
    }
    let operations = document["paths"].as_object_mut().expect("paths").values_mut();
    for operation in operations.flat_map(|methods| methods.as_object_mut().expect("methods").values_mut()) {
        for parameter in operation.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten() {
            let name = parameter["name"].as_str().expect("a name").to_owned();
            match likely(&name) {
                Some(names) if parameter["in"] == "path" => parameter["schema"] = json!({"enum": names}),
                _ => choose(&name, &mut parameter["schema"]),
            }
        }
    }
    // It cannot generate JSON lines; a plain text is one too, and some are a conversation.
    let half = &file[..file.len() / 2];
    document["paths"]["/import"]["post"]["requestBody"]["content"] =
        json!({"text/plain": {"schema": {"anyOf": [{"enum": [file, half]}, {"type": "string"}]}}});
    document
}

/// The program that `cargo xtask test` installs. Without it, the test is skipped with a message; in CI it fails.
fn schemathesis() -> Option<PathBuf> {
    let found = std::env::var_os("CTX_TEST_SCHEMATHESIS").map(PathBuf::from).filter(|path| path.exists());
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "CTX_TEST_SCHEMATHESIS is not set: run `cargo xtask test`");
        eprintln!("SKIPPED: CTX_TEST_SCHEMATHESIS is not set; `cargo xtask test` installs it and sets it");
    }
    found
}

async fn asked(program: &Path, house: &Router, folder: &Path, paths: &[&str]) {
    let long = std::env::var("CTX_LONG").is_ok_and(|value| value != "0");
    let mut command = Command::new(program);
    command.args(["run", "openapi.json", "--no-color", "--output-truncate", "false"]);
    command.args(["--phases", "examples,coverage,fuzzing", "--continue-on-failure", "--warnings", "off"]);
    // This API may refuse well-formed requests: an unknown id, an impossible edit.
    command.args(["--exclude-checks", "positive_data_acceptance", "--request-timeout", "60"]);
    match long {
        true => command.args(["--max-examples", "500", "--generation-database", "none"]),
        false => command.args(["--max-examples", "25", "--generation-deterministic"]),
    };
    command.args(paths).arg("--url").arg(format!("http://{}/control/v1", house.address));
    command.arg("--header").arg(format!("Authorization:Bearer {}", house.token()));
    command.env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1").current_dir(folder);
    let output = tokio::task::spawn_blocking(move || command.output()).await.expect("it runs").expect("it starts");
    assert!(output.status.success(), "{}", said(&output));
    println!("{}", said(&output));
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schemathesis_finds_no_failure_and_nothing_that_is_not_described() {
    let Some(program) = schemathesis() else { return };
    let (_server, house) = furnished().await;
    let exported = house.raw("GET", "conversations/one/export", "").await;
    let document = narrowed(house.get("openapi.json").await, body_of(&exported));
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("openapi.json"), document.to_string()).expect("a file");
    // Events never end; deleting and importing conversations come last.
    let first = ["/events", "/purge", "/import"].iter().flat_map(|path| ["--exclude-path", path]).collect::<Vec<_>>();
    asked(&program, &house, folder.path(), &first).await;
    assert_eq!(house.get("conversations").await["conversations"].as_array().map(Vec::len), Some(2), "both are there");
    let history = house.get("conversations/one/history").await;
    assert!(history["commits"].as_array().is_some_and(|commits| commits.len() > 10), "some of it was done: {history}");
    asked(&program, &house, folder.path(), &["--include-path", "/purge", "--include-path", "/import"]).await;
    house.get("status").await;
}
