//! Stock Qwen Code, started by `ctx run`, in front of a strict stand-in for OpenAI's Chat Completions: a tool loop, resumed
//! sessions, edits in the middle of them, and its own compression. Qwen Code names no session.

use serde_json::{Value, json};

use crate::providers::Providers;

#[test]
fn qwen_code_goes_on_with_an_edited_history_and_compresses_that() {
    let Some(stage) = Providers::with("CTX_TEST_QWEN", &["openai"]) else { return };
    std::fs::create_dir_all(stage.path("home/.qwen")).expect("a folder");
    // Without the memory that it writes in the background, for as long as it likes.
    let settings = json!({
        "privacy": {"usageStatisticsEnabled": false}, "general": {"disableAutoUpdate": true},
        "memory": {"enableManagedAutoMemory": false},
    });
    std::fs::write(stage.path("home/.qwen/settings.json"), settings.to_string()).expect("settings");
    let qwen = |arguments: &[&str]| {
        stage.agent(&[&["qwen", "--auth-type", "openai", "-m", "gpt-5.5", "--yolo"], arguments].concat())
    };
    let said = qwen(&["-p", "look [[chain echo first_output ;; echo second_output]]"]);
    assert!(said.contains("Exit Code: 0"), "{said}");
    assert!(stage.client().starts_with("QwenCode"), "{}", stage.client());
    assert_eq!(stage.titles(), ["look [[chain echo first_output ;; echo second_output]]"]);
    stage.assert_taken();

    stage.edit(&["drop-results", "t1/1"]);
    qwen(&["-c", "-p", "a tangent_word [[say something_else]]"]);
    stage.edit(&["delete", "t2"]);
    let said = qwen(&["-c", "-p", "go on [[say back_again]]"]);
    assert!(said.contains("back_again"), "{said}");
    stage.assert_taken();
    let newest = stage.received().pop().expect("a request").0;
    assert!(!newest.contains("tangent_word") && !newest.contains("something_else"), "{newest}");
    let body: Value = serde_json::from_str(&newest).expect("JSON");
    let messages = body["messages"].as_array().expect("messages");
    let results: Vec<String> =
        messages.iter().filter(|message| message["role"] == "tool").map(Value::to_string).collect();
    assert_eq!(results.len(), 2, "{results:?}");
    assert!(!results[0].contains("Output: first_output") && results[1].contains("second_output"), "{results:?}");

    let before = stage.received().len();
    qwen(&["-c", "-p", "/compress"]);
    let asked: Vec<String> = stage.received().split_off(before).into_iter().map(|(body, _)| body).collect();
    assert!(asked.iter().any(|body| body.contains("summarizes a conversation")), "it compressed nothing: {asked:?}");
    qwen(&["-c", "-p", "and then what [[say the_end]]"]);
    let later: Vec<String> = stage.received().split_off(before).into_iter().map(|(body, _)| body).collect();
    assert!(later.last().is_some_and(|body| body.contains("the_end")), "{later:?}");
    assert!(later.iter().all(|body| !body.contains("tangent_word")), "{later:?}");
    stage.assert_taken();
}
