//! Provider errors reach the client unchanged, and add nothing to the conversation.

use serde_json::Value;
use testkit::Options;

use crate::claude::Claude;
use crate::stage::Stage;

fn try_with(prompt: &str) -> Option<(Stage, Value)> {
    let claude = Claude::find()?;
    let stage = Stage::with(Options { bind_thinking: true, ..Options::strict() });
    let result = claude.ask(&stage, prompt, &[]);
    stage.assert_faithful();
    Some((stage, result))
}

/// Retries leave one frame and one path.
fn assert_one_frame(stage: &Stage) {
    let conversation = stage.conversation(|_| true);
    assert_eq!(stage.turns(&conversation).len(), 1);
    stage.assert_dump_was_sent(&conversation);
}

#[test]
fn errors_that_pass_are_retried_by_the_client_and_add_nothing() {
    for status in ["429", "529", "500"] {
        let Some((stage, result)) = try_with(&format!("FAIL:{status}:1 ;; SAY:made it")) else { return };
        assert_eq!(result["result"], "made it", "after {status}");
        let verdicts = stage.verdicts(&stage.conversation(|_| true));
        assert_eq!(verdicts, [("main".into(), "new".into()), ("main".into(), "retry".into())], "after {status}");
        assert_one_frame(&stage);
    }
}

#[test]
fn a_refusal_reaches_the_client_in_the_providers_words() {
    let Some((stage, result)) = try_with("FAIL:400:9:the words of the provider") else { return };
    assert_eq!(result["is_error"], true);
    assert!(result["result"].as_str().unwrap_or_default().contains("the words of the provider"), "{result:#}");
    assert_one_frame(&stage);
    let timeline = stage.json(&["timeline"]).to_string();
    assert!(timeline.contains("the words of the provider"));
}

#[test]
fn an_error_in_the_middle_of_a_stream_stays_one() {
    let Some((stage, result)) = try_with("MIDERR:overloaded_error:1 ;; SAY:second try") else { return };
    assert_eq!(result["result"], "second try");
    assert_one_frame(&stage);
    assert!(stage.json(&["timeline"]).to_string().contains("overloaded_error"));
}

#[test]
fn a_cut_stays_a_cut() {
    let Some((stage, result)) = try_with("CUT:1 ;; SAY:second try") else { return };
    assert_eq!(result["result"], "second try");
    assert_one_frame(&stage);
    let timeline = stage.json(&["timeline"]);
    let endings: Vec<&Value> = timeline["events"]
        .as_array()
        .expect("events")
        .iter()
        .filter(|event| event["kind"] == "answer")
        .map(|event| &event["ending"])
        .collect();
    assert_eq!(endings, ["cut", "complete"]);
}

#[test]
fn compressed_answers_pass_as_they_are_and_are_understood() {
    let Some(claude) = Claude::find() else { return };
    let stage = Stage::with(Options { gzip: true, ..Options::strict() });
    assert_eq!(claude.ask(&stage, "SAY:squeezed", &[])["result"], "squeezed");
    stage.assert_faithful();
    let conversation = stage.conversation(|_| true);
    assert_eq!(conversation["calibrated"], true, "usage was read through gzip");
    assert!(stage.json(&["show", "t1"]).to_string().contains("squeezed"));
}
