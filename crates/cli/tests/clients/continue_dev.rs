//! Stock Continue, started by `ctx run`, in front of a strict stand-in for Anthropic's API: a tool loop, resumed sessions,
//! and edits in the middle of them. Continue takes its address from its settings only.

use crate::providers::Providers;

#[test]
fn continue_goes_on_with_an_edited_history() {
    let Some(stage) = Providers::with("CTX_TEST_CONTINUE", &["anthropic"]) else { return };
    let file = stage.path("home/config.yaml");
    let settings = format!(
        "name: test\nversion: 1.0.0\nschema: v1\nmodels:\n  - name: sonnet\n    provider: anthropic\n    \
         model: claude-sonnet-4-5\n    apiKey: {}\n    apiBase: {}/v1/\n    roles: [chat]\n",
        crate::providers::KEY,
        stage.url()
    );
    std::fs::write(&file, settings).expect("settings");
    let file = file.display().to_string();
    let agent = |arguments: &[&str]| {
        stage.agent_with(
            &[("CONTINUE_TELEMETRY_ENABLED", "0")],
            &[&["cn", "--config", file.as_str(), "--auto"], arguments].concat(),
        )
    };
    agent(&["-p", "please look [[tool echo first_output; seq 1000 1100]]"]);
    agent(&["--resume", "-p", "a tangent_word about cows [[say an answer with a tangent_word]]"]);
    assert_eq!(stage.titles().len(), 2);
    stage.edit(&["delete", "t2"]);
    stage.edit(&["drop-results", "t1"]);
    let said = agent(&["--resume", "-p", "go on [[say back_again]]"]);
    assert!(said.contains("back_again"), "{said}");
    assert_eq!(stage.client(), "continue");
    let sent = stage.received().pop().expect("a request").0;
    assert!(sent.contains("please look") && sent.contains("go on"), "{sent}");
    assert!(!sent.contains("tangent_word") && !sent.contains("1050"), "{sent}");
    let all = stage.json(&["conversations"]);
    assert_eq!(all["conversations"].as_array().map(Vec::len), Some(1), "{all}");
    stage.assert_taken();
}
