//! Recordings of other wires: request bodies with usage, and Codex's own session files.

use super::{answers, read_all, read_files};
use ctx_lab::recording::{Recording, read};
use ctx_wire::WireId;
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

fn corpus() -> Option<PathBuf> {
    let is_there = !testkit::recorded_bodies("codex").is_empty();
    is_there.then(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus-wires"))
}

fn counts(recording: &Recording) -> Vec<(usize, u64, u64)> {
    let counted = recording.turns.iter().filter_map(|turn| Some((turn.answer, turn.usage?)));
    counted.map(|(answer, usage)| (answer, usage.input + usage.cache_read, usage.cache_read)).collect()
}

#[test]
fn bodies_of_chat_and_responses_are_read_with_what_the_provider_counted() {
    let Some(corpus) = corpus() else { return };
    let gathered = read_all(&corpus.join("bodies"));
    let of = |wire: WireId| gathered.recordings.iter().filter(move |recording| recording.wire == wire);
    // One contains a history that was compacted and not continued.
    assert_eq!((of(WireId::OpenaiResponses).count(), of(WireId::OpenaiChat).count()), (57, 20));
    let (mut counted, mut turns) = (0, 0);
    for recording in gathered.recordings.iter().filter(|recording| !recording.name.starts_with("gemini")) {
        // Content that a compaction kept was counted in the window before.
        counted += recording.turns.iter().filter(|turn| turn.usage.is_some() && turn.at.is_some()).count();
        turns += recording.turns.len();
        assert!(answers(recording).iter().all(|answer| *answer > 0 && *answer < recording.messages.len()));
    }
    assert!(counted * 10 >= turns * 9, "{counted} of {turns}");
}

#[test]
fn rollouts_of_codex_have_the_turns_and_the_counts_of_their_bodies() {
    let Some(corpus) = corpus() else { return };
    let gathered = read_all(&corpus.join("bodies"));
    let bodies: HashMap<&str, &Recording> = gathered.recordings.iter().map(|one| (one.name.as_str(), one)).collect();
    let entries = std::fs::read_dir(corpus.join("raw")).expect("a folder").flatten().map(|entry| entry.path());
    let rollouts: Vec<PathBuf> = entries.filter(|path| path.to_string_lossy().contains("codex-")).collect();
    let read = read(&rollouts);
    assert_eq!(read.skipped, []);
    assert_eq!(read.recordings.len(), rollouts.len());
    let mut same = 0;
    for rollout in &read.recordings {
        assert_eq!(rollout.wire, WireId::OpenaiResponses);
        let body = bodies.get(format!("{}-w0", rollout.name).as_str()).expect("a body");
        let lead = body.lead.len();
        let told: Vec<_> = counts(body).into_iter().map(|(answer, all, cached)| (answer + lead, all, cached)).collect();
        let is_same = |count: &&(usize, u64, u64)| counts(rollout).contains(count);
        same += usize::from(told.iter().filter(is_same).count() * 20 >= told.len() * 19);
    }
    assert!(same * 10 >= rollouts.len() * 9, "{same} of {}", rollouts.len());
}

/// The sessions of a client as its own files tell them, each with its body.
fn sessions(client: &str) -> Option<Vec<(Recording, Recording)>> {
    let corpus = corpus()?;
    let entries = std::fs::read_dir(corpus.join("raw")).expect("a folder").flatten().map(|entry| entry.path());
    let files: Vec<PathBuf> = entries.filter(|path| path.to_string_lossy().contains(client)).collect();
    let read = read(&files);
    assert_eq!((read.skipped, read.recordings.len()), (Vec::new(), files.len()));
    let mut bodies: HashMap<String, Recording> =
        read_all(&corpus.join("bodies")).recordings.into_iter().map(|one| (one.name.clone(), one)).collect();
    let body = |one: Recording| (bodies.remove(&format!("{}-w0", one.name)).expect("a body"), one);
    Some(read.recordings.into_iter().map(body).map(|(body, one)| (one, body)).collect())
}

/// The size of the first messages.
fn texts(recording: &Recording, count: usize) -> usize {
    let chars = |message: &Value| match message {
        Value::String(text) => text.len(),
        other => other.to_string().len(),
    };
    let messages = recording
        .messages
        .iter()
        .take(count)
        .map(|message| serde_json::from_str::<Value>(message.get()).expect("JSON"));
    messages.map(|message| chars(message.get("content").unwrap_or(&message["parts"]))).sum()
}

#[test]
fn chats_of_gemini_cli_are_read_as_they_were_sent() {
    let Some(sessions) = sessions("gemini-") else { return };
    assert_eq!(sessions.len(), 9);
    for (session, body) in &sessions {
        assert_eq!(session.wire, WireId::Gemini);
        // The last answer is not part of a request.
        assert!(counts(session).starts_with(&counts(body)) && counts(session).len() <= counts(body).len() + 1);
        assert!(session.messages.len() >= body.messages.len(), "{}", body.name);
        assert!(session.turns.iter().all(|turn| turn.at.is_some()));
    }
}

#[test]
fn exports_of_opencode_are_read_as_they_were_sent() {
    let Some(sessions) = sessions("opencode-") else { return };
    assert_eq!(sessions.len(), 20);
    let (mut counted, mut same) = (0, 0);
    for (session, body) in &sessions {
        assert_eq!(session.wire, WireId::OpenaiChat);
        assert!(session.turns.iter().all(|turn| turn.at.is_some()));
        counted += usize::from(counts(session).starts_with(&counts(body)));
        let count = body.messages.len();
        same += usize::from(texts(session, count) == texts(body, count));
    }
    // Two bodies have texts that the client marks as not sent, three lack the images.
    assert_eq!((counted, same), (18, 15));
}

#[test]
fn the_database_of_opencode_is_read_like_its_exports() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = rusqlite::Connection::open(folder.path().join("opencode.db")).expect("a database");
    let tables = "CREATE TABLE session (id TEXT); CREATE TABLE message (id TEXT, session_id TEXT, data TEXT);
        CREATE TABLE part (id TEXT, message_id TEXT, data TEXT);";
    database.execute_batch(tables).expect("tables");
    let put = |table: &str, values: &[&str]| {
        let places = vec!["?"; values.len()].join(",");
        database
            .execute(&format!("INSERT INTO {table} VALUES ({places})"), rusqlite::params_from_iter(values))
            .expect("a row");
    };
    let answer = r#"{"role":"assistant","modelID":"m","providerID":"local","tokens":{"input":5,"output":2}}"#;
    for session in ["ses_a", "ses_b"] {
        put("session", &[session]);
        put("message", &[&format!("{session}_1"), session, r#"{"role":"user","time":{"created":1794941286413}}"#]);
        put("message", &[&format!("{session}_2"), session, answer]);
        // Ids are ordered by time, rows are not.
        put("part", &["p3", &format!("{session}_2"), r#"{"type":"text","text":"Yes."}"#]);
        put("part", &["p1", &format!("{session}_1"), r#"{"type":"text","text":"look"}"#]);
        put("part", &["p2", &format!("{session}_2"), r#"{"type":"step-start"}"#]);
    }
    drop(database);
    std::fs::write(folder.path().join("other.db"), "no database").expect("a file");
    let gathered = ctx_lab::recording::read(&[folder.path().to_owned()]);
    assert_eq!(gathered.recordings.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["ses_a", "ses_b"]);
    assert_eq!(gathered.skipped, []);
    for recording in &gathered.recordings {
        assert_eq!((recording.wire, recording.messages.len(), answers(recording)), (WireId::OpenaiChat, 2, vec![1]));
    }
}

#[test]
fn an_answer_of_several_items_is_one_turn() {
    let body = r#"{"model":"gpt-5.5","input":[{"type":"message","role":"developer","content":"d"},
        {"type":"message","role":"user","content":"u"},{"type":"reasoning","summary":[]},
        {"type":"function_call","call_id":"1","name":"shell","arguments":"{}"},
        {"type":"function_call_output","call_id":"1","output":"o"},{"type":"message","role":"assistant","content":"a"}]}"#;
    let (gathered, _folder) = read_files(&[("conversations/a.json", body)]);
    let [recording] = &gathered.recordings[..] else { panic!("{gathered:?}") };
    assert_eq!((recording.lead.len(), answers(recording)), (1, vec![1, 4]));
    assert_eq!((recording.answer(0), recording.answer(1)), (1..3, 4..5));
}
