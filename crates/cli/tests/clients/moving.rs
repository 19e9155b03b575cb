//! Stock opencode goes on with a model of another provider in the middle of a session.

use serde_json::Value;

use crate::providers::Providers;

fn has(text: &str, words: [&str; 2]) -> [bool; 2] {
    words.map(|words| text.contains(words))
}

#[test]
fn opencode_takes_its_edits_from_an_anthropic_model_to_an_openai_model() {
    let Some(stage) = Providers::with("CTX_TEST_OPENCODE", &["anthropic", "openai"]) else { return };
    let opencode = |model: &str, arguments: &[&str]| {
        stage.agent(&[&["opencode", "run", "-m", model], arguments].concat());
        let conversation = stage.json(&["list"])["conversation"].as_str().expect("an id").to_owned();
        let newest = stage.received().into_iter().rfind(|(body, _)| body.contains(arguments[arguments.len() - 1]));
        (conversation, newest.expect("the request of this run").0)
    };
    let (claude, gpt) = ("anthropic/claude-sonnet-4-5", "openai/gpt-5.4");
    let (first, _) = opencode(claude, &["look [[tool echo first_output_; seq 300 400]]"]);
    opencode(claude, &["-c", "a tangent_word"]);
    stage.edit(&["delete", "t2"]);
    stage.edit(&["drop-results", "t1"]);
    let edited = ["tangent_word", "350\\n351"];
    let (same, sent) = opencode(claude, &["-c", "with the same model"]);
    assert_eq!((same, has(&sent, edited)), (first.clone(), [false, false]), "{sent}");

    let (second, sent) = opencode(gpt, &["-c", "with another model"]);
    assert!(sent.contains("\"input\":"), "{sent}");
    assert_ne!(second, first, "a conversation has one format");
    assert_eq!(has(&sent, edited), [true, true], "nothing is carried over unasked: {sent}");
    let listed = stage.json(&["list"]);
    let offer = serde_json::json!({"conversation": first, "format": "anthropic", "edits": 2});
    assert_eq!(listed["moved_from"], offer, "{listed}");
    let said = String::from_utf8(stage.ctx(&["list"]).stderr).expect("text");
    let command = format!("ctx import {first} --edits");
    assert!(said.contains(&command), "{said}");

    stage.edit(&["import", &first, "--edits"]);
    assert_eq!(stage.json(&["list"])["moved_from"], Value::Null);
    let (_, sent) = opencode(gpt, &["-c", "and now [[tool echo last_output]]"]);
    assert_eq!(has(&sent, edited), [false, false], "{sent}");
    assert!(sent.contains("last_output") && sent.contains("with another model"), "{sent}");
    stage.assert_taken();

    // Back again: the first conversation goes on with its own edits.
    let (back, sent) = opencode(claude, &["-c", "back to the first"]);
    assert_eq!((back, has(&sent, edited)), (first, [false, false]), "{sent}");
    assert!(sent.contains("last_output"), "{sent}");
    stage.assert_taken();
}
