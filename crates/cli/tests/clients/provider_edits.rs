//! Stock Claude Code while the provider edits at our request: the client does not notice, and a strict provider accepts
//! every request.

use serde_json::Value;
use testkit::Options;
use testkit::fake_provider::ContextEditing;

use crate::claude::Claude;
use crate::stage::Stage;

fn options(refuses: &[&str]) -> Options {
    let refuses = refuses.iter().map(ToString::to_string).collect();
    Options { context_editing: Some(ContextEditing { refuses }), ..Options::strict() }
}

fn bodies(bodies: Vec<Vec<u8>>) -> Vec<Value> {
    bodies.iter().map(|body| serde_json::from_slice(body).expect("JSON")).collect()
}

/// The newest responses of the session, oldest first.
fn answers(stage: &Stage, session: &str) -> Vec<Value> {
    let found = stage.conversation(|conversation| conversation["session"] == *session);
    let timeline = stage.json(&["timeline", "--conv", found["id"].as_str().expect("an id")]);
    let events = timeline["events"].as_array().expect("events").iter();
    events.filter(|event| event["kind"] == "answer").cloned().collect()
}

#[test]
fn old_results_are_cleared_by_the_provider_and_the_client_goes_on() {
    let Some(claude) = Claude::find() else { return };
    let toml = "[context_editing.provider]\nenabled = true\n\
        clear_tool_uses = { trigger = 15000, keep = 1, clear_at_least = 1000 }\n";
    let stage = Stage::configured(options(&[]), toml);
    let path = stage.file("hay.txt", &"straw and straw and straw again\n".repeat(400));
    let read = format!(
        "THINK:look ;; USE_TOOL:Read:{path} ;; THEN ;; USE_TOOL:Bash:echo one ;; THEN ;; USE_TOOL:Bash:echo two ;; THEN ;; SAY:read"
    );
    let session = claude.ask_well(&stage, &read, &[]);
    for turn in 0..3 {
        claude.ask_well(&stage, &format!("THINK:hm ;; SAY:turn {turn}"), &["--resume", &session]);
    }
    let answers = answers(&stage, &session);
    let cleared = answers.iter().filter(|answer| answer["applied_edits"][0]["cleared_tool_uses"].as_u64() > Some(0));
    assert!(cleared.count() >= 3, "{answers:#?}");
    assert!(answers.iter().all(|answer| answer["status"] == 200), "{answers:#?}");
    // The client's request is complete, and its own edits stay.
    for (sent, received) in bodies(stage.sent_bodies()).iter().zip(bodies(stage.received_bodies())) {
        assert_eq!(sent["messages"], received["messages"]);
        let edits = received["context_management"]["edits"].as_array().cloned().unwrap_or_default();
        let own = sent["context_management"]["edits"].as_array().cloned().unwrap_or_default();
        assert!(own.iter().all(|edit| edits.contains(edit)), "{received:#}");
    }
}

#[test]
fn what_the_provider_refuses_the_client_never_sees() {
    let Some(claude) = Claude::find() else { return };
    let toml = "[context_editing.provider]\nenabled = true\n";
    let stage = Stage::configured(options(&["clear_tool_uses_20250919"]), toml);
    let session = claude.ask_well(&stage, "SAY:one", &[]);
    claude.ask_well(&stage, "SAY:two", &["--resume", &session]);
    assert!(answers(&stage, &session).iter().all(|answer| answer["status"] == 200));
    let (sent, received) = (stage.sent_bodies().len(), stage.received_bodies().len());
    assert_eq!(received, sent + 1, "one request was tried again");
    assert_eq!(stage.json(&["status"])["provider"]["refused"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_summary_comes_back_though_the_client_did_not_ask_for_it() {
    let Some(claude) = Claude::find() else { return };
    let toml = "[context_editing.provider]\nenabled = true\nclear_tool_uses = { enabled = false }\n\
        compact = { enabled = true, trigger = 50000 }\n";
    let mut stage = Stage::configured(options(&[]), toml);
    let session = claude.ask_well(&stage, "THINK:long ;; BIG:240000", &[]);
    for turn in 0..4 {
        claude.ask_well(&stage, &format!("THINK:hm ;; SAY:turn {turn}"), &["--resume", &session]);
        if turn == 1 {
            stage.kill_and_start_again();
        }
    }
    let answers = answers(&stage, &session);
    let summaries: Vec<usize> =
        (0..).zip(&answers).filter(|(_, answer)| answer["compacted"] == true).map(|(at, _)| at).collect();
    assert_eq!(summaries, [1], "it is made once: {answers:#?}");
    let newest = stage.received_bodies().pop().expect("a request");
    assert_eq!(String::from_utf8_lossy(&newest).matches(r#""type":"compaction""#).count(), 1);
}
