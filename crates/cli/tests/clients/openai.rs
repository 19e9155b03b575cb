//! Stock Codex (Responses) and opencode (Chat Completions), started by `ctx run`, in front of a strict stand-in for
//! OpenAI's API: turns, tool loops, resumed sessions, and edits in the middle of them.

use serde_json::Value;

use crate::providers::{KEY, Providers};

#[test]
fn codex_is_seen_and_goes_on_with_an_edited_history() {
    let Some(stage) = Providers::with("CTX_TEST_CODEX", &["openai"]) else { return };
    let options = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"];
    let codex = |arguments: &[&str]| stage.agent(&[&["codex"], &options[..], arguments].concat());
    let said = codex(&["look [[chain echo first_output ;; echo second_output]]"]);
    let session = said.lines().find_map(|line| line.strip_prefix("session id: ")).expect("a session").trim().to_owned();
    assert!(said.contains("second_output"), "{said}");
    assert!(stage.client().starts_with("codex"), "{}", stage.client());
    let listed = stage.json(&["list", "--steps"]);
    let turn = listed["frames"].as_array().and_then(|frames| frames.iter().find(|frame| frame["kind"] == "turn"));
    assert_eq!(turn.expect("a turn")["steps"], 3, "two calls and the answer: {listed}");
    stage.assert_taken();

    codex(&["resume", &session, "a tangent_word [[say something_else]]"]);
    codex(&["resume", &session, "back [[say back_again]]"]);
    stage.edit(&["delete", "t2"]);
    stage.edit(&["drop-results", "t1/1"]);
    let said = codex(&["resume", &session, "go on [[tool echo third_output]]"]);
    assert!(said.contains("third_output"), "{said}");
    assert_eq!(stage.titles().last().map(String::as_str), Some("go on [[tool echo third_output]]"));
    stage.assert_taken();
    let (newest, _) = stage.received().pop().expect("a request");
    assert!(!newest.contains("tangent_word") && !newest.contains("something_else"), "what was deleted stays away");
    assert!(newest.contains("second_output") && newest.contains("third_output"));
    let body: Value = serde_json::from_str(&newest).expect("JSON");
    let outputs = body["input"]
        .as_array()
        .expect("items")
        .iter()
        .filter(|item| item["type"].as_str().is_some_and(|kind| kind.ends_with("_output")));
    assert!(
        !outputs.map(Value::to_string).any(|output| output.contains("first_output")),
        "a dropped result stays away"
    );
}

#[test]
fn codex_goes_on_with_an_edited_history_over_a_websocket() {
    let Some(stage) = Providers::with("CTX_TEST_CODEX", &["openai"]) else { return };
    let listen = stage.json(&["status"])["listen"].as_str().expect("an address").to_owned();
    let url = format!("openai_base_url=\"http://{listen}/v1\"");
    let options = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-c", &url];
    let codex = |arguments: &[&str]| {
        let output = stage.with_own_key(&[&options, arguments].concat());
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(output.status.success(), "{arguments:?}: {said}");
        said
    };
    let said = codex(&["look [[chain echo first_output ;; echo second_output]]"]);
    let session = said.lines().find_map(|line| line.strip_prefix("session id: ")).expect("a session").trim().to_owned();
    assert!(said.contains("second_output"), "{said}");
    let continues = |(body, _): &(String, bool)| body.contains("\"previous_response_id\"");
    assert!(stage.received().iter().any(continues), "it sends only what is new: {:?}", stage.received());
    let listed = stage.json(&["list", "--steps"]);
    let turn = listed["frames"].as_array().and_then(|frames| frames.iter().find(|frame| frame["kind"] == "turn"));
    assert_eq!(turn.expect("a turn")["steps"], 3, "two calls and the answer: {listed}");

    codex(&["resume", &session, "a tangent_word [[say something_else]]"]);
    codex(&["resume", &session, "back [[say back_again]]"]);
    stage.edit(&["delete", "t2"]);
    stage.edit(&["drop-results", "t1/1"]);
    let before = stage.received().len();
    let said = codex(&["resume", &session, "go on [[tool echo third_output]]"]);
    assert!(said.contains("third_output"), "{said}");
    assert_eq!(stage.titles().last().map(String::as_str), Some("go on [[tool echo third_output]]"));
    let later = stage.received().split_off(before);
    assert!(later.len() >= 2 && !later.iter().any(continues), "the whole history leaves: {later:?}");
    for (body, _) in &later {
        assert!(
            body.contains("second_output") && !body.contains("tangent_word"),
            "what was deleted stays away: {body}"
        );
    }
    let (newest, _) = later.last().expect("a request");
    assert!(newest.contains("third_output") && newest.contains("\"response.create\""), "{newest}");
    assert!(stage.received().iter().all(|(_, is_taken)| *is_taken), "{:?}", stage.received());
}

#[test]
fn opencode_is_seen_and_goes_on_with_an_edited_chat() {
    let Some(stage) = Providers::with("CTX_TEST_OPENCODE", &["openai"]) else { return };
    let listen = stage.json(&["status"])["listen"].as_str().expect("an address").to_owned();
    let settings = serde_json::json!({"provider": {"local": {
        "npm": "@ai-sdk/openai-compatible", "name": "Local", "models": {"deepseek-chat": {"name": "d"}},
        "options": {"baseURL": format!("http://{listen}/v1"), "apiKey": KEY},
    }}});
    std::fs::write(stage.path("work/opencode.json"), settings.to_string()).expect("settings");
    let opencode =
        |arguments: &[&str]| stage.agent(&[&["opencode", "run", "-m", "local/deepseek-chat"], arguments].concat());
    let said = opencode(&["look [[tool echo first_output]]"]);
    assert!(said.contains("first_output"), "{said}");
    assert!(stage.client().starts_with("opencode/"), "{}", stage.client());
    stage.assert_taken();
    opencode(&["-c", "a tangent_word"]);
    stage.edit(&["delete", "t2"]);
    stage.edit(&["drop-results", "t1"]);
    let said = opencode(&["-c", "go on [[tool echo second_output]]"]);
    assert!(said.contains("second_output"), "{said}");
    stage.assert_taken();
    let (newest, _) =
        stage.received().into_iter().rfind(|(body, _)| body.contains("second_output")).expect("a request");
    assert!(!newest.contains("tangent_word"), "what was deleted stays away");
    let body: Value = serde_json::from_str(&newest).expect("JSON");
    let results = body["messages"].as_array().expect("messages").iter().filter(|message| message["role"] == "tool");
    let results: Vec<String> = results.map(Value::to_string).collect();
    assert_eq!(results.len(), 2);
    assert!(!results[0].contains("first_output") && results[1].contains("second_output"), "{results:?}");
}

/// A limit that the edited conversation exceeds, and its summary does not.
fn limit(stage: &Providers) -> String {
    let tokens = stage.json(&["list"])["tokens"].as_u64().expect("tokens");
    (tokens - 3_000).to_string()
}

/// Below the limit with a summary, above it with the results of both questions: system prompt and tools alone are some
/// 8,000 tokens.
const OPENCODE_LIMIT: u64 = 24_000;

#[test]
fn opencode_compacts_what_an_edit_left() {
    let Some(stage) = Providers::with("CTX_TEST_OPENCODE", &["openai"]) else { return };
    let listen = stage.json(&["status"])["listen"].as_str().expect("an address").to_owned();
    let model = serde_json::json!({"name": "d", "limit": {"context": OPENCODE_LIMIT, "output": 2_000}});
    let settings = serde_json::json!({"provider": {"local": {
        "npm": "@ai-sdk/openai-compatible", "name": "Local", "models": {"deepseek-chat": model},
        "options": {"baseURL": format!("http://{listen}/v1"), "apiKey": KEY},
    }}});
    std::fs::write(stage.path("work/opencode.json"), settings.to_string()).expect("settings");
    let opencode =
        |arguments: &[&str]| stage.agent(&[&["opencode", "run", "-m", "local/deepseek-chat"], arguments].concat());
    opencode(&["look [[chain seq 1 2000 ;; seq 2001 4000]]"]);
    // A flattened summary keeps removed texts of less than 24 characters.
    opencode(&["-c", "a tangent_word [[say something_else_of_some_length]]"]);
    stage.edit(&["delete", "t2"]);
    let before = stage.received().len();
    opencode(&["-c", "more [[chain seq 4001 6000 ;; seq 6001 8000 ;; seq 8001 10000 ;; seq 10001 12000]]"]);
    let said = opencode(&["-c", "go on [[say going_on]]"]);
    assert!(said.contains("going_on"), "{said}");
    let later: Vec<String> = stage.received().split_off(before).into_iter().map(|(body, _)| body).collect();
    assert!(later.iter().any(|body| body.contains("\\n4321\\n")), "it read the results: {later:?}");
    assert!(later.last().is_some_and(|body| !body.contains("\\n4321\\n")), "it compacted nothing: {later:?}");
    assert!(later.len() < 12, "it compacts again and again: {}", later.len());
    for body in &later {
        assert!(!body.contains("tangent_word") && !body.contains("something_else"), "{body}");
    }
    assert!(stage.received().iter().all(|(_, is_taken)| *is_taken), "{:?}", stage.received());
}

#[test]
fn codex_compacts_what_an_edit_left() {
    let Some(stage) = Providers::with("CTX_TEST_CODEX", &["openai"]) else { return };
    let options = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"];
    let codex = |arguments: &[&str]| stage.agent(&[&["codex"], &options[..], arguments].concat());
    let said = codex(&["look [[tool seq 1 6000]]"]);
    let session = said.lines().find_map(|line| line.strip_prefix("session id: ")).expect("a session").trim().to_owned();
    codex(&["resume", &session, "a tangent_word [[say something_else]]"]);
    codex(&["resume", &session, "back [[say back_again]]"]);
    stage.edit(&["delete", "t2"]);
    let before = stage.received().len();
    let limit = format!("model_auto_compact_token_limit={}", limit(&stage));
    codex(&["-c", &limit, "resume", &session, "go on [[say going_on]]"]);
    codex(&["resume", &session, "and on [[say once_more]]"]);
    let later: Vec<String> = stage.received().split_off(before).into_iter().map(|(body, _)| body).collect();
    assert!(later.last().is_some_and(|body| !body.contains("4321")), "it compacted nothing: {later:?}");
    for body in &later {
        assert!(!body.contains("tangent_word") && !body.contains("something_else"), "{body}");
    }
    stage.assert_taken();
}
