//! Stock Gemini CLI, started by `ctx run`, in front of a strict stand-in for Google's API: turns, a tool loop, a resumed
//! session, and edits in the middle of it.

use serde_json::Value;

use crate::providers::Providers;

#[test]
fn gemini_cli_is_seen_and_goes_on_with_an_edited_history() {
    let Some(stage) = Providers::with("CTX_TEST_GEMINI", &["gemini"]) else { return };
    let settings = serde_json::json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": false},
        "general": {"disableAutoUpdate": true},
    });
    std::fs::create_dir(stage.path("home/.gemini")).expect("a folder");
    std::fs::write(stage.path("home/.gemini/settings.json"), settings.to_string()).expect("settings");
    let gemini =
        |arguments: &[&str]| stage.agent(&[&["gemini", "-m", "gemini-3-pro-preview", "--yolo"], arguments].concat());
    let said = gemini(&["-p", "look [[chain echo first_output ;; echo second_output]]"]);
    assert!(said.contains("_output"), "{said}");
    assert!(stage.client().starts_with("GeminiCLI"), "{}", stage.client());
    assert_eq!(stage.titles(), ["look [[chain echo first_output ;; echo second_output]]"]);
    let listed = stage.json(&["list", "--steps"]);
    let turn = listed["frames"].as_array().and_then(|frames| frames.iter().find(|frame| frame["kind"] == "turn"));
    assert!(turn.expect("a turn")["steps"].as_u64().is_some_and(|steps| steps >= 2), "{listed}");
    stage.assert_taken();

    // The resumed client sends each result twice, which the provider refuses; an edited history contains each once.
    stage.edit(&["drop-results", "t1/1"]);
    gemini(&["-r", "latest", "-p", "a tangent_word [[say something_else]]"]);
    gemini(&["-r", "latest", "-p", "back [[say back_again]]"]);
    stage.edit(&["delete", "t2"]);
    let said = gemini(&["-r", "latest", "-p", "go on [[tool echo third_output]]"]);
    assert!(said.contains("_output"), "{said}");
    assert_eq!(stage.titles().last().map(String::as_str), Some("go on [[tool echo third_output]]"));
    stage.assert_taken();
    let (newest, _) = stage.received().pop().expect("a request");
    assert!(!newest.contains("tangent_word") && !newest.contains("something_else"), "what was deleted stays away");
    let body: Value = serde_json::from_str(&newest).expect("JSON");
    let parts = body["contents"].as_array().expect("contents").iter().flat_map(|content| content["parts"].as_array());
    let results: Vec<String> =
        parts.flatten().filter(|part| part.get("functionResponse").is_some()).map(Value::to_string).collect();
    assert_eq!(results.len(), 3, "{results:?}");
    assert!(!results[0].contains("first_output"), "a dropped result stays away: {results:?}");
    assert!(results[1].contains("second_output") && results[2].contains("third_output"), "{results:?}");
}
