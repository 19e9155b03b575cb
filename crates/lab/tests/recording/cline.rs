//! Histories of Cline, against the requests that the stock client sent.

use super::{answers, names, read_all, read_files};
use ctx_wire::WireId;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recording")
}

fn sent(window: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder().join("cline_sent.json")).expect("a file");
    let mut windows: Value = serde_json::from_str(&text).expect("JSON");
    serde_json::from_value(windows[window].take()).expect("messages")
}

#[test]
fn a_session_of_the_stock_client_is_read_as_it_was_sent() {
    let gathered = read_all(&folder().join("cline"));
    assert_eq!(gathered.skipped, []);
    let session = "1795062644642_qc2hv";
    assert_eq!(names(&gathered), [session, &format!("{session}#2")]);
    let windows = ["before the compaction", "after it"];
    for (recording, window) in gathered.recordings.iter().zip(windows) {
        assert_eq!((recording.wire, recording.model.as_str()), (WireId::OpenaiChat, "gpt-5.5"));
        let messages: Vec<Value> =
            recording.messages.iter().map(|message| serde_json::from_str(message.get()).expect("JSON")).collect();
        assert!(messages[0]["content"].as_str().is_some_and(|text| text.starts_with("You are Cline")), "{window}");
        let last = *answers(recording).last().expect("answers");
        assert_eq!(messages[1..last], sent(window), "{window}");
    }
    let [first, second] = &gathered.recordings[..] else { unreachable!() };
    assert_eq!((answers(first), answers(second)), (vec![2, 4, 6], vec![8, 10]), "what was kept was answered before");
    let usage = first.turns[1].usage.expect("usage");
    assert_eq!((usage.input, usage.cache_read, usage.output), (48, 5632, 20));
    assert_eq!(first.turns[0].at, Some(1_795_062_649_763), "when the human asked");
}

#[test]
fn tasks_of_the_extension_are_named_by_their_folders() {
    let history = r#"[{"role":"user","content":"look"},{"role":"assistant","content":"done"}]"#;
    let files = ["tasks/1/api_conversation_history.json", "tasks/2/api_conversation_history.json"];
    let beside = ("tasks/1/ui_messages.json", "[]");
    let (gathered, _folder) = read_files(&[(files[0], history), (files[1], history), beside]);
    assert_eq!(names(&gathered), ["1", "2"]);
    assert_eq!(gathered.skipped, []);
}
